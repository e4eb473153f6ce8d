//===- TileLowering.h - parts of the lowering of tiles to registers -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_TILELOWERING_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_TILELOWERING_H

#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/Multiples.h"

#include "mlir/Transforms/DialectConversion.h"

namespace mlir::kernel {

/// How a tile lies in registers: vector `v` of row `r` is value number `r * vectors + v` and holds columns
/// `v * width` to `(v + 1) * width - 1`.
struct TileShape {
  int64_t rows, width, vectors;
  TileShape(AccType type, x86::TargetAttr target);
  VectorType vectorType(Type element) const { return VectorType::get({width}, element); }
};

/// Emits an error if the element type of `op` has no lowering.
LogicalResult checkMma(MmaOp op);

void populateLowerMmaPatterns(RewritePatternSet &patterns, const TypeConverter &converter, x86::TargetAttr target);
void populateLowerStoreTilePatterns(RewritePatternSet &patterns, const TypeConverter &converter,
                                    x86::TargetAttr target);

/// Clones the ops of `block` except its terminator at the builder's position with its arguments mapped to `arguments`;
/// returns what the terminator yields.
SmallVector<Value> cloneRegionBody(OpBuilder &builder, Block &block, ValueRange arguments);

/// The memory that `memref` is a view of: an argument of the kernel (a buffer or a window) or what it allocates; null if
/// that is not known.
/// Different roots are different memory: arguments overlap only where nothing is written that another block reads.
Value rootOf(Value memref);

/// True unless `op`, with what is inside of it, is known to write to no memory.
bool mayWrite(Operation *op);

/// True if the rows of a tile follow each other in memory.
bool isIdentity(RowIndicesOp indices);

/// base + offset; `base` itself for 0.
Value addIndex(OpBuilder &builder, Location loc, Value base, int64_t offset);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_TILELOWERING_H
