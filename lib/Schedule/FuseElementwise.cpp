//===- FuseElementwise.cpp - fusion of elementwise linalg ops ---------------------------------------------------===//
//
// 1. Prepare with patterns: named ops become generic, sizes come from where they are made, fills become scalars.
// 2. Fuse from the last op to the first. When an op is reached, all that reads it has been formed, so that one walk
//    finds everything; an op grows to `max-ops`, so that the work per op is bounded.
// 3. Clean up with the same patterns.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Schedule/Passes.h"
#include "moe-mlir/Support/Greedy.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHFUSEELEMENTWISE
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

/// Whether the consumer of `operand` is the only op that reads the elements of its producer.
static bool isOnlyReader(OpOperand *operand) {
  Operation *producer = operand->get().getDefiningOp();
  return producer && producer->getNumResults() == 1 && llvm::all_of(producer->getUsers(), [&](Operation *user) {
           return user == operand->getOwner() || isa<tensor::DimOp>(user);
         });
}

/// Whether the op that both would become keeps the producer's result, since no other operand shows the size of some
/// dimension, and has there an index of a dimension that it reduces: as of a constant that is sorted.
static bool wouldKeepReduced(OpOperand *operand) {
  auto consumer = cast<linalg::GenericOp>(operand->getOwner());
  SmallVector<unsigned> reduced;
  consumer.getReductionDims(reduced);
  AffineMap map = consumer.getMatchingIndexingMap(operand);
  if (llvm::none_of(reduced, [&](unsigned dim) { return map.isFunctionOfDim(dim); }))
    return false;
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  return !linalg::getPreservedProducerResults(producer, consumer, operand).empty();
}

/// Whether a decision says already where the op runs, and through which operand.
static bool isInEpilogue(linalg::GenericOp op) {
  return op->hasAttr(kernel::KernelDialect::getEpilogueAttrName());
}

namespace {
/// The size of a result is that of the output it is made from, which is a tensor.empty by now. By way of the inputs, as
/// upstream's patterns go, the size of the n-th op in a chain would take n steps.
struct SizeOfOutput : OpRewritePattern<tensor::DimOp> {
  explicit SizeOfOutput(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(tensor::DimOp op, PatternRewriter &rewriter) const override {
    auto source = op.getSource().getDefiningOp<DestinationStyleOpInterface>();
    if (!source)
      return failure();
    Value init = source.getTiedOpOperand(cast<OpResult>(op.getSource()))->get();
    rewriter.modifyOpInPlace(op, [&] { op.getSourceMutable().assign(init); });
    return success();
  }
};

/// Outputs that no body reads only give the shape of results: they become a tensor.empty each, in the order of the
/// program, so that an op finds its sizes where those before it have theirs.
class OutputDropper {
public:
  explicit OutputDropper(MLIRContext *context) : rewriter(context) {}

  void run(func::FuncOp function) {
    function.walk([&](linalg::GenericOp op) {
      for (OpOperand &init : op.getDpsInitsMutable())
        if (op.getNumReductionLoops() == 0 && op.getMatchingBlockArgument(&init).use_empty() &&
            !init.get().getDefiningOp<tensor::EmptyOp>())
          drop(op, init);
      for (auto [result, init] : llvm::zip(op.getResults(), op.getOutputs()))
        shapes[result] = shapeOf(init);
    });
  }

private:
  Value shapeOf(Value value) {
    Value known = shapes.lookup(value);
    if (!known)
      if (auto fill = value.getDefiningOp<linalg::FillOp>())
        known = fill.getOutputs()[0];
    return known ? known : value;
  }

  void drop(linalg::GenericOp op, OpOperand &init) {
    Value shape = shapeOf(init.get());
    rewriter.setInsertionPoint(op);
    auto known = shape.getDefiningOp<tensor::EmptyOp>();
    SmallVector<OpFoldResult> sizes =
        known ? known.getMixedSizes() : tensor::getMixedSizes(rewriter, op.getLoc(), shape);
    Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), sizes, getElementTypeOrSelf(init.get()));
    rewriter.modifyOpInPlace(op, [&] { init.set(empty); });
  }

  IRRewriter rewriter;
  DenseMap<Value, Value> shapes; ///< of a result: the tensor that it has the shape of
};

/// Forms ops of elementwise ops, from the last to the first.
class ElementwiseFuser {
public:
  ElementwiseFuser(MLIRContext *context, int64_t maxOps) : rewriter(context), maxOps(maxOps) {}

