//===- Lowering.h - what all patterns of graph to kernel share ----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_LOWERING_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_LOWERING_H

#include "KernelBuilder.h"

#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Schedule/Decisions.h"
#include "moe-mlir/Schedule/Epilogues.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::kernel {

/// Fields of a tile record: expert, first row, rows, wait, signal.
constexpr int64_t recordFields = 5;

/// Elements of one dot-product step in an encoded cache: bf16 stands in pairs.
inline int64_t pairsOf(Type element) { return element.isBF16() ? 2 : 1; }

/// An elementwise op that runs where its operand is produced, as its `kernel.epilogue` says.
struct FusedEpilogue {
  linalg::GenericOp op;
  unsigned input = 0; ///< the operand that the producer computes
  Value sizes;        ///< another operand of the op's shape, if there is one
};

struct RowExchange;
struct TokenPasses;

/// State of one run of the pass.
struct GraphLowering {
  explicit GraphLowering(ModuleOp module);

  ModuleOp module;
  KernelTable kernels;
  /// Returned value -> the argument that it is the final value of, by the function's return and operand number.
  DenseMap<std::pair<Operation *, unsigned>, Value> stateResults;
  /// By producer; and the buffers in which fused ops find their results.
  DenseMap<Operation *, FusedEpilogue> epilogues;
  DenseMap<Operation *, Value> fusedResults;
  /// Experts that a gate chose -> the ranks and counts of its pairs, which it left for the layout; see Routing.h.
  DenseMap<Value, std::pair<Value, Value>> pairCounts;
  RoutingSizes routing;
  /// Rows that were sent to other ranks, by the op that sent them; see Exchange.h.
  DenseMap<Operation *, std::shared_ptr<RowExchange>> exchanges;
  /// Ops of exchanges that are done for some of the tokens at a time; see PassLoop.h.
  DenseMap<Operation *, std::shared_ptr<TokenPasses>> passes;
};

template <typename Op> class GraphPattern : public OpConversionPattern<Op> {
public:
  GraphPattern(const TypeConverter &converter, GraphLowering &lowering)
      : OpConversionPattern<Op>(converter, lowering.module.getContext()), lowering(lowering) {}

protected:
  MemRefType memrefOf(Value value) const {
    return this->getTypeConverter()->template convertType<MemRefType>(value.getType());
  }

  GraphLowering &lowering;
};

/// Shape of a cache [B, N, L, D] in the form that the attention program reads:
///   key   [B, N, ceil(L/64), ceil(D/P), 64, (P)]
///   value [B, N, ceil(L/P), D rounded up to 16, (P)]          P = 2 for bf16; the last dimension is absent for P = 1
MemRefType encodedCacheType(RankedTensorType cache, StringRef encoding);

/// Removes grids that nothing names.
void dropUnusedGrids(ModuleOp module);
/// Makes 0 of scalars that folding found to be of any value, as those of a shift by too many bits.
void dropPoison(ModuleOp module);

/// Reports the first op that has no lowering; the module is unchanged.
LogicalResult checkSupported(ModuleOp module);

/// A launch that copies `source` to `dest`, both of one shape, or to and from the box at `offsets` with `strides`.
struct Box {
  Value memref;
  SmallVector<OpFoldResult> offsets, strides; ///< empty: from 0, by 1
  llvm::SmallBitVector dropped;               ///< dimensions of size 1 that the box's shape leaves out
};
void emitCopy(GraphLowering &lowering, OpBuilder &host, Location loc, Box source, Box dest,
              ArrayRef<OpFoldResult> sizes);
void emitFill(GraphLowering &lowering, OpBuilder &host, Location loc, Value scalar, Value memref);
/// A constant buffer of these numbers, part of the object file.
Value emitTable(GraphLowering &lowering, OpBuilder &host, Location loc, ElementsAttr elements, MemRefType type);
Value emitTable(GraphLowering &lowering, OpBuilder &host, Location loc, ArrayRef<int32_t> values);

/// The buffer behind a chain of views.
Value bufferBehind(Value memref);
/// A state's next value and the buffer that it must stand in when the function returns.
struct StateUpdate {
  Value value, state;
};
/// Writes all states as if at once: each next value is made of what the states held before.
void emitStateUpdates(GraphLowering &lowering, OpBuilder &host, Location loc, ArrayRef<StateUpdate> updates);

/// Weight `[.., N, K]` in blocks for these tiles: the same parameter with a pack step, or packed by a kernel.
Value packWeight(GraphLowering &lowering, ConversionPatternRewriter &rewriter, Location loc, const ProductTiles &tiles,
                 Value tensor, Value converted, bool halves = false, bool interleaved = false);

