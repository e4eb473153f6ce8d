//===- ConvertKernelToEmitC.cpp - convert-kernel-to-emitc ---------------------------------------------------------===//

#include "Emitter.h"
#include "ExpandScalars.h"

#include "moe-mlir/Conversion/KernelToEmitC/Launch.h"
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"

#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

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
  if (auto named = llvm::TypeSwitch<Type, std::string>(type)
                       .Case<cuda::RingType, cuda::AccumulatorsType, cuda::TensorMapType, cuda::ChunkType>(
                           [](auto own) { return own.getCppName(); })
                       .Default([](Type) { return std::string(); });
      !named.empty())
    return emitc::OpaqueType::get(type.getContext(), named);
  bool isKnown = type.isF32() || type.isInteger(1) || type.isInteger(8) || type.isInteger(16) || type.isInteger(32) ||
                 type.isInteger(64);
  return isKnown ? type : Type();
}

LogicalResult Emitter::set(Operation *op, Value value) {
  values[op->getResult(0)] = value;
  return success();
}

void Emitter::line(Location loc, const Twine &text, ValueRange arguments) {
  emitc::VerbatimOp::create(b, loc, b.getStringAttr(text), arguments);
}

Value Emitter::integer(Location loc, Type type, int64_t value) {
  // The least number has no literal: in C++ the sign is an operator on one that is too large for the type.
  const unsigned width = type.getIntOrFloatBitWidth();
  const bool isLeast = width > 1 && value == llvm::minIntN(width);
  return emitc::LiteralOp::create(
      b, loc, type, isLeast ? "(" + std::to_string(value + 1) + " - 1)" : std::to_string(value));
}

Value Emitter::call(Operation *op, Type result, StringRef callee, ValueRange arguments, Attribute parameter) {
  ArrayAttr parameters = parameter ? b.getArrayAttr(parameter) : ArrayAttr();
  auto emitted = emitc::CallOpaqueOp::create(b, op->getLoc(), result ? TypeRange(result) : TypeRange(), callee,
                                             arguments, /*args=*/ArrayAttr(), parameters);
  return result ? emitted.getResult(0) : Value();
}

LogicalResult Emitter::report(Operation *op, const Twine &why) {
  hasReported = true;
  return op->emitOpError(why);
}

LogicalResult Emitter::emitOp(Operation *op) {
  using Emit = LogicalResult (Emitter::*)(Operation *);
  if (succeeded(emitStructure(op)) || succeeded(emitWindows(op)) || succeeded(emitArrivals(op)))
    return success();
  if (hasReported)
    return failure();
  // Vectors are moved and carried; what happens to elements is scalar.
  bool moves = isa<cuda::CudaDialect, vector::VectorDialect, ub::UBDialect, scf::SCFDialect>(op->getDialect());
  for (Type type : op->getResultTypes())
    if (!convert(type) || (isa<VectorType>(type) && !moves)) {
      std::string name;
      llvm::raw_string_ostream(name) << type;
      return report(op, "has a result of type '" + name + "', which has no C++ form");
    }
  for (Emit emit : {&Emitter::emitConstant, &Emitter::emitArithmetic, &Emitter::emitComparison, &Emitter::emitCast,
                    &Emitter::emitMath, &Emitter::emitControlFlow, &Emitter::emitMemory, &Emitter::emitThreads,
                    &Emitter::emitCall})
    if (succeeded((this->*emit)(op)))
      return success();
  return hasReported ? failure() : report(op, "has no CUDA C++ form; leave it out, or compile for --target=cpu");
}

LogicalResult Emitter::emitBlock(Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(emitOp(&op)))
      return failure();
  return success();
}

/// Erases sizes and constants that nothing uses. What the kernel does not use it does not have, so calls stay.
static void eraseUnused(emitc::FuncOp func) {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops)) // users first
    if (op->getNumResults() == 1 && op->use_empty() && !isa<emitc::CallOpaqueOp>(op))
      op->erase();
}

SmallVector<Type> Emitter::slotTypes(Type argument) const {
  SmallVector<Type> types;
  auto window = dyn_cast<WindowType>(argument);
  auto memref = window ? window.getPart() : dyn_cast<MemRefType>(argument);
  Type element = convert(memref ? memref.getElementType() : argument);
  if (!element)
    return types;
  if (window)
    types = {emitc::PointerType::get(emitc::OpaqueType::get(argument.getContext(), "const moe::Peers")),
             b.getI64Type()};
  else
    types.push_back(memref ? emitc::PointerType::get(element) : element);
  if (memref)
    types.append(memref.getNumDynamicDims(), b.getI64Type());
  return types;
}

void Emitter::bind(BlockArgument argument, Block::args_iterator &next) {
  auto window = dyn_cast<WindowType>(argument.getType());
  auto memref = window ? window.getPart() : dyn_cast<MemRefType>(argument.getType());
  Value first = *next++, offset = window ? *next++ : Value();
  SmallVector<Value> sizes;
  for (int64_t size : memref ? memref.getShape() : ArrayRef<int64_t>())
    sizes.push_back(ShapedType::isDynamic(size) ? *next++ : integer(argument.getLoc(), b.getI64Type(), size));
  if (window)
    windows[argument] = {first, offset, sizes};
  else if (memref)
    buffers[argument] = {first, sizes};
  else
    values[argument] = first;
}

emitc::FuncOp Emitter::emitFunction(FuncOp func) {
  SmallVector<Type> types;
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
    SmallVector<Type> slots = slotTypes(type);
    if (slots.empty()) {
      func.emitOpError() << "argument " << i << " of type " << type << " has no C++ form";
      return nullptr;
    }
    types.append(slots);
  }
  // Tensor maps are arguments after the others.
  for (FuncOp part : partsOf(func))
    for (auto map : part.getBody().getOps<cuda::TensorMapOp>())
      types.push_back(convert(map.getType()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(func);
  auto emitted = emitc::FuncOp::create(b, func.getLoc(), func.getName(), b.getFunctionType(types, {}));
  Block *entry = emitted.addEntryBlock();
  b.setInsertionPointToStart(entry);
  auto next = entry->args_begin();
  for (BlockArgument argument : func.getArguments())
    bind(argument, next);
  nextMap = next;
  launch = launchOf(func);
  describeLaunch(emitted);
  if (failed(emitBody(func))) {
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
    SmallVector<FuncOp> kernels(getOperation().getOps<FuncOp>());
    if (llvm::any_of(kernels, [](FuncOp func) { return failed(expandScalars(func)); }))
      return signalPassFailure();
    llvm::DenseSet<Attribute> members; // part of other kernels
    for (FuncOp func : kernels)
      for (auto member : func.getBody().getOps<cuda::MemberOp>())
        members.insert(member.getKernelAttr().getAttr());
    for (FuncOp func : kernels) {
      if (!func.getBody().hasOneBlock()) {
        func.emitOpError("has several blocks; C++ is written from structured control flow");
        return signalPassFailure();
      }
      if (members.contains(func.getSymNameAttr()))
        continue;
      if (!Emitter(b).emitFunction(func))
        return signalPassFailure();
      func.erase(); // at once: names are free for what is read when the pass has failed
    }
    for (FuncOp func : llvm::make_early_inc_range(getOperation().getOps<FuncOp>()))
      func.erase();
  }
};
} // namespace
