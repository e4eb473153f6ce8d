//===- TileLowering.cpp - parts of the lowering of tiles ----------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kernel;

TileShape::TileShape(AccType type, x86::TargetAttr target) : rows(type.getRows()) {
  int64_t columns = type.getColumns();
  width = std::min<int64_t>(columns & -columns, llvm::bit_floor(static_cast<uint64_t>(target.getVector())));
  vectors = columns / width;
}

SmallVector<Value> kernel::cloneRegionBody(OpBuilder &builder, Block &block, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookupOrDefault(value); });
}

Value kernel::rootOf(Value memref) {
  auto view = dyn_cast<MemrefValue>(memref);
  if (!view)
    return {};
  Value root = memref::skipViewLikeOps(view);
  if (auto part = root.getDefiningOp<PartOp>())
    root = part.getWindow(); // all parts as one: this rank may be the peer
  auto arg = dyn_cast<BlockArgument>(root);
  bool isKnown = arg ? isa<kernel::FuncOp>(arg.getOwner()->getParentOp())
                     : isa<memref::AllocOp, memref::AllocaOp>(root.getDefiningOp());
  return isKnown ? root : Value();
}

bool kernel::mayWrite(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return !effects ||
         !llvm::all_of(*effects, [](const auto &effect) { return isa<MemoryEffects::Read>(effect.getEffect()); });
}

bool kernel::isIdentity(RowIndicesOp indices) {
  Block &block = indices.getBody().front();
  return block.getTerminator()->getOperand(0) == block.getArgument(0);
}

Value kernel::addIndex(OpBuilder &builder, Location loc, Value base, int64_t offset) {
  if (!offset)
    return base;
  Value constant = arith::ConstantIndexOp::create(builder, loc, offset);
  return arith::AddIOp::create(builder, loc, base, constant);
}
