//===- MoeRtToLLVM.cpp - runtime calls to LLVM --------------------------------------------------------------------===//

#include "moe-mlir/Conversion/MoeRtToLLVM/Passes.h"
#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::moert;

namespace mlir::moert {
#define GEN_PASS_DEF_CONVERTMOERTTOLLVM
#include "moe-mlir/Conversion/MoeRtToLLVM/Passes.h.inc"
} // namespace mlir::moert

/// Fields of moert_member, 8 bytes each.
static constexpr int64_t slotsOfMember = 7;

namespace {
class Lowering {
public:
  explicit Lowering(ModuleOp module)
      : module(module), b(module.getContext()), ptr(LLVM::LLVMPointerType::get(b.getContext())), i64(b.getI64Type()),
        i32(b.getI32Type()), none(LLVM::LLVMVoidType::get(b.getContext())) {}

  LogicalResult run() {
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      bool isMember = isa_and_nonnull<LaunchGroupOp>(op->getParentOp());
      if (isa_and_nonnull<MoeRtDialect>(op->getDialect()) && !isMember)
        ops.push_back(op);
    });
    if (ops.empty() && module.lookupSymbol(kernelTableName))
      return success(); // nothing is left to convert
    if (failed(collectKernels()))
      return failure();
    makeKernelTable();
    for (Operation *op : ops)
      lower(op);
    return success();
  }

