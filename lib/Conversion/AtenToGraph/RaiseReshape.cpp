//===- RaiseReshape.cpp - views as splits and joins of dimensions -------------------------------------------------===//

#include "Patterns.h"
#include "SizeAnalysis.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::aten;

namespace {
/// Neighbouring dimensions of the source that hold the same elements as neighbouring dimensions of the result.
struct Group {
  unsigned source, sourceCount, result, resultCount;
};
} // namespace

static SizeExpr product(ArrayRef<SizeExpr> sizes) {
  SizeExpr result = 1;
  for (const SizeExpr &size : sizes)
    result = result * size;
  return result;
}

/// Cuts both shapes at every place where equally many elements lie on either side.
static SmallVector<Group> findGroups(ArrayRef<SizeExpr> from, ArrayRef<SizeExpr> to) {
  SmallVector<Group> groups;
  unsigned i = 0, j = 0, m = from.size(), n = to.size();
  while (i < m && j < n) {
    Group group{i, m - i, j, n - j};
    for (unsigned length = 2; length <= m - i + n - j && group.sourceCount + group.resultCount > length; ++length)
      for (unsigned a = 1; a < length; ++a)
        if (i + a <= m && j + length - a <= n && product(from.slice(i, a)) == product(to.slice(j, length - a))) {
          group = {i, a, j, length - a};
          break;
        }
    groups.push_back(group);
    i += group.sourceCount;
    j += group.resultCount;
  }
  // What is left over are dimensions of size one.
  groups.back().sourceCount += m - i;
  groups.back().resultCount += n - j;
  return groups;
}

namespace {
struct RaiseReshape : CallPattern {
  RaiseReshape(MLIRContext *context) : CallPattern(context, {"aten.view", "aten.reshape"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value self = call.getValue("self");
    auto from = getTensorType(self), to = getTensorType(call.getResult(0));
    if (from.getRank() == 0 || to.getRank() == 0)
      return failure();
    SizeAnalysis analysis;
    auto list = analysis.getRequestedSizes(call, call.getArgument("size") ? "size" : "shape", self, false);
    if (!list || int64_t(list->size()) != to.getRank())
      return failure();
    for (int64_t dim = 0; dim < to.getRank(); ++dim)
      if (!to.isDynamicDim(dim))
        (*list)[dim] = to.getDimSize(dim);
    // A negative size, which the level refuses later: two of them may have the right product.
    if (llvm::any_of(*list, [](const SizeExpr &size) { return size.getConstant().value_or(0) < 0; }))
      return failure();
    SmallVector<SizeExpr> sizes = analysis.getSizes(self);
    if (product(sizes) != product(*list))
      return failure();
    SmallVector<Group> groups = findGroups(sizes, *list);

    SmallVector<ReassociationIndices> joins, splits;
    SmallVector<int64_t> joined, wanted;
    for (const Group &group : groups) {
      auto indices = [](unsigned begin, unsigned count) {
        return llvm::to_vector_of<int64_t>(llvm::seq<unsigned>(begin, begin + count));
      };
      auto size = [](RankedTensorType type, ArrayRef<int64_t> dims) {
        int64_t result = 1;
        for (int64_t dim : dims)
          result = type.isDynamicDim(dim) || ShapedType::isDynamic(result) ? ShapedType::kDynamic
                                                                           : result * type.getDimSize(dim);
        return result;
      };
      joins.emplace_back(indices(group.source, group.sourceCount));
      splits.emplace_back(indices(group.result, group.resultCount));
      joined.push_back(size(from, joins.back()));
      wanted.push_back(size(to, splits.back()));
    }
    Location loc = call.getLoc();
    Value value = self;
    if (joined.size() != size_t(from.getRank()))
      value = tensor::CollapseShapeOp::create(rewriter, loc, from.clone(joined), value, joins);
    if (joined != wanted)
      value = tensor::CastOp::create(rewriter, loc, from.clone(wanted), value);
    if (wanted.size() != size_t(to.getRank())) {
      SmallVector<OpFoldResult> shape;
      for (auto [dim, size] : llvm::enumerate(*list)) {
        shape.push_back(analysis.materializeFolded(rewriter, loc, size));
        // A size of the result that its type does not say is a value, also where it is known.
        if (to.isDynamicDim(dim))
          shape.back() = getValueOrCreateConstantIndexOp(rewriter, loc, shape.back());
      }
      value = tensor::ExpandShapeOp::create(rewriter, loc, to, value, splits, shape);
    }
    rewriter.replaceOp(call, value);
    return success();
  }
};
} // namespace

void mlir::aten::populateRaiseReshapePatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseReshape>(patterns.getContext());
}
