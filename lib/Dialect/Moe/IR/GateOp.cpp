//===- GateOp.cpp - rules and canonicalisation of moe.gate --------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/ShapeCheck.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::moe;
using moe_mlir::NamedShape;

SmallVector<NamedShape> GateOp::getShapes() {
  SmallVector<NamedShape> shapes = {{"logits", getLogits(), {"T", "E"}}};
  if (getBias())
    shapes.push_back({"bias", getBias(), {"E"}});
  if (getIds())
    shapes.push_back({"ids", getIds(), {"T", "k"}});
  shapes.push_back({"weights", getWeights(), {"T", "k"}});
  shapes.push_back({"experts", getExperts(), {"T", "k"}});
  return shapes;
}

static LogicalResult verifyShapes(GateOp op) {
  moe_mlir::ShapeCheck check(op);
  SmallVector<NamedShape> shapes = op.getShapes();
  check.shapes(shapes.front()); // logits
  if (succeeded(check.result()) && ShapedType::isDynamic(op.getNumExperts()))
    return op.emitOpError() << "needs a static number of experts, got logits of type " << op.getLogits().getType();
  if (failed(check.result()))
    return failure();
  std::string k = ("top_k(" + llvm::Twine(op.getTopK()) + ") of " + llvm::Twine(op.getNumExperts()) + " experts").str();
  check.size("k", op.getK(), k);
  check.shapes(ArrayRef(shapes).drop_front());
  return check.result();
}

static LogicalResult verifyScore(GateOp op) {
  bool mixes = op.getScore() == Score::SparseMixer;
  if (mixes && !op.getJitter())
    return op.emitOpError("score(sparsemixer) needs jitter");
  if (!mixes && op.getJitter())
    return op.emitOpError() << "jitter goes with score(sparsemixer), not with " << stringifyScore(op.getScore());
  if (mixes && !(op.getJitter()->isFinite() && op.getJitter()->convertToDouble() >= 0))
    return op.emitOpError() << "jitter must be finite and not negative, got " << op.getJitter()->convertToDouble();
  return success();
}

static LogicalResult verifyRenormalize(GateOp op) {
  Renormalize mode = op.getRenormalize();
  if (mode == Renormalize::PNorm && !op.getP())
    return op.emitOpError("renormalize(pnorm) needs p");
  if (mode != Renormalize::PNorm && op.getP())
    return op.emitOpError() << "p goes with renormalize(pnorm), not with " << stringifyRenormalize(mode);
  if (op.getP() && !(op.getP()->isFinite() && op.getP()->convertToDouble() >= 1))
    return op.emitOpError() << "p must be finite and at least 1, got " << op.getP()->convertToDouble();
  if (mode != Renormalize::Sum && op.getEps())
    return op.emitOpError() << "eps goes with renormalize(sum), not with " << stringifyRenormalize(mode);
  if (op.getEps() && !(op.getEps()->isFinite() && op.getEps()->convertToDouble() >= 0))
    return op.emitOpError() << "eps must be finite and not negative, got " << op.getEps()->convertToDouble();
  if (mode != Renormalize::Sum && op.getLeast())
    return op.emitOpError() << "least goes with renormalize(sum), not with " << stringifyRenormalize(mode);
  if (op.getLeast() && !(op.getLeast()->isFinite() && op.getLeast()->convertToDouble() > 0))
    return op.emitOpError() << "least must be finite and positive, got " << op.getLeast()->convertToDouble();
  if (op.getScale() && !op.getScale()->isFinite())
    return op.emitOpError("scale must be finite");
  return success();
}

static LogicalResult verifyGroups(GateOp op, GroupsAttr groups) {
  int64_t experts = op.getNumExperts();
  if (experts % groups.getCount())
    return op.emitOpError() << groups.getCount() << " groups do not divide " << experts << " experts";
  int64_t size = experts / groups.getCount(), reachable = size * groups.getKeep();
  if (groups.getScore() == GroupScore::Top2Sum && size < 2)
    return op.emitOpError() << "top2_sum needs groups of at least 2 experts, got " << size;
  if (op.getK() > reachable)
    return op.emitOpError() << "cannot choose " << op.getK() << " of the " << reachable << " experts in "
                            << groups.getKeep() << " groups";
  return success();
}

LogicalResult GateOp::verify() {
  if (getTopKAttr().getInt() < 1)
    return emitOpError() << "top_k must be at least 1, got " << getTopKAttr().getInt();
  if (failed(verifyShapes(*this)) || failed(verifyScore(*this)) || failed(verifyRenormalize(*this)))
    return failure();
  if (getNumExperts() > kMaxExperts)
    return emitOpError() << "chooses among " << getNumExperts() << " experts; at most " << kMaxExperts
                         << " have ids of i32";
  return getGroups() ? verifyGroups(*this, *getGroups()) : success();
}

namespace {
/// A larger k than there are experts means all of them (moe-semantics G1); later passes see the number that counts.
struct ClipTopK : OpRewritePattern<GateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GateOp op, PatternRewriter &rewriter) const override {
    if (static_cast<int64_t>(op.getTopK()) <= op.getNumExperts())
      return rewriter.notifyMatchFailure(op, "top_k is at most the number of experts");
    rewriter.modifyOpInPlace(op, [&] { op.setTopK(op.getNumExperts()); });
    return success();
  }
};

/// Fixed ids leave nothing to choose, so what only steers the choice goes.
struct DropChoiceOfFixedIds : OpRewritePattern<GateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GateOp op, PatternRewriter &rewriter) const override {
    if (!op.getIds() || (!op.getBias() && !op.getGroups()))
      return rewriter.notifyMatchFailure(op, "nothing that steers a choice beside fixed ids");
    rewriter.modifyOpInPlace(op, [&] {
      op.getBiasMutable().clear();
      op.removeGroupsAttr();
    });
    return success();
  }
};
} // namespace

void GateOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ClipTopK, DropChoiceOfFixedIds>(context);
}
