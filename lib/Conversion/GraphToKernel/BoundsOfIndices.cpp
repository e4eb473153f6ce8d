//===- BoundsOfIndices.cpp - indices that stand in tensors ------------------------------------------------------===//
//
// An op that reads or writes where a tensor says is safe if an argument promises a range, which the runtime checks
// before a call, or, of indices that are computed, if the import found it so (`moe.in_bounds`). Otherwise a reduction
// over the indices says whether all of them lie inside, and the host asks it before the op runs.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Bounds.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kernel;

/// Far beyond every size, and far from overflow.
static constexpr int64_t farAway = int64_t(1) << 62;

namespace {
class IndexBounds {
public:
  IndexBounds(Bounds &bounds, Operation *op) : bounds(bounds), sizes(bounds.sizes), op(op), builder(op) {}

  /// All elements of `indices` lie in [0, high].
  void elements(Value indices, const SizeExpr &high, const Twine &text);
  void extracts(linalg::GenericOp generic);
  void extracts(moe::ExpertOp expert);

private:
  bool isProved(Value indices, const SizeExpr &high);
  /// Whether all elements of the argument are positions below `size`, or if it `wraps` down to its negative.
  bool isPromised(BlockArgument argument, const SizeExpr &size, bool wraps);
  BlockArgument elementOf(linalg::GenericOp generic, Value index, const SizeExpr &size, bool &wraps);
  bool promise(Value indices, int64_t high);
  Value loadBool(Value tensor);
  Value trueTensor();
  /// Bounds the index by the sizes alone; false if it depends on elements.
  bool bySizes(tensor::ExtractOp extract, unsigned dim, linalg::GenericOp loops);
  void byElements(linalg::GenericOp generic, ArrayRef<std::pair<tensor::ExtractOp, unsigned>> places);

  Bounds &bounds;
  GraphSizes &sizes;
  Operation *op;
  OpBuilder builder;
};
} // namespace

/// The argument whose elements these are.
static BlockArgument argumentOf(Value tensor) {
  while (Operation *view = tensor.getDefiningOp()) {
    if (!isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(view))
      return {};
    tensor = view->getOperand(0);
  }
  return cast<BlockArgument>(tensor);
}

bool IndexBounds::isProved(Value indices, const SizeExpr &high) {
  DenseIntElementsAttr constant;
  if (matchPattern(indices, m_Constant(&constant)))
    return llvm::all_of(constant.getValues<APInt>(), [&](const APInt &value) {
      return !value.isNegative() && sizes.isNonNegative(high - value.getSExtValue());
    });
  BlockArgument argument = argumentOf(indices);
  return argument && isPromised(argument, high + 1, /*wraps=*/false);
}

bool IndexBounds::isPromised(BlockArgument argument, const SizeExpr &size, bool wraps) {
  auto function = cast<func::FuncOp>(op->getParentOp());
  unsigned number = argument.getArgNumber();
  if (function.getArgAttr(number, "moe.state")) // the runtime looks at what callers give
    return false;
  bool isAbove = false, isBelow = false;
  if (auto along = function.getArgAttrOfType<StringAttr>(number, "moe.index_of"))
    if (std::optional<SizeExpr> of = sizes.ofName(along); of && sizes.isNonNegative(size - *of)) {
      isAbove = wraps;
      isBelow = true;
    }
  if (auto range = function.getArgAttrOfType<ArrayAttr>(number, "moe.range")) {
    const int64_t first = cast<IntegerAttr>(range[0]).getInt();
    std::optional<SizeExpr> last = cast<IntegerAttr>(range[1]).getInt();
    if (auto plus = function.getArgAttrOfType<StringAttr>(number, "moe.range_plus")) {
      std::optional<SizeExpr> room = sizes.ofName(plus);
      last = room ? std::optional(*last + 1 - *room) : std::nullopt;
    }
    isAbove |= first >= 0 || (wraps && sizes.isNonNegative(size + first));
    isBelow |= last && sizes.isNonNegative(size - 1 - *last);
  }
  return isAbove && isBelow;
}