  void run(Block &block) {
    for (Operation *op = block.empty() ? nullptr : &block.back(); op; op = op->getPrevNode())
      if (auto generic = dyn_cast<linalg::GenericOp>(op); generic && !isInEpilogue(generic))
        op = grow(generic);
  }

private:
  /// Takes in the producers of `op`, and theirs, as long as there is room; returns what it has become.
  linalg::GenericOp grow(linalg::GenericOp op) {
    llvm::SmallPtrSet<Operation *, 4> refused;
    shareInputs(op);
    while (OpOperand *operand = nextProducer(op, refused)) {
      auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
      rewriter.setInsertionPoint(op);
      FailureOr<linalg::ElementwiseOpFusionResult> fused = linalg::fuseElementwiseOps(rewriter, operand);
      if (failed(fused)) {
        refused.insert(producer);
        continue;
      }
      for (auto [from, to] : fused->replacements)
        if (from.getDefiningOp() == op)
          rewriter.replaceAllUsesWith(from, to);
      rewriter.eraseOp(op);
      if (producer->use_empty())
        rewriter.eraseOp(producer);
      op = cast<linalg::GenericOp>(fused->fusedOp);
      shareInputs(op);
    }
    return op;
  }

  OpOperand *nextProducer(linalg::GenericOp op, const llvm::SmallPtrSetImpl<Operation *> &refused) {
    int64_t size = 0;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
      if (!producer || isInEpilogue(producer) || refused.contains(producer) || !isOnlyReader(operand) ||
          !linalg::areElementwiseOpsFusable(operand) || wouldKeepReduced(operand))
        continue;
      if (!size)
        size = countOps(op);
      if (size + countOps(producer) <= maxOps)
        return operand;
    }
    return nullptr;
  }

  /// Ops of the body without its terminator; more than `maxOps` are not counted.
  int64_t countOps(linalg::GenericOp op) const {
    int64_t count = 0;
    for (auto it = op.getBody()->begin(), end = op.getBody()->end(); it != end && count <= maxOps + 1; ++it)
      ++count;
    return count - 1;
  }

  /// One input for those that have the same elements: else their producer would be computed for each of them.
  void shareInputs(linalg::GenericOp op) {
    llvm::SmallDenseMap<std::pair<Value, AffineMap>, BlockArgument> known;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    Block *body = op.getBody();
    rewriter.modifyOpInPlace(op, [&] {
      for (int64_t i = 0; i < op.getNumDpsInputs();) {
        BlockArgument argument = body->getArgument(i);
        auto [first, isNew] = known.try_emplace({op.getInputs()[i], maps[i]}, argument);
        if (isNew) {
          ++i;
          continue;
        }
        argument.replaceAllUsesWith(first->second);
        body->eraseArgument(i);
        op.getInputsMutable().erase(i);
        maps.erase(maps.begin() + i);
      }
      op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
  }

  IRRewriter rewriter;
  int64_t maxOps;
};

struct GraphFuseElementwise : kernel::impl::GraphFuseElementwiseBase<GraphFuseElementwise> {
  using GraphFuseElementwiseBase::GraphFuseElementwiseBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    set.add<SizeOfOutput>(context);
    // Of these the fusion itself is not wanted: its order takes n walks where n values have two readers each.
    linalg::populateElementwiseOpsFusionPatterns(set, [](OpOperand *) { return false; });
    linalg::populateConstantFoldLinalgOperations(set, isOnlyReader);
    memref::populateResolveRankedShapedTypeResultDimsPatterns(set);
    populateAffineToStdConversionPatterns(set); // what those make of the sizes of a concatenation
    linalg::GenericOp::getCanonicalizationPatterns(set, context);
    linalg::FillOp::getCanonicalizationPatterns(set, context);
    tensor::DimOp::getCanonicalizationPatterns(set, context);
    tensor::CastOp::getCanonicalizationPatterns(set, context);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // A fill stays what it is: its users take the scalar.
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](linalg::LinalgOp op) {
      if (isa<linalg::GenericOp, linalg::FillOp>(op))
        return;
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op); // what stays is reported by convert-graph-to-kernel
    });
    OutputDropper(&getContext()).run(getOperation());
    simplify();
    ElementwiseFuser fuser(&getContext(), maxOps);
    for (Block &block : getOperation().getBody())
      fuser.run(block);
    simplify();
  }

private:
  void simplify() {
    if (failed(moe_mlir::applyPatternsToEnd(getOperation(), patterns, /*fromFirst=*/true)))
      signalPassFailure();
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
