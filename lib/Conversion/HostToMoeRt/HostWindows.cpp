//===- HostWindows.cpp - windows of the host program, and what is said of exchanges -------------------------------===//
//
// A window is the address of moert_peers, a byte offset, and its number of rows if that is dynamic: what stands in the
// slots of a launch.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "HostPatterns.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"
#include "moe-mlir/Dialect/MoeRt/IR/Peers.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::moert;

static constexpr llvm::StringLiteral phaseAttrName = "moe.phase", trafficAttrName = "moe.traffic",
                                   flagsAttrName = "moe.flags";

namespace {
struct LowerRank : ConvertOpToLLVMPattern<kernel::RankOp> {
  LowerRank(const LLVMTypeConverter &converter, HostState &state) : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(kernel::RankOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    Value rank = RankOp::create(rewriter, op.getLoc(), state.context, state.axes->number(op.getGridAttr()));
    rewriter.replaceOpWithNewOp<LLVM::SExtOp>(op, rewriter.getI64Type(), rank);
    return success();
  }

  HostState &state;
};

struct LowerAgree : ConvertOpToLLVMPattern<kernel::AgreeOp> {
  LowerAgree(const LLVMTypeConverter &converter, HostState &state) : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(kernel::AgreeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<AgreeOp>(op, state.context, state.axes->number(op.getGridAttr()), adaptor.getValue());
    return success();
  }

  HostState &state;
};

struct LowerWindows : ConvertOpToLLVMPattern<kernel::WindowsOp> {
  LowerWindows(const LLVMTypeConverter &converter, HostState &state)
      : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(kernel::WindowsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<WindowsOp>(op, state.context, state.axes->number(op.getGridAttr()),
                                           adaptor.getBytes());
    return success();
  }

  HostState &state;
};

struct LowerWindowAt : ConvertOpToLLVMPattern<kernel::WindowAtOp> {
  LowerWindowAt(const LLVMTypeConverter &converter, HostState &) : ConvertOpToLLVMPattern(converter) {}

  LogicalResult matchAndRewrite(kernel::WindowAtOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value window = LLVM::PoisonOp::create(rewriter, loc, getTypeConverter()->convertType(op.getType()));
    SmallVector<Value> fields = {adaptor.getPeers(), adaptor.getOffset()};
    llvm::append_range(fields, adaptor.getSizes());
    for (auto [i, field] : llvm::enumerate(fields))
      window = LLVM::InsertValueOp::create(rewriter, loc, window, field, ArrayRef<int64_t>{static_cast<int64_t>(i)});
    rewriter.replaceOp(op, window);
    return success();
  }
};

/// The own part, for the host program or for kernels that take it as any other buffer.
struct LowerPart : ConvertOpToLLVMPattern<kernel::PartOp> {
  LowerPart(const LLVMTypeConverter &converter, HostState &state) : ConvertOpToLLVMPattern(converter), state(state) {}

  LogicalResult matchAndRewrite(kernel::PartOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> fields = unpackWindow(rewriter, op.getLoc(), adaptor.getWindow());
    Value data;
    if (kernel::isOffloaded(op->getParentOfType<ModuleOp>())) // then the host cannot read what the peers say
      data = PartOp::create(rewriter, op.getLoc(), fields[0].getType(), state.context, fields[0], fields[1]);
    else
      data = Peers(rewriter, op.getLoc(), fields[0]).address(fields[1], /*peer=*/Value());
    rewriter.replaceOp(op, makeMemref(rewriter, op.getLoc(), *getTypeConverter(), op.getPart().getType(), data,
                                      ArrayRef(fields).drop_front(2)));
    return success();
  }

  HostState &state;
};
} // namespace

SmallVector<Value> moert::unpackWindow(OpBuilder &b, Location loc, Value window) {
  SmallVector<Value> fields;
  for (size_t i = 0, e = cast<LLVM::LLVMStructType>(window.getType()).getBody().size(); i < e; ++i)
    fields.push_back(LLVM::ExtractValueOp::create(b, loc, window, ArrayRef<int64_t>{static_cast<int64_t>(i)}));
  return fields;
}

LogicalResult moert::insertPhases(LLVM::LLVMFuncOp function, Value context) {
  Block *block = nullptr;
  StringAttr last;
  llvm::SmallPtrSet<Operation *, 4> groups;
  WalkResult found = function.walk([&](kernel::LaunchOp launch) -> WalkResult {
    Attribute attr = launch->getAttr(phaseAttrName);
    if (!attr)
      return WalkResult::advance();
    auto phase = dyn_cast<StringAttr>(attr);
    if (!phase || phase.empty())
      return launch.emitOpError() << "'" << phaseAttrName << "' must say what the launch is for, got " << attr;
    // A group is for what the first of its launches that says so is for.
    Operation *whole = launch;
    if (auto group = dyn_cast<kernel::LaunchGroupOp>(launch->getParentOp())) {
      if (whole = group; !groups.insert(whole).second)
        return WalkResult::advance();
    }
    if (phase != last || whole->getBlock() != block) {
      OpBuilder b(whole);
      PhaseOp::create(b, launch.getLoc(), context, phase);
    }
    last = phase;
    block = whole->getBlock();
    return WalkResult::advance();
  });
  return failure(found.wasInterrupted());
}

