//===- Generic.cpp - linalg.generic: elementwise programs and reductions ----------------------------------------===//
//
// Four shapes of program:
//   all operands walk the same index space in order    one loop over elements, in chunks
//   parallel, but broadcast or permuted                forall over the outer dimensions, loop over the last one
//   with reductions                                    forall over the parallel dimensions, loops that carry the values
//   writes where an index says                         forall over the other dimensions, a loop over the index
// The inner loops are scalar; LLVM vectorises them.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"
#include "Writes.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
/// One operand of the op inside the kernel: memory, or a scalar that all its elements have.
struct Operand {
  Value memref, scalar;
  AffineMap map;
};

class GenericProgram {
public:
  GenericProgram(GraphLowering &lowering, linalg::GenericOp op, ConversionPatternRewriter &rewriter)
      : op(op), rewriter(rewriter), kernel(lowering.kernels, op.getLoc()) {}

  void emit(ValueRange inputs, ValueRange inits, ValueRange results);

private:
  void computeSizes(ValueRange inputs, ValueRange inits);
  bool isFlat();
  Operand operandFor(OpOperand &use, Value converted);
  Value load(const Operand &operand, ValueRange ivs);
  void store(Value value, const Operand &operand, ValueRange ivs);
  /// What the body's inputs and indices are in the iteration `ivs`.
  IRMapping mapArguments(ValueRange ivs);
  /// Clones the body for the iteration `ivs`; `carried` are the values of the outputs. Returns what it yields.
  SmallVector<Value> body(ValueRange ivs, ValueRange carried);
  void parallel(ValueRange ivs);
  void reduce(SmallVector<Value> ivs, ArrayRef<unsigned> dims);
  void write(IndexedWrite form);
  SmallVector<Value> reduceFrom(SmallVector<Value> &ivs, ArrayRef<unsigned> dims, ValueRange carried);
  SmallVector<Value> initial(ValueRange ivs);
  Value bound(OpFoldResult size) { return kernel.indexArg(size); }
  SmallVector<Value> bounds(ArrayRef<OpFoldResult> sizes) {
    return llvm::map_to_vector(sizes, [&](OpFoldResult size) { return bound(size); });
  }
  std::string name();

  linalg::GenericOp op;
  ConversionPatternRewriter &rewriter;
  KernelBuilder kernel;
  bool flat = false;
  SmallVector<OpFoldResult> sizes;
  SmallVector<Operand> inputs, inits, results;
  DenseMap<Value, Value> views; ///< what the kernel sees of a memref
  IRMapping captures;
};
} // namespace

void GenericProgram::computeSizes(ValueRange inputs, ValueRange inits) {
  sizes.assign(op.getNumLoops(), OpFoldResult());
  SmallVector<Value> operands(inputs.begin(), inputs.end());
  llvm::append_range(operands, inits);
  for (auto [operand, map] : llvm::zip(operands, op.getIndexingMapsArray()))
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && isa<MemRefType>(operand.getType())) {
        OpFoldResult &size = sizes[dim.getPosition()];
        if (!size || !getConstantIntValue(size))
          if (OpFoldResult other = sizeOf(rewriter, op.getLoc(), operand, i); !size || getConstantIntValue(other))
            size = other;
      }
}

bool GenericProgram::isFlat() {
  return op.getNumLoops() > 0 && op.getNumReductionLoops() == 0 && !op.hasIndexSemantics() &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity() || map.getNumResults() == 0; });
}

Operand GenericProgram::operandFor(OpOperand &use, Value converted) {
  Operand operand{Value(), Value(), op.getMatchingIndexingMap(&use)};
  if (SplatValue splat = splatOf(use.get())) {
    operand.scalar = splat.constant ? arith::ConstantOp::create(kernel, splat.constant).getResult()
                                    : kernel.arg(rewriter.getRemappedValue(splat.scalar));
  } else if (!isa<MemRefType>(converted.getType())) {
    operand.scalar = kernel.arg(converted);
  } else {
    Value &view = views[converted];
    if (!view)
      view = flat && operand.map.getNumResults() ? asVector(rewriter, op.getLoc(), converted) : converted;
    operand.memref = kernel.arg(view);
  }
  return operand;
}

