//===- OrderProducts.cpp - multiply-adds row by row ---------------------------------------------------------------===//
//
// A step of a product of two accumulators (gate and up) is lowered one accumulator after the other, each with a
// multiply-add for every row. Code that keeps the six broadcasts of the first for the second needs 24 sums, 4 vectors
// of weights and 6 broadcasts in 32 registers. Row by row it needs one broadcast.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELORDERPRODUCTS
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

/// The row's factor of a multiply-add, which all its vectors share.
static Value rowFactor(Operation &op) {
  auto isBroadcast = [](Value value) {
    while (auto cast = value.getDefiningOp<vector::BitCastOp>())
      value = cast.getSource();
    return value.getDefiningOp<vector::BroadcastOp>() != nullptr;
  };
  if (auto fma = dyn_cast<vector::FMAOp>(op))
    return isBroadcast(fma.getLhs()) ? fma.getLhs() : Value();
  if (auto dot = dyn_cast<x86vector::DotBF16Op>(op))
    return isBroadcast(dot.getB()) ? dot.getB() : Value();
  return {};
}

/// Adds the ops of `block` that make `factor` out of memory, operands first.
static void collectSource(Value factor, Block &block, llvm::SetVector<Operation *> &ops) {
  Operation *op = factor.getDefiningOp();
  if (!op || op->getBlock() != &block)
    return;
  if (isa<vector::BitCastOp, vector::BroadcastOp, vector::ExtractOp>(op))
    collectSource(op->getOperand(0), block, ops);
  else if (!isa<memref::LoadOp, vector::LoadOp>(op))
    return;
  ops.insert(op);
}

static void order(Block &block) {
  llvm::MapVector<Value, SmallVector<Operation *>> products;
  for (Operation &op : block)
    if (Value factor = rowFactor(op))
      products[factor].push_back(&op);
  llvm::SetVector<Operation *> moved;
  for (auto &[factor, users] : products) {
    collectSource(factor, block, moved);
    moved.insert_range(users);
  }
  // What a moved op reads stands in front of it, what reads it moves too, and nothing writes to memory between.
  Operation *end = block.getTerminator();
  llvm::SmallPtrSet<Operation *, 32> done;
  for (Operation *op : moved) {
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp(); source && moved.contains(source) && !done.contains(source))
        return;
    for (Operation *user : op->getUsers())
      if (user != end && !moved.contains(user))
        return;
    done.insert(op);
  }
  for (Operation &op : block.without_terminator())
    if (!moved.contains(&op) && !isMemoryEffectFree(&op) &&
        !isa<memref::LoadOp, vector::LoadOp, memref::PrefetchOp>(op))
      return;
  for (Operation *op : moved)
    op->moveBefore(end);
}

namespace {
struct KernelOrderProducts : kernel::impl::KernelOrderProductsBase<KernelOrderProducts> {
  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) { order(*loop.getBody()); });
  }
};
} // namespace