/// Encodes a plain cache [B, N, L, D] in scratch memory, up to `ends[b]` (i64) keys of each batch row, `used` in all.
Value packCache(GraphLowering &lowering, OpBuilder &host, Location loc, Value cache, Value ends, OpFoldResult used,
                StringRef encoding);

/// Copies the rows [T, H] of `tokens` to `rows` [R, at least H]: the one of each pair to `places` [T, k], if it has a
/// place, times `weights` [T, k] if given.
void emitGather(GraphLowering &lowering, OpBuilder &host, Location loc, Value tokens, Value weights, Value places,
                Value rows);

/// Clones the op of a scalar region, in terms of arith, math, scf and memref; does nothing if `mapping` has its
/// results.
void cloneScalarOp(KernelBuilder &kernel, Operation &op, IRMapping &mapping);
/// Maps the values from outside that `region` uses to arguments of the kernel.
void mapCaptures(KernelBuilder &kernel, Region &region, IRMapping &mapping, ConversionPatternRewriter &rewriter);
/// Clones the reads of tensors in `region`, whose places do not depend on the region's arguments.
void cloneReads(KernelBuilder &kernel, Region &region, IRMapping &mapping, ConversionPatternRewriter &rewriter);
/// The rows that an expert takes of `tokens` tokens, at most 2^31 - 1, as the host computes it; see #moe.capacity.
OpFoldResult capacityOf(OpBuilder &host, moe::GateOp op, OpFoldResult tokens);
/// x * sigmoid(x) in f32.
Value emitSilu(KernelBuilder &kernel, Value x, arith::FastMathFlags flags = arith::FastMathFlags::none);

/// acc_i = sum over k in [lower, upper) of a[rows, k] * b[indices, k, columns_i], for several first columns.
SmallVector<Value> emitProduct(KernelBuilder &kernel, int64_t rows, int64_t columns, Value a, Value tileRows, Value b,
                               ValueRange indices, Value lower, Value upper, ArrayRef<Value> firstColumns);
/// Row indices base, base + 1, ... mapped by `map`.
Value emitRows(KernelBuilder &kernel, int64_t rows, Value base, llvm::function_ref<Value(Value)> map);
/// A tile of at most `rows` rows, of which `count` exist.
void emitRowTile(KernelBuilder &kernel, int64_t rows, Value count, KernelBuilder::Body body);
/// Stores accumulators; `body` gets (row, column, values...) and returns what is stored.
void emitStoreTile(KernelBuilder &kernel, ValueRange accumulators, Value dest, Value rows, Value column,
                   llvm::function_ref<Value(ValueRange)> body, Value limit = Value());

/// What happens to a producer's values before they are stored: nothing, or the op that consumes them.
class Epilogue {
public:
  Epilogue(GraphLowering &lowering, Operation *producer, ConversionPatternRewriter &rewriter);

  /// The buffer to store to; `own` and `sizes` are those of the producer's result.
  Value allocateResult(MemRefType own, ArrayRef<OpFoldResult> sizes);
  /// What stands for the producer's own result.
  Value replacement(Value result, MemRefType own, ArrayRef<OpFoldResult> sizes);
  /// Makes the consumer's other operands arguments of the kernel.
  void capture(KernelBuilder &kernel);
  /// The value to store at (row, column) of the result as a matrix.
  Value apply(KernelBuilder &kernel, Value value, Value row, Value column);
  /// Suffix for the kernel's name.
  std::string name();

private:
  GraphLowering &lowering;
  ConversionPatternRewriter &rewriter;
  FusedEpilogue fused;
  Type element;
  IRMapping captures;
  SmallVector<std::pair<Value, Value>> matrices; ///< block argument, operand as a matrix
};

using PopulateFn = void(const TypeConverter &, GraphLowering &, RewritePatternSet &);
PopulateFn populateFunctionPatterns, populateTensorPatterns, populateCopyPatterns, populateConstantPatterns,
    populateGenericPatterns, populateLinearPatterns, populateNormPatterns, populateRopePatterns,
    populateEmbeddingPatterns, populateGatePatterns, populateDispatchPatterns, populateExpertPatterns,
    populateCombinePatterns, populateExchangePatterns, populateRankSumPatterns, populateCachePatterns,
    populateAttentionPatterns, populateAttentionRowsPatterns, populateCausalConvPatterns, populateScanPatterns, populateTopKPatterns;

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_LOWERING_H