static SmallVector<Value> indicesOf(KernelBuilder &kernel, AffineMap map, ValueRange ivs) {
  SmallVector<Value> indices;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      indices.push_back(ivs[dim.getPosition()]);
    else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      indices.push_back(kernel.idx(constant.getValue()));
    else
      indices.push_back(affine::expandAffineExpr(kernel, kernel.getLoc(), expr, ivs, {}));
  }
  return indices;
}

Value GenericProgram::load(const Operand &operand, ValueRange ivs) {
  if (operand.scalar)
    return operand.scalar;
  if (flat && operand.map.getNumResults())
    return kernel.load(operand.memref, ivs);
  return kernel.load(operand.memref, indicesOf(kernel, operand.map, ivs));
}

void GenericProgram::store(Value value, const Operand &operand, ValueRange ivs) {
  kernel.store(value, operand.memref, flat ? SmallVector<Value>(ivs) : indicesOf(kernel, operand.map, ivs));
}

IRMapping GenericProgram::mapArguments(ValueRange ivs) {
  IRMapping mapping(captures);
  Block *block = op.getBody();
  for (auto [i, operand] : llvm::enumerate(inputs))
    if (BlockArgument arg = block->getArgument(i); !arg.use_empty())
      mapping.map(arg, load(operand, ivs));
  block->walk([&](linalg::IndexOp index) { mapping.map(index.getResult(), ivs[index.getDim()]); });
  return mapping;
}

SmallVector<Value> GenericProgram::body(ValueRange ivs, ValueRange carried) {
  IRMapping mapping = mapArguments(ivs);
  Block *block = op.getBody();
  for (auto [i, value] : llvm::enumerate(carried))
    mapping.map(block->getArgument(inputs.size() + i), value);
  for (Operation &nested : block->without_terminator())
    cloneScalarOp(kernel, nested, mapping);
  SmallVector<Value> yields;
  for (Value value : block->getTerminator()->getOperands())
    yields.push_back(mapping.lookupOrDefault(value));
  return yields;
}

SmallVector<Value> GenericProgram::initial(ValueRange ivs) {
  SmallVector<Value> values;
  for (auto [i, operand] : llvm::enumerate(inits)) {
    bool read = !op.getBody()->getArgument(inputs.size() + i).use_empty();
    if (!read && op.getNumReductionLoops() == 0)
      values.push_back(Value());
    else
      values.push_back(load(operand, ivs));
  }
  return values;
}

void GenericProgram::parallel(ValueRange ivs) {
  SmallVector<Value> carried = initial(ivs);
  for (auto [value, operand] : llvm::zip(body(ivs, carried), results))
    store(value, operand, ivs);
}

SmallVector<Value> GenericProgram::reduceFrom(SmallVector<Value> &ivs, ArrayRef<unsigned> dims, ValueRange carried) {
  if (dims.empty())
    return body(ivs, carried);
  return kernel.loop(kernel.idx(0), bound(sizes[dims[0]]), 1, carried, [&](Value iv, ValueRange inner) {
    ivs[dims[0]] = iv;
    SmallVector<Value> next = reduceFrom(ivs, dims.drop_front(), inner);
    // The order of a sum is free, so that it vectorises; it does not depend on the number of blocks.
    for (auto [value, old] : llvm::zip(next, inner))
      if (auto sum = value.getDefiningOp<arith::AddFOp>(); sum && llvm::is_contained(sum->getOperands(), old))
        sum.setFastmath(arith::FastMathFlags::reassoc);
    return next;
  });
}

void GenericProgram::reduce(SmallVector<Value> ivs, ArrayRef<unsigned> dims) {
  SmallVector<Value> final = reduceFrom(ivs, dims, initial(ivs));
  for (auto [value, operand] : llvm::zip(final, results))
    store(value, operand, ivs);
}