/// The argument whose element the index is, with the same value. It `wraps` if it is `i < 0 ? i + size : i`, so that
/// negative elements count from the end.
BlockArgument IndexBounds::elementOf(linalg::GenericOp generic, Value index, const SizeExpr &size, bool &wraps) {
  auto select = index.getDefiningOp<arith::SelectOp>();
  wraps = static_cast<bool>(select);
  if (select) {
    index = select.getFalseValue();
    auto isNegative = select.getCondition().getDefiningOp<arith::CmpIOp>();
    auto fromEnd = select.getTrueValue().getDefiningOp<arith::AddIOp>();
    if (!isNegative || isNegative.getPredicate() != arith::CmpIPredicate::slt || isNegative.getLhs() != index ||
        !matchPattern(isNegative.getRhs(), m_Zero()) || !fromEnd || fromEnd.getLhs() != index ||
        !(sizes.scalar(fromEnd.getRhs()) == size))
      return {};
  }
  while (Operation *cast = index.getDefiningOp()) {
    const bool toIndex = isa<arith::IndexCastOp>(cast) && cast->getResult(0).getType().isIndex();
    if (!toIndex && !isa<arith::ExtSIOp>(cast)) // others may wrap around
      return {};
    index = cast->getOperand(0);
  }
  if (index.getType().isInteger(1)) // true is 1 for a caller, and -1 here
    return {};
  auto element = dyn_cast<BlockArgument>(index);
  if (!element || element.getOwner() != generic.getBody() || element.getArgNumber() >= generic.getNumDpsInputs())
    return {};
  return argumentOf(generic.getDpsInputs()[element.getArgNumber()]);
}

bool IndexBounds::promise(Value indices, int64_t high) {
  BlockArgument argument = argumentOf(indices);
  auto function = cast<func::FuncOp>(op->getParentOp());
  if (!argument || function.getArgAttr(argument.getArgNumber(), "moe.range_plus") ||
      function.getArgAttr(argument.getArgNumber(), "moe.state"))
    return false;
  int64_t low = 0;
  if (auto range = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "moe.range")) {
    low = std::max(low, cast<IntegerAttr>(range[0]).getInt());
    high = std::min(high, cast<IntegerAttr>(range[1]).getInt());
  }
  if (low > high)
    return false;
  function.setArgAttr(argument.getArgNumber(), "moe.range", builder.getI64ArrayAttr({low, high}));
  return true;
}

Value IndexBounds::trueTensor() {
  Location loc = op->getLoc();
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>(), builder.getI1Type());
  Value yes = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  return linalg::FillOp::create(builder, loc, yes, empty).getResult(0);
}

Value IndexBounds::loadBool(Value tensor) { return tensor::ExtractOp::create(builder, op->getLoc(), tensor); }

/// Whether 0 <= index < size.
static Value isInside(OpBuilder &b, Location loc, Value index, Value size) {
  // Unsigned: a negative index is beyond every size.
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, size);
}

void IndexBounds::elements(Value indices, const SizeExpr &high, const Twine &text) {
  if (isProved(indices, high))
    return;
  // Of an argument the import made sure by its range, which may have been edited since; of others it knew more.
  if (op->hasAttr("moe.in_bounds") && !argumentOf(indices))
    return;
  if (std::optional<int64_t> last = high.getConstant(); last && *last >= 0 && promise(indices, *last))
    return;
  if (!bounds.isNew(indices, high))
    return;
  Location loc = op->getLoc();
  builder.setInsertionPoint(op);
  Value whole, count = sizes.materialize(builder, loc, high + 1, whole);
  Value none = arith::ConstantIndexOp::create(builder, loc, 0);
  // With a negative bound nothing fits.
  count = arith::MaxSIOp::create(builder, loc, count, none);
  if (whole)
    count = arith::SelectOp::create(builder, loc, whole, count, none);
  int64_t rank = cast<RankedTensorType>(indices.getType()).getRank();
  MLIRContext *context = builder.getContext();
  SmallVector<AffineMap> maps = {AffineMap::getMultiDimIdentityMap(rank, context), AffineMap::get(rank, 0, context)};
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::reduction);
  Value all = trueTensor();
  auto check = linalg::GenericOp::create(
      builder, loc, all.getType(), indices, all, maps, loops, [&](OpBuilder &b, Location loc, ValueRange args) {
        Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), args[0]);
        Value fits = arith::AndIOp::create(b, loc, args[1], isInside(b, loc, index, count));
        linalg::YieldOp::create(b, loc, fits);
      });
  bounds.check(op, builder, loadBool(check.getResult(0)), text, {});
}

