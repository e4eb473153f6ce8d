//===- ResolveSizes.cpp - sizes of buffers in terms of the host function's arguments ------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"
#include "moe-mlir/Support/Greedy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/CSE.h"

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELRESOLVESIZES
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

using namespace mlir;

namespace {
/// Replaces the size of a view by what the view was made of.
struct ResolveViewSize : OpRewritePattern<memref::DimOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(memref::DimOp op, PatternRewriter &rewriter) const override {
    std::optional<int64_t> dim = op.getConstantIndex();
    Operation *source = op.getSource().getDefiningOp();
    auto type = dyn_cast<MemRefType>(op.getSource().getType());
    if (!dim || !source || !type || *dim < 0 || *dim >= type.getRank())
      return failure(); // a dimension that is not there is for kernel-verify-dimensions
    rewriter.setInsertionPoint(op);
    OpFoldResult size;
    if (auto expand = dyn_cast<memref::ExpandShapeOp>(source)) {
      size = expand.getMixedOutputShape()[*dim];
    } else if (auto cast = dyn_cast<memref::ReinterpretCastOp>(source)) {
      size = cast.getMixedSizes()[*dim];
    } else if (auto part = dyn_cast<kernel::PartOp>(source)) {
      ValueRange sizes = kernel::getWindowSizes(part.getWindow());
      if (*dim || sizes.empty())
        return failure();
      size = sizes.front();
    } else if (auto collapse = dyn_cast<memref::CollapseShapeOp>(source)) {
      Value product;
      ReassociationIndices group = collapse.getReassociationIndices()[*dim];
      for (int64_t from : group) {
        OpFoldResult factor = memref::getMixedSize(rewriter, op.getLoc(), collapse.getSrc(), from);
        if (getConstantIntValue(factor) == 1)
          continue;
        Value value = getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), factor);
        product = product ? arith::MulIOp::create(rewriter, op.getLoc(), product, value).getResult() : value;
      }
      size = product ? OpFoldResult(product) : OpFoldResult(rewriter.getIndexAttr(1));
    } else {
      return failure();
    }
    rewriter.replaceOp(op, getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), size));
    return success();
  }
};

/// (a * c) / c = a for sizes, which do not overflow.
struct CancelFactor : OpRewritePattern<arith::DivUIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivUIOp op, PatternRewriter &rewriter) const override {
    auto product = op.getLhs().getDefiningOp<arith::MulIOp>();
    if (!product || !op.getType().isIndex())
      return failure();
    std::optional<int64_t> divisor = getConstantIntValue(op.getRhs());
    for (auto [factor, rest] :
         {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())})
      if (factor == op.getRhs() || (divisor && getConstantIntValue(factor) == divisor)) {
        rewriter.replaceOp(op, rest);
        return success();
      }
    return failure();
  }
};

struct KernelResolveSizes : kernel::impl::KernelResolveSizesBase<KernelResolveSizes> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<ResolveViewSize, CancelFactor>(&getContext());
    memref::DimOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(moe_mlir::applyPatternsToEnd(func, std::move(patterns))))
      return signalPassFailure();
    shareSymbols(func);
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(func);
    eliminateCommonSubExpressions(rewriter, dominance, func);
  }

private:
  /// Sizes of arguments that `moe.dims` gives one name are one size: the runtime has checked that they agree.
  static void shareSymbols(func::FuncOp func) {
    llvm::StringMap<std::pair<BlockArgument, int64_t>> first;
    for (BlockArgument arg : func.getArguments()) {
      auto dims = func.getArgAttrOfType<ArrayAttr>(arg.getArgNumber(), "moe.dims");
      for (auto [dim, attr] : llvm::enumerate(dims ? dims.getValue() : ArrayRef<Attribute>()))
        if (auto name = dyn_cast<StringAttr>(attr); name && !name.getValue().empty())
          first.try_emplace(name.getValue(), arg, dim);
    }
    func.walk([&](memref::DimOp op) {
      auto arg = dyn_cast<BlockArgument>(op.getSource());
      std::optional<int64_t> dim = op.getConstantIndex();
      if (!arg || !dim || arg.getOwner() != &func.front())
        return;
      auto dims = func.getArgAttrOfType<ArrayAttr>(arg.getArgNumber(), "moe.dims");
      const bool isThere = dims && *dim >= 0 && *dim < static_cast<int64_t>(dims.size());
      auto name = isThere ? dyn_cast<StringAttr>(dims[*dim]) : StringAttr();
      if (!name || name.getValue().empty())
        return;
      auto [source, index] = first.lookup(name.getValue());
      if (source == arg && index == *dim)
        return;
      OpBuilder b(op);
      Value at = arith::ConstantIndexOp::create(b, op.getLoc(), index);
      op.getSourceMutable().assign(source);
      op.getIndexMutable().assign(at);
    });
  }
};
} // namespace