/// Of the element at `form.dim` only those are touched that the index names; the others stand there already. The last
/// of several writes to one place counts, as in the reduction.
void GenericProgram::write(IndexedWrite form) {
  unsigned last = op.getNumParallelLoops();
  SmallVector<Value> upper, ivs(last + 1);
  for (unsigned dim = 0; dim < last; ++dim)
    upper.push_back(dim == form.dim ? kernel.idx(1) : bound(sizes[dim]));
  kernel.forall(upper, [&](ValueRange indices) {
    llvm::copy(indices, ivs.begin());
    kernel.loop(kernel.idx(0), bound(sizes[last]), 1, [&](Value r) {
      ivs[last] = r;
      IRMapping mapping = mapArguments(ivs);
      for (Operation &nested : op.getBody()->without_terminator())
        if (&nested != form.isHere.getOperation() && &nested != form.choice.getOperation())
          cloneScalarOp(kernel, nested, mapping);
      Value place = kernel.toIndex(mapping.lookupOrDefault(form.place)), size = bound(sizes[form.dim]);
      // Without a sign: what is below 0 is beyond the end as well.
      Value isInside = arith::CmpIOp::create(kernel, arith::CmpIPredicate::ult, place, size);
      kernel.branch(isInside, [&] {
        SmallVector<Value> at(ivs);
        at[form.dim] = place;
        store(mapping.lookupOrDefault(form.value), results[0], at);
      });
    });
  });
}

std::string GenericProgram::name() {
  Block *block = op.getBody();
  std::string base = "fused";
  if (block->getOperations().size() == 1)
    base = "move";
  else if (block->getOperations().size() == 2)
    base = block->front().getName().stripDialect().str();
  if (op.getNumReductionLoops())
    base = "reduce_" + base;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  return base + "_" + shapeName(type.getShape()) + "_" + typeName(type.getElementType());
}

