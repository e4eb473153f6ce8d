//===- ParameterOp.cpp - recipes of moe.parameter -----------------------------------------------------------------===//
//
// The shapes of the sources are not in the IR, the result's is: the verifier walks the recipe from its last step to
// its first and keeps what is known of the shape in between.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/FixedStrides.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

namespace {
/// What is known behind a step; undone step by step.
class Backwards {
public:
  Backwards(ParameterOp op) : op(op), shape(cast<ShapedType>(op.getType()).getShape()) {}

  LogicalResult undo(size_t index, Attribute step) {
    where = index;
    what = step;
    return llvm::TypeSwitch<Attribute, LogicalResult>(step)
        .Case<StackAttr, ConcatAttr, SliceAttr, TransposeAttr, OrderAttr, CastAttr, CutAttr, ShardAttr, OnceAttr,
              PackAttr>(
            [&](auto s) { return undo(s); })
        .Default([&](Attribute) { return fail() << "is not a recipe step"; });
  }

private:
  InFlightDiagnostic fail() { return op.emitOpError() << "recipe step " << where << " (" << what << ") "; }
  int64_t rank() const { return shape.size(); }

  LogicalResult checkDim(int64_t dim) {
    if (dim >= rank())
      return fail() << "names dimension " << dim << " of a tensor of rank " << rank();
    return success();
  }

  LogicalResult undo(StackAttr) {
    if (where != 0)
      return fail() << "must be the first step";
    int64_t sources = op.getSources().size();
    if (rank() == 0 || (!ShapedType::isDynamic(shape.front()) && shape.front() != sources))
      return fail() << "joins " << sources << " sources to a first dimension of that size, got " << op.getType();
    shape.erase(shape.begin());
    return success();
  }

  LogicalResult undo(ConcatAttr step) {
    if (where != 0)
      return fail() << "must be the first step";
    if (failed(checkDim(step.getDim())))
      return failure();
    shape[step.getDim()] = ShapedType::kDynamic;
    return success();
  }

  LogicalResult undo(SliceAttr step) {
    if (failed(checkDim(step.getDim())))
      return failure();
    int64_t &size = shape[step.getDim()];
    if (!ShapedType::isDynamic(size) && size != step.getSize())
      return fail() << "gives " << step.getSize() << " elements in dimension " << step.getDim() << ", but " << size
                    << " are needed";
    size = ShapedType::kDynamic;
    return success();
  }

  LogicalResult undo(TransposeAttr step) {
    ArrayRef<int64_t> permutation = step.getPermutation();
    if (static_cast<int64_t>(permutation.size()) != rank())
      return fail() << "permutes " << permutation.size() << " dimensions of a tensor of rank " << rank();
    SmallVector<int64_t> before(rank());
    for (auto [to, from] : llvm::enumerate(permutation))
      before[from] = shape[to];
    shape = std::move(before);
    return success();
  }

  LogicalResult undo(OrderAttr step) {
    if (failed(checkDim(0)))
      return failure();
    int64_t &size = shape.front(), count = step.getExperts().size();
    if (!ShapedType::isDynamic(size) && size != count)
      return fail() << "orders " << count << " entries of dimension 0, but " << size << " are needed";
    size = count;
    return success();
  }

  LogicalResult undo(CutAttr step) {
    if (rank() < 2 || (!ShapedType::isDynamic(shape.front()) && shape.front() != step.getParts()))
      return fail() << "gives a first dimension of " << step.getParts() << " parts, got " << op.getType();
    shape.erase(shape.begin());
    if (failed(checkDim(step.getDim())))
      return failure();
    int64_t &size = shape[step.getDim()];
    if (step.getHalves() && !ShapedType::isDynamic(size) && size % 2)
      return fail() << "gives halves, but " << size << " elements in dimension " << step.getDim();
    if (!ShapedType::isDynamic(size) && llvm::MulOverflow(size, step.getParts(), size))
      return fail() << "cuts a dimension of more elements than an integer holds";
    return success();
  }

