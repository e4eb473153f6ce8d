//===- ConvertKernelToEmitC.cpp - convert-kernel-to-emitc ---------------------------------------------------------===//

#include "Emitter.h"

#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_CONVERTKERNELTOEMITC
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h.inc"
} // namespace mlir::kernel

Type Emitter::convert(Type type) const {
  if (type.isIndex())
    return b.getI64Type();
  if (type.isBF16())
    return emitc::OpaqueType::get(type.getContext(), "moe::Bf16");
  if (type.isF16())
    return emitc::OpaqueType::get(type.getContext(), "moe::F16");
  if (auto vector = dyn_cast<VectorType>(type); vector && vector.getRank() == 1 && !vector.isScalable()) {
    Type element = vector.getElementType();
    StringRef name = element.isF32()         ? "float"
                     : element.isBF16()      ? "moe::Bf16"
                     : element.isF16()       ? "moe::F16"
                     : element.isInteger(32) ? "int32_t"
                     : element.isInteger(16) ? "int16_t"
                                             : "";
    if (name.empty())
      return Type();
    return emitc::OpaqueType::get(type.getContext(),
                                  ("moe::Vector<" + name + ", " + Twine(vector.getNumElements()) + ">").str());
  }
  bool isKnown = type.isF32() || type.isInteger(1) || type.isInteger(8) || type.isInteger(16) || type.isInteger(32) ||
                 type.isInteger(64);
  return isKnown ? type : Type();
}

std::string Emitter::elementName() const {
  auto type = dyn_cast<emitc::OpaqueType>(convert(plan->element));
  return type ? type.getValue().str() : "float";
}

LogicalResult Emitter::set(Operation *op, Value value) {
  values[op->getResult(0)] = value;
  return success();
}

Value Emitter::integer(Location loc, Type type, int64_t value) {
  return emitc::LiteralOp::create(b, loc, type, std::to_string(value));
}

Value Emitter::call(Operation *op, Type result, StringRef callee, ValueRange arguments, Type parameter) {
  ArrayAttr parameters = parameter ? b.getTypeArrayAttr(parameter) : ArrayAttr();
  return emitc::CallOpaqueOp::create(b, op->getLoc(), result, callee, arguments, /*args=*/ArrayAttr(), parameters)
      .getResult(0);
}

LogicalResult Emitter::report(Operation *op, const Twine &why) {
  hasReported = true;
  return op->emitOpError(why);
}

LogicalResult Emitter::emitOp(Operation *op) {
  using Emit = LogicalResult (Emitter::*)(Operation *);
  // Vectors are moved and carried; what happens to elements is scalar.
  bool moves = isa<vector::VectorDialect, ub::UBDialect, scf::SCFDialect>(op->getDialect());
  for (Type type : op->getResultTypes())
    if (!convert(type) || (isa<VectorType>(type) && !moves)) {
      std::string name;
      llvm::raw_string_ostream(name) << type;
      return report(op, "has a result of type '" + name + "', which has no C++ form");
    }
  for (Emit emit : {&Emitter::emitConstant, &Emitter::emitArithmetic, &Emitter::emitComparison, &Emitter::emitCast,
                    &Emitter::emitMath, &Emitter::emitControlFlow, &Emitter::emitMemory, &Emitter::emitThreads})
    if (succeeded((this->*emit)(op)))
      return success();
  return hasReported ? failure() : report(op, "has no CUDA C++ form");
}

LogicalResult Emitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emitOp(&op)))
      return failure();
  return success();
}

/// Erases what a role computes and does not use. No call with a result writes memory.
static void eraseUnused(emitc::FuncOp func) {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops)) // users first
    if (op->getNumResults() == 1 && op->use_empty())
      op->erase();
}

emitc::FuncOp Emitter::emitFunction(FuncOp func) {
  SmallVector<Type> types;
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    Type element = convert(memref ? memref.getElementType() : type);
    if (!element) {
      func.emitOpError() << "argument " << i << " of type " << type << " has no C++ form";
      return nullptr;
    }
    types.push_back(memref ? emitc::PointerType::get(element) : element);
    if (memref)
      types.append(memref.getNumDynamicDims(), b.getI64Type());
  }
  // What comes by TMA is known to it by maps after the other arguments.
  llvm::SetVector<Value> weights, rows;
  func.walk([&](MmaOp mma) { weights.insert(mma.getB()); });
  if (!weights.empty()) {
    FailureOr<cuda::TargetAttr> target = cuda::TargetAttr::get(func->getParentOfType<ModuleOp>());
    if (failed(target))
      return nullptr;
    FailureOr<TilePlan> made = TilePlan::get(func, *target);
    if (failed(made))
      return nullptr;
    plan = *made;
    func.walk([&](MmaOp mma) {
      if (rowSource(mma, plan->rows) == RowSource::Tile)
        rows.insert(mma.getA());
    });
  }
  types.append(weights.size() + rows.size(),
               emitc::OpaqueType::get(b.getContext(), "const __grid_constant__ CUtensorMap"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(func);
  auto emitted = emitc::FuncOp::create(b, func.getLoc(), func.getName(), b.getFunctionType(types, {}));
  Block *entry = emitted.addEntryBlock();
  b.setInsertionPointToStart(entry);
  auto next = entry->args_begin();
  for (Value argument : func.getArguments()) {
    auto memref = dyn_cast<MemRefType>(argument.getType());
    if (!memref) {
      values[argument] = *next++;
      continue;
    }
    Buffer buffer{*next++, {}};
    for (int64_t size : memref.getShape())
      buffer.sizes.push_back(ShapedType::isDynamic(size) ? *next++ : integer(func.getLoc(), b.getI64Type(), size));
    buffers[argument] = buffer;
  }
  LogicalResult written = success();
  if (!plan) {
    planRows(func, func.walk([](gpu::BarrierOp) { return WalkResult::interrupt(); }).wasInterrupted());
    written = emitBlock(func.getBody().front());
  } else {
    emitLaunch(emitted, weights.getArrayRef(), rows.getArrayRef());
    SmallVector<Value> matrices(weights.getArrayRef());
    llvm::append_range(matrices, rows);
    SmallVector<Value> maps(entry->getArguments().take_back(matrices.size()));
    written = emitRoles(func, matrices, maps);
  }
  if (failed(written)) {
    emitted.erase();
    return nullptr;
  }
  setLaunch(emitted);
  emitc::ReturnOp::create(b, func.getLoc(), Value());
  eraseUnused(emitted);
  return emitted;
}

namespace {
struct ConvertKernelToEmitC : kernel::impl::ConvertKernelToEmitCBase<ConvertKernelToEmitC> {
  void runOnOperation() override {
    OpBuilder b(&getContext());
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<FuncOp>())) {
      if (!func.getBody().hasOneBlock()) {
        func.emitOpError("has several blocks; C++ is written from structured control flow");
        return signalPassFailure();
      }
      if (!Emitter(b).emitFunction(func))
        return signalPassFailure();
      func.erase();
    }
  }
};
} // namespace