/// Floating-point operations per element; conversions and choices are none.
static int64_t countOperations(Block &body) {
  int64_t count = 0;
  for (Operation &op : body.without_terminator()) {
    bool moves =
        isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp, arith::SelectOp, arith::ConstantOp>(op);
    if (isa<nn::SiluOp>(op))
      count += 4; // x / (exp(-x) + 1)
    else if (!moves && isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
      count += llvm::any_of(op.getResultTypes(), llvm::IsaPred<FloatType>);
  }
  return count;
}

void GenericProgram::emit(ValueRange inputValues, ValueRange initValues, ValueRange resultValues) {
  Location loc = op.getLoc();
  std::optional<IndexedWrite> form = matchIndexedWrite(op);
  flat = isFlat();
  computeSizes(inputValues, initValues);
  for (auto [use, value] : llvm::zip(op.getDpsInputOperands(), inputValues)) {
    bool used = !op.getBody()->getArgument(use->getOperandNumber()).use_empty();
    inputs.push_back(used ? operandFor(*use, value) : Operand());
  }
  for (auto [use, value, result] : llvm::zip(op.getDpsInitsMutable(), initValues, resultValues)) {
    bool read = !form && (!op.getMatchingBlockArgument(&use).use_empty() || op.getNumReductionLoops());
    inits.push_back(read ? operandFor(use, value) : Operand());
    results.push_back(
        {kernel.arg(flat ? asVector(rewriter, loc, result) : result), Value(), op.getMatchingIndexingMap(&use)});
  }
  mapCaptures(kernel, op.getRegion(), captures, rewriter);

  if (form) {
    write(*form);
    sizes[form->dim] = rewriter.getIndexAttr(1);
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    kernel.launch(rewriter, "write_" + shapeName(type.getShape()) + "_" + typeName(type.getElementType()), sizes[0],
                  mulSizes(rewriter, loc, sizes));
    return;
  }

  SmallVector<unsigned> outer, reductions;
  for (auto [i, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    (kind == utils::IteratorType::reduction ? reductions : outer).push_back(i);
  SmallVector<OpFoldResult> outerSizes;
  for (unsigned dim : outer)
    outerSizes.push_back(sizes[dim]);

  SmallVector<Value> ivs(op.getNumLoops());
  if (flat) {
    kernel.forallElements(bound(mulSizes(rewriter, loc, sizes)), [&](Value i) { parallel(i); });
  } else if (!reductions.empty() || outer.empty()) {
    SmallVector<Value> upper = bounds(outerSizes);
    if (upper.empty())
      upper.push_back(kernel.idx(1));
    kernel.forall(upper, [&](ValueRange indices) {
      for (auto [dim, index] : llvm::zip(outer, indices))
        ivs[dim] = index;
      reduce(ivs, reductions);
    });
  } else if (outer.size() == 1) {
    kernel.forallElements(bound(sizes[0]), [&](Value i) { parallel(i); });
  } else {
    unsigned last = outer.pop_back_val();
    kernel.forall(bounds(ArrayRef(outerSizes).drop_back()), [&](ValueRange indices) {
      for (auto [dim, index] : llvm::zip(outer, indices))
        ivs[dim] = index;
      kernel.loop(kernel.idx(0), bound(sizes[last]), 1, [&](Value i) {
        ivs[last] = i;
        parallel(ivs);
      });
    });
  }
  OpFoldResult rows = outerSizes.empty() ? OpFoldResult(rewriter.getIndexAttr(1))
                                         : mulSizes(rewriter, loc, ArrayRef(outerSizes).drop_back());
  SmallVector<OpFoldResult> work(sizes);
  work.push_back(rewriter.getIndexAttr(std::max<int64_t>(1, countOperations(*op.getBody()))));
  kernel.launch(rewriter, name(), rows, mulSizes(rewriter, loc, work));
}

/// A sum of products in which rows of one operand meet columns of another, whatever is fused into it. Register tiles
/// are for nn.linear, nn.attention and moe.expert.
static bool isMatrixProduct(linalg::GenericOp op) {
  auto sum = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || !op.getNumReductionLoops() ||
      llvm::none_of(sum->getOperands(), [](Value value) { return value.getDefiningOp<arith::MulFOp>(); }))
    return false;
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  llvm::SmallDenseSet<unsigned> missing; // parallel dimensions that some operand does not have
  bool rowsAndColumns = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    llvm::SmallDenseSet<unsigned> own;
    for (unsigned dim : parallel)
      if (!map.isFunctionOfDim(dim))
        own.insert(dim);
    rowsAndColumns |= !missing.empty() && llvm::any_of(own, [&](unsigned dim) { return !missing.contains(dim); });
    missing.insert(own.begin(), own.end());
  }
  return rowsAndColumns;
}

namespace {
struct GenericLowering : GraphPattern<linalg::GenericOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (Value fused = lowering.fusedResults.lookup(op)) { // an epilogue has computed it
      rewriter.replaceOp(op, fused);
      return success();
    }
    if (isMatrixProduct(op))
      remark::missed(op.getLoc(), remark::RemarkOpts::name("Product").category("convert-graph-to-kernel"))
          << "a matrix product of plain operations runs as loops, not on register tiles";
    SmallVector<Value> results;
    for (auto [result, init] : llvm::zip(op.getResults(), adaptor.getOutputs()))
      results.push_back(allocate(rewriter, op.getLoc(), memrefOf(result), sizesOf(rewriter, op.getLoc(), init)));
    if (matchIndexedWrite(op))
      begin(op, adaptor.getOutputs()[0], results[0], rewriter);
    GenericProgram(lowering, op, rewriter).emit(adaptor.getInputs(), adaptor.getOutputs(), results);
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  /// The result as it is before something is written to it.
  void begin(linalg::GenericOp op, Value init, Value result, ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    SplatValue splat = splatOf(op.getDpsInits()[0]);
    if (!splat)
      return emitCopy(lowering, rewriter, loc, {init, {}, {}, {}}, {result, {}, {}, {}}, sizesOf(rewriter, loc, init));
    Value scalar = splat.constant ? arith::ConstantOp::create(rewriter, loc, splat.constant).getResult()
                                  : rewriter.getRemappedValue(splat.scalar);
    emitFill(lowering, rewriter, loc, scalar, result);
  }
};
} // namespace

void mlir::kernel::populateGenericPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                           RewritePatternSet &patterns) {
  patterns.add<GenericLowering>(converter, lowering);
}