  LogicalResult undo(CastAttr step) {
    Type element = cast<ShapedType>(op.getType()).getElementType();
    if (!std::exchange(castSeen, true) && element != step.getElement())
      return fail() << "gives " << step.getElement() << ", but the result has " << element;
    return success();
  }

  /// Ranks come last: nothing else can be done to a part.
  LogicalResult checkRanks(FlatSymbolRefAttr grid) {
    if (!llvm::all_of(op.getRecipe()->getValue().drop_front(where + 1), llvm::IsaPred<ShardAttr, OnceAttr, PackAttr>))
      return fail() << "must be the last step, or stand before others for ranks and #moe.pack";
    if (!grids.insert(grid).second)
      return fail() << "names a grid that another step names";
    return success();
  }

  LogicalResult undo(ShardAttr step) {
    if (failed(checkRanks(step.getGrid())) || failed(checkDim(step.getDim())))
      return failure();
    if (!divided.insert(step.getDim()).second)
      return fail() << "divides a dimension that another step divides";
    int64_t &size = shape[step.getDim()];
    if (step.getHalves() && !ShapedType::isDynamic(size) && size % 2)
      return fail() << "gives halves, but " << size << " elements in dimension " << step.getDim();
    if (!ShapedType::isDynamic(size) && llvm::MulOverflow(size, step.getRanks(), size))
      return fail() << "divides a dimension of more elements than an integer holds";
    return success();
  }

  LogicalResult undo(OnceAttr step) { return checkRanks(step.getGrid()); }

  LogicalResult undo(PackAttr step) {
    if (where + 1 != op.getRecipe()->size())
      return fail() << "must be the last step";
    if (!isa<MemRefType>(op.getType()))
      return fail() << "gives a memref, got " << op.getType();
    bool pairs = step.getPairs() > 1;
    if (rank() < 3 + pairs || shape[rank() - 1 - pairs] != step.getColumns() ||
        (pairs && shape.back() != step.getPairs()))
      return fail() << "gives a shape that ends in " << step.getColumns() << " columns"
                    << (pairs ? " and " + std::to_string(step.getPairs()) + " lanes" : "") << ", got " << op.getType();
    shape.truncate(rank() - 1 - pairs);
    shape.end()[-1] = shape.end()[-2] = ShapedType::kDynamic;
    return success();
  }

  ParameterOp op;
  SmallVector<int64_t> shape;
  size_t where = 0;
  Attribute what;
  bool castSeen = false;
  llvm::SmallSet<int64_t, 4> divided;
  llvm::SmallDenseSet<Attribute> grids;
};
} // namespace

LogicalResult ParameterOp::verify() {
  if (getSources().empty())
    return emitOpError("needs at least one source");
  for (auto source : getSources().getAsRange<StringAttr>())
    if (source.empty())
      return emitOpError("has a source without a name");
  if (auto memref = dyn_cast<MemRefType>(getType());
      memref && !moe_mlir::fixedStrides(memref))
    return emitOpError() << "expected a static memref, contiguous or with strides that are numbers, got " << memref;

  ArrayRef<Attribute> steps;
  if (getRecipe())
    steps = getRecipe()->getValue();
  if (getSources().size() > 1 && (steps.empty() || !isa<StackAttr, ConcatAttr>(steps.front())))
    return emitOpError() << "has " << getSources().size() << " sources, so its recipe must begin with #moe.stack or "
                         << "#moe.concat";
  Backwards backwards(*this);
  for (size_t i = steps.size(); i-- > 0;)
    if (failed(backwards.undo(i, steps[i])))
      return failure();
  return success();
}