bool IndexBounds::bySizes(tensor::ExtractOp extract, unsigned dim, linalg::GenericOp loops) {
  Value index = extract.getIndices()[dim];
  SizeExpr size = sizes.size(extract.getTensor(), dim), all = 1;
  std::optional<SizeExpr> count;
  if (loops) {
    SmallVector<SizeExpr> counts = loopSizes(sizes, loops);
    for (const SizeExpr &loop : counts)
      all = all * loop;
    count = all;
    if (auto iteration = index.getDefiningOp<linalg::IndexOp>()) {
      bounds.atMost(op, counts[iteration.getDim()], size,
                    "dimension " + Twine(dim) + " of a tensor that is read by index must be at least {0}, but is {1}",
                    count);
      return true;
    }
  }
  APInt constant;
  bool isConstant = matchPattern(index, m_ConstantInt(&constant));
  if (!isConstant && op->isAncestor(index.getParentRegion()->getParentOp()))
    return false;
  SizeExpr at = isConstant ? SizeExpr(constant.getSExtValue()) : sizes.scalar(index);
  bounds.notNegative(op, at, "index {1} is negative", count);
  bounds.atMost(op, at, size - 1,
                "index {0} in dimension " + Twine(dim) + " of a tensor that is read by index is beyond the last, {1}",
                count);
  return true;
}

void IndexBounds::extracts(moe::ExpertOp expert) {
  expert.getActivation().walk([&](tensor::ExtractOp extract) {
    for (unsigned dim = 0; dim < extract.getIndices().size(); ++dim)
      (void)bySizes(extract, dim, nullptr); // its verifier wants places that do not depend on the row
  });
}

