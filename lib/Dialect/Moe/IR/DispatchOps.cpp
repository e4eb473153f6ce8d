//===- DispatchOps.cpp - rules of moe.dispatch, moe.combine, moe.all_to_all ---------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/ShapeCheck.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;
using moe_mlir::NamedShape;

SmallVector<NamedShape> DispatchOp::getShapes() {
  SmallVector<NamedShape> shapes = {{"tokens", getTokens(), {"T", "H"}}, {"experts", getExperts(), {"T", "k"}}};
  if (getWeights())
    shapes.push_back({"weights", getWeights(), {"T", "k"}});
  shapes.push_back({"rows", getRows(), {"R", "H"}});
  return shapes;
}

LogicalResult DispatchOp::verify() {
  if (getNumExpertsAttr().getInt() < 1)
    return emitOpError() << "num_experts must be at least 1, got " << getNumExpertsAttr().getInt();
  if (getNumExpertsAttr().getInt() > kMaxExperts)
    return emitOpError() << "num_experts must be at most " << kMaxExperts << ", as ids are i32, got "
                         << getNumExpertsAttr().getInt();
  moe_mlir::ShapeCheck check(*this);
  check.size("E", getNumExperts(), "num_experts");
  SmallVector<NamedShape> shapes = getShapes();
  check.shapes(ArrayRef(shapes).drop_back());
  if (int64_t t = check.lookup("T"), k = check.lookup("k"); !ShapedType::isDynamic(t) && !ShapedType::isDynamic(k))
    check.size("R", t * k, "T.k of experts");
  check.shapes(shapes.back());
  check.size("E", getLayout().getType().getExperts(), "layout");
  check.sameElement("tokens", getTokens().getType(), "rows", getRows().getType());
  return check.result();
}

SmallVector<NamedShape> CombineOp::getShapes() {
  SmallVector<NamedShape> shapes = {{"rows", getRows(), {"R", "H"}}};
  if (getWeights())
    shapes.push_back({"weights", getWeights(), {"T", "k"}});
  shapes.push_back({"result", getResult(), {"T", "H"}});
  return shapes;
}

LogicalResult CombineOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  SmallVector<NamedShape> shapes = getShapes();
  check.shapes(ArrayRef(shapes).drop_back());
  if (int64_t t = check.lookup("T"), k = check.lookup("k"); !ShapedType::isDynamic(t) && !ShapedType::isDynamic(k))
    check.size("R", t * k, "T.k of weights");
  check.shapes(shapes.back());
  return check.result();
}

//===----------------------------------------------------------------------===//
// AllToAllOp
//===----------------------------------------------------------------------===//

LogicalResult AllToAllOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shape("rows", getRows().getType(), {"R", "H"});
  check.shape("result", getResult().getType(), {"S", "H"});
  check.sameElement("rows", getRows().getType(), "result", getResult().getType());
  return check.result();
}

/// Number of ranks of a grid; dynamic if one of its sizes is, nothing if no integer holds it.
static std::optional<int64_t> numRanks(shard::GridOp grid) {
  if (ShapedType::isDynamicShape(grid.getShape()))
    return ShapedType::kDynamic;
  int64_t ranks = 1;
  for (int64_t size : grid.getShape())
    if (llvm::MulOverflow(ranks, size, ranks))
      return std::nullopt;
  return ranks;
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto grid = symbols.lookupNearestSymbolFrom<shard::GridOp>(*this, getGridAttr());
  if (!grid)
    return emitOpError() << "names no shard.grid: " << getGridAttr();
  std::optional<int64_t> ranks = numRanks(grid);
  if (!ranks)
    return emitOpError() << "names a grid of more ranks than an integer holds: " << getGridAttr();
  if (ShapedType::isDynamic(*ranks))
    return success();
  LayoutType all = getLayout().getType(), local = getResultLayout().getType();
  if (getInverse())
    std::swap(all, local);
  int64_t experts = 0;
  if (llvm::MulOverflow(local.getExperts(), *ranks, experts))
    return emitOpError() << "expected a number of experts that an integer holds, got " << *ranks << " ranks of "
                         << local.getExperts() << " experts";
  if (all.getExperts() != experts)
    return emitOpError() << "expected " << *ranks << " ranks of " << local.getExperts() << " experts to make "
                         << experts << ", got a layout of " << all.getExperts();
  return success();
}

/// An exchange that is undone at once gives what went in.
LogicalResult AllToAllOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  auto first = getRows().getDefiningOp<AllToAllOp>();
  if (!first || getLayout() != first.getResultLayout() || getRows() != first.getResult() ||
      getGridAttr() != first.getGridAttr() || getInverse() == first.getInverse() ||
      getResult().getType() != first.getRows().getType() || getResultLayout().getType() != first.getLayout().getType())
    return failure();
  results.assign({first.getRows(), first.getLayout()});
  return success();
}

namespace {
/// A rank that is alone keeps its rows. A pattern and not a folder, since it looks at another op of the module.
struct DropExchangeOfOneRank : OpRewritePattern<AllToAllOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AllToAllOp op, PatternRewriter &rewriter) const override {
    auto grid = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, op.getGridAttr());
    if (!grid || numRanks(grid) != 1)
      return rewriter.notifyMatchFailure(op, "more than one rank");
    if (op.getRows().getType() != op.getResult().getType())
      return rewriter.notifyMatchFailure(op, "the rows change their type");
    rewriter.replaceOp(op, {op.getRows(), op.getLayout()});
    return success();
  }
};
} // namespace

void AllToAllOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropExchangeOfOneRank>(context);
}