LogicalResult ParameterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto verify = [&](auto step) -> LogicalResult {
    FailureOr<int64_t> ranks = verifyGrid(*this, step.getGrid(), symbols);
    if (failed(ranks))
      return failure();
    if (*ranks != step.getRanks())
      return emitOpError() << "divides its result among " << step.getRanks() << " ranks, but " << step.getGrid()
                           << " has " << *ranks;
    return success();
  };
  for (Attribute step : getRecipe().value_or(ArrayAttr::get(getContext(), {}))) {
    auto shard = dyn_cast<ShardAttr>(step);
    auto once = dyn_cast<OnceAttr>(step);
    if ((shard && failed(verify(shard))) || (once && failed(verify(once))))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Canonicalisation
//===----------------------------------------------------------------------===//

/// Whether the slice lies in a dimension of that size.
static bool isPartOf(int64_t size, SliceAttr slice) {
  return slice.getSize() <= size && slice.getOffset() <= size - slice.getSize();
}

/// The step that does what `first` and then `second` do, if one does.
static Attribute merge(Attribute first, Attribute second) {
  MLIRContext *context = first.getContext();
  if (auto a = dyn_cast<TransposeAttr>(first))
    if (auto b = dyn_cast<TransposeAttr>(second)) {
      SmallVector<int64_t> permutation;
      for (int64_t dim : b.getPermutation())
        permutation.push_back(a.getPermutation()[dim]);
      return TransposeAttr::get(context, permutation);
    }
  if (auto a = dyn_cast<SliceAttr>(first))
    if (auto b = dyn_cast<SliceAttr>(second); b && a.getDim() == b.getDim() && isPartOf(a.getSize(), b))
      return SliceAttr::get(context, a.getDim(), a.getOffset() + b.getOffset(), b.getSize());
  // Casts to different types round twice, which is not the same as once.
  if (isa<CastAttr>(first) && first == second)
    return first;
  return {};
}

static bool isIdentity(Attribute step, size_t sources) {
  if (auto transpose = dyn_cast<TransposeAttr>(step))
    return llvm::all_of(llvm::enumerate(transpose.getPermutation()),
                        [](auto pair) { return static_cast<int64_t>(pair.index()) == pair.value(); });
  if (auto shard = dyn_cast<ShardAttr>(step))
    return shard.getRanks() == 1;
  if (auto once = dyn_cast<OnceAttr>(step))
    return once.getRanks() == 1;
  return isa<ConcatAttr>(step) && sources == 1;
}

namespace {
struct SimplifyRecipe : OpRewritePattern<ParameterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ParameterOp op, PatternRewriter &rewriter) const override {
    ArrayAttr recipe = op.getRecipeAttr();
    if (!recipe)
      return rewriter.notifyMatchFailure(op, "no recipe");
    SmallVector<Attribute> sources(op.getSources().begin(), op.getSources().end()), steps;
    for (Attribute step : recipe) {
      auto slice = dyn_cast<SliceAttr>(step);
      if (slice && slice.getDim() == 0 && steps.size() == 1 && isa<StackAttr>(steps.front()) &&
          isPartOf(sources.size(), slice)) {
        // Sources that are sliced away need not be read.
        sources = SmallVector<Attribute>(ArrayRef(sources).slice(slice.getOffset(), slice.getSize()));
        continue;
      }
      if (Attribute merged = steps.empty() ? Attribute() : merge(steps.back(), step)) {
        steps.pop_back();
        step = merged;
      }
      if (!isIdentity(step, sources.size()))
        steps.push_back(step);
    }
    if (steps.size() == recipe.size())
      return rewriter.notifyMatchFailure(op, "every step is needed");
    rewriter.modifyOpInPlace(op, [&] {
      op.setSourcesAttr(rewriter.getArrayAttr(sources));
      if (steps.empty())
        op.removeRecipeAttr();
      else
        op.setRecipeAttr(rewriter.getArrayAttr(steps));
    });
    return success();
  }
};
} // namespace

void ParameterOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SimplifyRecipe>(context);
}