LogicalResult moert::reportTraffic(kernel::LaunchOp op, ValueRange operands, const LLVMTypeConverter &converter,
                                   HostState &state, OpBuilder &b) {
  Attribute attr = op->getAttr(trafficAttrName);
  if (!attr)
    return success();
  auto dict = dyn_cast<DictionaryAttr>(attr);
  auto grid = dict ? dict.getAs<FlatSymbolRefAttr>("grid") : FlatSymbolRefAttr();
  bool isRight = grid && state.axes->contains(grid);
  int64_t offsetsNumber = -1, rowsNumber = -1, rowBytes = 0, fixedBytes = 0;
  size_t known = 1; // the grid
  for (auto [name, value] : {std::pair<StringRef, int64_t *>{"offsets", &offsetsNumber},
                             {"rows", &rowsNumber},
                             {"row_bytes", &rowBytes},
                             {"fixed_bytes", &fixedBytes}})
    if (Attribute field = dict ? dict.get(name) : Attribute()) {
      auto number = dyn_cast<IntegerAttr>(field);
      isRight &= number && number.getInt() >= 0;
      *value = number ? number.getInt() : 0;
      ++known;
    }
  isRight &= dict && dict.size() == known;
  auto typeOf = [&](int64_t number) {
    return number < static_cast<int64_t>(operands.size()) ? op.getOperands_()[number].getType() : Type();
  };
  if (isRight && offsetsNumber >= 0)
    isRight = rowsNumber < 0 &&
              typeOf(offsetsNumber) == MemRefType::get({state.axes->ranksOf(grid) + 1}, b.getI32Type());
  if (isRight && rowsNumber >= 0)
    isRight = typeOf(rowsNumber) == b.getIndexType();
  if (!isRight)
    return op.emitOpError() << "'" << trafficAttrName
                            << "' must be {grid = @name, offsets = <number of an operand of type memref<ranks + 1 x "
                               "i32>>, or rows = <number of an index>, row_bytes = <bytes>, fixed_bytes = <bytes>}, got "
                            << attr;
  Location loc = op.getLoc();
  Value offsets, rows;
  if (offsetsNumber >= 0)
    offsets = MemRefDescriptor(operands[offsetsNumber])
                  .bufferPtr(b, loc, converter, cast<MemRefType>(op.getOperands_()[offsetsNumber].getType()));
  else
    offsets = LLVM::ZeroOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()));
  if (rowsNumber >= 0)
    rows = operands[rowsNumber];
  else
    rows = LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(0));
  TrafficOp::create(b, loc, state.context, state.axes->number(grid), offsets, rows, rowBytes, fixedBytes);
  return success();
}

LogicalResult moert::announceFlags(kernel::LaunchOp op, HostState &state, ConversionPatternRewriter &rewriter) {
  Attribute attr = op->getAttr(flagsAttrName);
  if (!attr)
    return success();
  auto dict = dyn_cast<DictionaryAttr>(attr);
  size_t known = 0;
  auto number = [&](StringRef name, int64_t least, int64_t otherwise) {
    auto field = dict ? dict.getAs<IntegerAttr>(name) : IntegerAttr();
    known += field ? 1 : 0;
    return !field ? otherwise : field.getInt() < least ? int64_t(-1) : field.getInt();
  };
  const int64_t each = number("each", 0, -1), slices = number("slices", 0, 0), stride = number("stride", 1, 1);
  const bool isIndex = each >= 0 && each < static_cast<int64_t>(op.getOperands_().size()) &&
                       op.getOperands_()[each].getType().isIndex();
  if (!isIndex || slices < 0 || stride < 0 || dict.size() != known)
    return op.emitOpError() << "'" << flagsAttrName
                            << "' must be {each = <number of an operand of type index>, slices = <number>, stride = "
                               "<number>}, got "
                            << attr;
  FlagsOp::create(rewriter, op.getLoc(), state.context, rewriter.getRemappedValue(op.getOperands_()[each]), slices,
                  stride);
  return success();
}

void moert::populateWindowPatterns(LLVMTypeConverter &converter, HostState &state, RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  Type ptr = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64);
  converter.addConversion([=](kernel::PeersType) { return ptr; });
  converter.addConversion([=](kernel::WindowType type) -> Type {
    SmallVector<Type> fields = {ptr, i64};
    fields.append(type.isDynamic(), i64);
    return LLVM::LLVMStructType::getLiteral(context, fields);
  });
  patterns.add<LowerRank, LowerAgree, LowerWindows, LowerWindowAt, LowerPart>(converter, state);
}