private:
  LogicalResult collectKernels() {
    SymbolTable symbols(module);
    llvm::SetVector<Operation *> launched;
    WalkResult result = module.walk([&](LaunchOp launch) {
      Operation *symbol = symbols.lookup(launch.getKernel());
      auto function = dyn_cast_or_null<LLVM::LLVMFuncOp>(symbol);
      if (!isa_and_nonnull<emitc::FuncOp>(symbol) &&
          (!function || function.isExternal() || function.getNumArguments() != 3)) {
        launch.emitOpError() << "names no compiled kernel: " << launch.getKernelAttr();
        return WalkResult::interrupt();
      }
      launched.insert(symbol);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    for (auto function : module.getOps<FunctionOpInterface>())
      if (launched.contains(function)) {
        kernelNumbers[function.getNameAttr()] = kernels.size();
        kernels.push_back(function);
      }
    return success();
  }

  /// The constant array of {name, function}; the code of CUDA kernels is elsewhere.
  void makeKernelTable() {
    Location loc = module.getLoc();
    b.setInsertionPointToStart(module.getBody());
    auto entry = LLVM::LLVMStructType::getLiteral(b.getContext(), {ptr, ptr});
    auto type = LLVM::LLVMArrayType::get(entry, kernels.size());
    auto table = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, kernelTableName,
                                        Attribute());
    Block *block = b.createBlock(&table.getInitializerRegion());
    Value value = LLVM::UndefOp::create(b, loc, type);
    for (auto [i, kernel] : llvm::enumerate(kernels)) {
      Value function = isa<emitc::FuncOp>(kernel) ? Value(LLVM::ZeroOp::create(b, loc, ptr))
                                                  : LLVM::AddressOfOp::create(b, loc, ptr, kernel.getName());
      Value name = stringAddress(kernel.getName());
      value = LLVM::InsertValueOp::create(b, loc, value, name, ArrayRef<int64_t>{static_cast<int64_t>(i), 0});
      value = LLVM::InsertValueOp::create(b, loc, value, function, ArrayRef<int64_t>{static_cast<int64_t>(i), 1});
    }
    LLVM::ReturnOp::create(b, loc, value);
    b.setInsertionPointAfter(table);
    (void)block;
  }

  /// The address of a string constant, made at the builder's position.
  Value stringAddress(StringRef text) {
    Location loc = module.getLoc();
    std::string &name = strings[text];
    if (name.empty()) {
      name = "moert_string_" + std::to_string(strings.size() - 1);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      std::string terminated = text.str() + '\0';
      auto type = LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size());
      LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                             b.getStringAttr(terminated));
    }
    return LLVM::AddressOfOp::create(b, loc, ptr, name);
  }

  void lower(Operation *op) {
    b.setInsertionPoint(op);
    if (auto launch = dyn_cast<LaunchOp>(op))
      return lowerLaunch(launch);
    if (auto group = dyn_cast<LaunchGroupOp>(op))
      return lowerGroup(group);
    if (auto output = dyn_cast<OutputOp>(op))
      return call(op, "moert_output",
                  {output.getContext(), constant(i32, output.getIndex()), constant(i32, output.getSizes().size()),
                   store(op, output.getSizes())});
    if (auto load = dyn_cast<ExpertLoadOp>(op))
      return call(
          op, "moert_expert_load",
          {load.getContext(), stringAddress(load.getLayer()), load.getOffsets(), constant(i32, load.getExperts())});
    if (auto check = dyn_cast<CheckOp>(op)) {
      SmallVector<Value> arguments = {check.getContext(), LLVM::ZExtOp::create(b, op->getLoc(), i32, check.getHolds()),
                                      stringAddress(check.getMessage())};
      if (check.getValues().empty())
        return call(op, check->hasAttr(kOfCallAttr) ? "moert_check_call" : "moert_check", arguments);
      arguments.append({constant(i32, check.getValues().size()), store(op, check.getValues())});
      return call(op, "moert_check_values", arguments);
    }
    if (auto table = dyn_cast<ConstantOp>(op))
      return call(op, "moert_constant", {table.getContext(), table.getAddress(), constant(i64, table.getBytes())});
    if (auto read = dyn_cast<ReadOp>(op))
      return lowerRead(read);
    if (auto phase = dyn_cast<PhaseOp>(op))
      return call(op, "moert_phase", {phase.getContext(), stringAddress(phase.getPhase())});
    if (auto rank = dyn_cast<RankOp>(op))
      return call(op, "moert_rank", {rank.getContext(), constant(i32, rank.getAxis())});
    if (auto agree = dyn_cast<AgreeOp>(op))
      return call(op, "moert_agree", {agree.getContext(), constant(i32, agree.getAxis()), agree.getValue()});
    if (auto windows = dyn_cast<WindowsOp>(op))
      return call(op, "moert_windows", {windows.getContext(), constant(i32, windows.getAxis()), windows.getBytes()});
    if (auto traffic = dyn_cast<TrafficOp>(op))
      return call(op, "moert_traffic",
                  {traffic.getContext(), constant(i32, traffic.getAxis()), traffic.getOffsets(), traffic.getRows(),
                   constant(i64, traffic.getRowBytes()), constant(i64, traffic.getFixedBytes())});
    if (auto flags = dyn_cast<FlagsOp>(op))
      return call(op, "moert_flags",
                  {flags.getContext(), flags.getEach(), constant(i64, flags.getSlices()),
                   constant(i64, flags.getStride())});
    // The others take their operands, then their integer attributes in the order of their declaration.
    SmallVector<Value> arguments(op->getOperands());
    for (StringRef attribute : {"index", "dim"})
      if (auto value = op->getAttrOfType<IntegerAttr>(attribute))
        arguments.push_back(constant(i32, value.getInt()));
    call(op, ("moert_" + op->getName().stripDialect()).str(), arguments);
  }

  /// The address of the launched kernel's entry in the table.
  Value kernelOf(LaunchOp launch) {
    Value table = LLVM::AddressOfOp::create(b, launch.getLoc(), ptr, kernelTableName);
    auto entry = LLVM::LLVMStructType::getLiteral(b.getContext(), {ptr, ptr});
    auto number = static_cast<int32_t>(kernelNumbers.lookup(launch.getKernelAttr().getAttr()));
    return LLVM::GEPOp::create(b, launch.getLoc(), ptr, entry, table, ArrayRef<LLVM::GEPArg>{number});
  }

  void lowerLaunch(LaunchOp launch) {
    call(launch, "moert_launch",
         {launch.getContext(), kernelOf(launch), store(launch, launch.getArguments()), launch.getBlocks(),
          launch.getRows(), launch.getWork()});
  }

  /// The members stand in the slot buffer one after the other, and behind them the slots of each.
  void lowerGroup(LaunchGroupOp group) {
    Location loc = group.getLoc();
    auto members = llvm::to_vector(group.getBody().front().getOps<LaunchOp>());
    SmallVector<Value> values(members.size() * slotsOfMember);
    for (auto [i, member] : llvm::enumerate(members)) {
      Value slots = LLVM::GEPOp::create(b, loc, ptr, i64, slotBuffer(group),
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(values.size())});
      Value described[slotsOfMember] = {kernelOf(member),
                                        slots,
                                        member.getBlocks(),
                                        constant(i64, member.getPhases().value_or(1)),
                                        constant(i64, member.getLag().value_or(0)),
                                        member.getRows(),
                                        member.getWork()};
      llvm::copy(described, values.begin() + i * slotsOfMember);
      llvm::append_range(values, member.getArguments());
    }
    call(group, "moert_launch_group", {group.getContext(), store(group, values), constant(i32, members.size())});
  }

  /// The value comes by way of the slot buffer.
  void lowerRead(ReadOp read) {
    Value slot = slotBuffer(read);
    const int64_t bytes = llvm::divideCeil(read.getType().getIntOrFloatBitWidth(), 8);
    (void)call(read.getLoc(), "moert_read", none, {read.getContext(), slot, read.getAddress(), constant(i64, bytes)});
    read.replaceAllUsesWith(LLVM::LoadOp::create(b, read.getLoc(), read.getType(), slot).getResult());
    read.erase();
  }

  /// Stores 8-byte values in the function's slot buffer and returns its address. One buffer serves all calls: its
  /// content is used during a call alone.
  Value store(Operation *op, ValueRange values) {
    Value buffer = slotBuffer(op);
    for (auto [i, value] : llvm::enumerate(values)) {
      Value address =
          LLVM::GEPOp::create(b, op->getLoc(), ptr, i64, buffer, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      LLVM::StoreOp::create(b, op->getLoc(), value, address);
    }
    return buffer;
  }

  Value slotBuffer(Operation *op) {
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    LLVM::AllocaOp &buffer = slotBuffers[function];
    if (!buffer) {
      int64_t size = 1;
      function.walk([&](Operation *nested) {
        if (auto launch = dyn_cast<LaunchOp>(nested))
          size = std::max<int64_t>(size, launch.getArguments().size());
        else if (auto group = dyn_cast<LaunchGroupOp>(nested))
          size = std::max(size, slotsOf(group));
        else if (auto output = dyn_cast<OutputOp>(nested))
          size = std::max<int64_t>(size, output.getSizes().size());
        else if (auto check = dyn_cast<CheckOp>(nested))
          size = std::max<int64_t>(size, check.getValues().size());
      });
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&function.getBody().front());
      buffer = LLVM::AllocaOp::create(b, function.getLoc(), ptr, i64, constant(i64, size), /*alignment=*/8);
    }
    return buffer;
  }

  static int64_t slotsOf(LaunchGroupOp group) {
    int64_t size = 0;
    for (auto launch : group.getBody().front().getOps<LaunchOp>())
      size += slotsOfMember + launch.getArguments().size();
    return size;
  }

  Value constant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(b, module.getLoc(), type, b.getIntegerAttr(type, value));
  }

  /// Puts the call in the op's place.
  void call(Operation *op, StringRef name, ArrayRef<Value> arguments) {
    op->replaceAllUsesWith(call(op->getLoc(), name, op->getNumResults() ? op->getResult(0).getType() : none, arguments));
    op->erase();
  }

  LLVM::CallOp call(Location loc, StringRef name, Type result, ArrayRef<Value> arguments) {
    LLVM::LLVMFuncOp callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      SmallVector<Type> types = llvm::map_to_vector(arguments, [](Value value) { return value.getType(); });
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      callee = LLVM::LLVMFuncOp::create(b, module.getLoc(), name, LLVM::LLVMFunctionType::get(result, types));
    }
    return LLVM::CallOp::create(b, loc, callee, arguments);
  }

  ModuleOp module;
  OpBuilder b;
  Type ptr, i64, i32, none;
  SmallVector<FunctionOpInterface> kernels;
  llvm::DenseMap<StringAttr, int64_t> kernelNumbers;
  llvm::MapVector<StringRef, std::string> strings;
  llvm::DenseMap<Operation *, LLVM::AllocaOp> slotBuffers;
};

struct ConvertMoeRtToLLVM : moert::impl::ConvertMoeRtToLLVMBase<ConvertMoeRtToLLVM> {
  void runOnOperation() override {
    if (failed(Lowering(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