void IndexBounds::extracts(linalg::GenericOp generic) {
  SmallVector<std::pair<tensor::ExtractOp, unsigned>> places;
  auto walked = generic.getBody()->walk([&](tensor::ExtractOp extract) {
    for (unsigned dim = 0; dim < extract.getIndices().size(); ++dim) {
      bool wraps;
      const SizeExpr size = sizes.size(extract.getTensor(), dim);
      BlockArgument argument = elementOf(generic, extract.getIndices()[dim], size, wraps);
      // The import made sure of an argument by what it promises, which may have been edited since.
      if (argument ? isPromised(argument, size, wraps) : extract->hasAttr("moe.in_bounds"))
        continue;
      if (bySizes(extract, dim, generic))
        continue;
      if (extract->getBlock() != generic.getBody())
        return WalkResult::interrupt();
      places.push_back({extract, dim});
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted()) // the check does not know for which indices the region runs
    return bounds.wrong(op, "reads a tensor in a region of its body, at an index that is computed there and cannot be "
                            "checked; read it before the region");
  if (!places.empty())
    byElements(generic, places);
}

void IndexBounds::byElements(linalg::GenericOp generic, ArrayRef<std::pair<tensor::ExtractOp, unsigned>> places) {
  Block *body = generic.getBody();
  // What the indices are computed from.
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *nested) { return nested->getBlock() == body; };
  for (auto [extract, dim] : places)
    if (Operation *def = extract.getIndices()[dim].getDefiningOp(); def && def->getBlock() == body)
      (void)getBackwardSlice(def, &slice, options);
  auto usesOutput = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == body && argument.getArgNumber() >= generic.getNumDpsInputs();
  };
  bool carried =
      llvm::any_of(slice, [&](Operation *nested) { return llvm::any_of(nested->getOperands(), usesOutput); });
  for (auto [extract, dim] : places)
    carried |= usesOutput(extract.getIndices()[dim]);
  if (carried)
    return bounds.wrong(op, "reads a tensor at an index that depends on its own output, which cannot be checked");

  Location loc = op->getLoc();
  builder.setInsertionPoint(op);
  int64_t loops = generic.getNumLoops();
  // Outputs come along as inputs: they may be the only ones that say how often a loop runs.
  SmallVector<Value> inputs(generic->getOperands());
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  maps.push_back(AffineMap::get(loops, 0, builder.getContext()));
  SmallVector<utils::IteratorType> kinds(loops, utils::IteratorType::reduction);
  Value all = trueTensor();
  auto check = linalg::GenericOp::create(
      builder, loc, all.getType(), inputs, all, maps, kinds, [&](OpBuilder &b, Location loc, ValueRange args) {
        IRMapping mapping;
        for (auto [from, to] : llvm::zip(body->getArguments(), args))
          mapping.map(from, to);
        Value fits = args.back();
        auto sizeOf = [&](tensor::ExtractOp extract, unsigned dim) -> Value {
          return tensor::DimOp::create(b, loc, extract.getTensor(), dim);
        };
        auto require = [&](tensor::ExtractOp extract, unsigned dim) {
          Value index = mapping.lookupOrDefault(extract.getIndices()[dim]);
          fits = arith::AndIOp::create(b, loc, fits, isInside(b, loc, index, sizeOf(extract, dim)));
          return index;
        };
        for (Operation &nested : body->without_terminator()) {
          if (!slice.contains(&nested))
            continue;
          auto inner = dyn_cast<tensor::ExtractOp>(nested);
          if (!inner) {
            b.clone(nested, mapping);
            continue;
          }
          // The check reads as well: where the index is wrong, element 0 instead.
          SmallVector<Value> indices;
          Value zero = arith::ConstantIndexOp::create(b, loc, 0);
          for (unsigned dim = 0; dim < inner.getIndices().size(); ++dim) {
            Value index = mapping.lookupOrDefault(inner.getIndices()[dim]);
            Value safe = arith::SelectOp::create(b, loc, isInside(b, loc, index, sizeOf(inner, dim)), index, zero);
            indices.push_back(safe);
          }
          mapping.map(inner.getResult(), tensor::ExtractOp::create(b, loc, inner.getTensor(), indices).getResult());
        }
        for (auto [extract, dim] : places)
          (void)require(extract, dim);
        linalg::YieldOp::create(b, loc, fits);
      });
  SizeExpr count = 1;
  for (const SizeExpr &loop : loopSizes(sizes, generic))
    count = count * loop;
  for (auto [extract, dim] : places)
    bounds.atMost(op, 1, sizes.size(extract.getTensor(), dim),
                  "dimension " + Twine(dim) + " of a tensor that is read by index must be at least {0}, but is {1}",
                  count);
  bounds.check(op, builder, loadBool(check.getResult(0)), "an index is outside of the tensor that it reads", {});
}

void mlir::kernel::boundIndices(Bounds &bounds, Operation *op) {
  IndexBounds indices(bounds, op);
  GraphSizes &sizes = bounds.sizes;
  if (auto embedding = dyn_cast<nn::EmbeddingOp>(op)) {
    const int64_t parts = embedding.getAt() ? moe::ranksOf(op, embedding.getAtAttr()) : 1;
    indices.elements(embedding.getIds(), sizes.size(embedding.getTable(), 0) * parts - 1,
                     "an id is outside of the table");
  } else if (auto update = dyn_cast<nn::CacheUpdateOp>(op)) {
    indices.elements(update.getPositions(), sizes.size(update.getCache(), 2) - sizes.size(update.getRows(), 1),
                     "a position leaves no room in the cache");
  } else if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
    if (attention.getPositions())
      indices.elements(attention.getPositions(), farAway, "a position is negative or too large");
    if (attention.getLengths())
      indices.elements(attention.getLengths(), farAway, "a length is negative or too large");
  } else if (op->hasAttr("moe.in_bounds")) {
    return;
  } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    indices.extracts(generic);
  } else if (auto expert = dyn_cast<moe::ExpertOp>(op)) {
    indices.extracts(expert);
  }
}
