//===- Simplify.cpp - calls that do nothing, chains of views ------------------------------------------------------===//

#include "Patterns.h"
#include "SizeAnalysis.h"

#include "moe-mlir/Conversion/AtenToGraph/Passes.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/Greedy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::aten {
#define GEN_PASS_DEF_ATENSIMPLIFY
#include "moe-mlir/Conversion/AtenToGraph/Passes.h.inc"
} // namespace mlir::aten

using namespace mlir;
using namespace mlir::aten;

Value mlir::aten::createCall(OpBuilder &builder, Location loc, StringRef target, Type result,
                             ArrayRef<NamedArgument> arguments) {
  SmallVector<Value> operands;
  SmallVector<NamedAttribute> attrs;
  for (auto [name, argument] : arguments) {
    Attribute attr = dyn_cast<Attribute>(argument);
    if (auto value = dyn_cast<Value>(argument)) {
      attr = ArgAttr::get(builder.getContext(), operands.size());
      operands.push_back(value);
    }
    attrs.push_back(builder.getNamedAttr(name, attr));
  }
  return CallOp::create(builder, loc, TypeRange(result), builder.getStringAttr(target), operands,
                        builder.getDictionaryAttr(attrs))
      .getResult(0);
}

Value mlir::aten::createSize(OpBuilder &builder, Location loc, Value tensor, int64_t dim) {
  return createCall(builder, loc, "aten.sym_size.int", builder.getI64Type(),
                    {{"self", tensor}, {"dim", Attribute(builder.getI64IntegerAttr(dim))}});
}

Value mlir::aten::createTranspose(OpBuilder &builder, Location loc, Value value, int64_t dim0, int64_t dim1) {
  auto type = getTensorType(value);
  SmallVector<int64_t> shape(type.getShape());
  std::swap(shape[dim0], shape[dim1]);
  return createCall(builder, loc, "aten.transpose.int", type.clone(shape),
                    {{"self", value},
                     {"dim0", Attribute(builder.getI64IntegerAttr(dim0))},
                     {"dim1", Attribute(builder.getI64IntegerAttr(dim1))}});
}

Value mlir::aten::transposeMatrices(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType type = getTensorType(value);
  const int64_t rank = type.getRank();
  auto parameter = value.getDefiningOp<moe::ParameterOp>();
  if (!parameter || rank != 3)
    return createTranspose(builder, loc, value, rank - 2, rank - 1);
  SmallVector<Attribute> recipe;
  if (ArrayAttr steps = parameter.getRecipeAttr())
    llvm::append_range(recipe, steps);
  recipe.push_back(moe::TransposeAttr::get(builder.getContext(), {0, 2, 1}));
  return moe::ParameterOp::create(builder, parameter.getLoc(),
                                  type.clone({type.getDimSize(0), type.getDimSize(2), type.getDimSize(1)}),
                                  parameter.getSources(), builder.getArrayAttr(recipe));
}

namespace {

/// Copies and views without effect on values, and casts to the type that is there already.
struct DropIdentities : CallPattern {
  DropIdentities(MLIRContext *context)
      : CallPattern(context, {"aten.to", "aten.clone", "aten.contiguous", "aten.detach", "aten.alias",
                              "aten.lift_fresh_copy", "aten.dropout", "aten.expand", "aten.slice", "aten.view",
                              "aten.reshape", "aten.type_as", "aten.view_as", "aten.permute", "aten.float"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value self = call.getValue("self");
    if (!self)
      self = call.getValue("input");
    if (!self || call.getNumResults() != 1 || self.getType() != call.getResult(0).getType())
      return failure();
    StringRef base = call.getBase();
    if (base == "aten.dropout" && call.getBool("train").value_or(true))
      return failure();
    if (base == "aten.slice" &&
        (call.getInt("start").value_or(call.getArgument("start") ? 1 : 0) != 0 || call.getInt("step").value_or(1) != 1))
      return failure();
    if (base == "aten.permute") {
      std::optional<SmallVector<int64_t>> dims = call.getInts("dims");
      int64_t rank = getTensorType(self).getRank();
      for (int64_t i = 0; i < rank; ++i)
        if (!dims || ((*dims)[i] + rank) % rank != i)
          return failure();
    }
    if (base == "aten.slice" || base == "aten.view" || base == "aten.reshape" || base == "aten.view_as" ||
        base == "aten.expand") {
      SizeAnalysis sizes;
      for (int64_t dim = 0, rank = getTensorType(self).getRank(); dim < rank; ++dim)
        if (sizes.getSize(self, dim) != sizes.getSize(call.getResult(0), dim))
          return failure();
    }
    rewriter.replaceOp(call, self);
    return success();
  }
};

/// copy(x, y) is y with the shape and type of x.
struct DropCopies : CallPattern {
  DropCopies(MLIRContext *context) : CallPattern(context, {"aten.copy"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value source = call.getValue("src"), target = call.getValue("self");
    RankedTensorType type = getTensorType(source), result = getTensorType(call.getResult(0));
    if (!source || !target)
      return failure();
    if (type.getElementType() != result.getElementType())
      source = createCall(rewriter, call.getLoc(), "aten.to.dtype", type.clone(result.getElementType()),
                          {{"self", source}, {"dtype", Attribute(TypeAttr::get(result.getElementType()))}});
    if (type.getShape() != result.getShape())
      source =
          createCall(rewriter, call.getLoc(), "aten.expand_as.default", result, {{"self", source}, {"other", target}});
    rewriter.replaceOp(call, source);
    return success();
  }
};

/// A view of a view is a view.
struct MergeReshapes : CallPattern {
  MergeReshapes(MLIRContext *context) : CallPattern(context, {"aten.view", "aten.reshape"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    CallOp inner = getDefiningCall(call.getValue("self"), {"aten.view", "aten.reshape"});
    if (!inner || !inner->hasOneUse())
      return failure();
    rewriter.modifyOpInPlace(
        call, [&] { call->setOperand(cast<ArgAttr>(call.getArgument("self")).getIndex(), inner.getValue("self")); });
    return success();
  }
};

/// x.transpose(a, b).transpose(a, b) and x.t().t().
struct CancelTransposes : CallPattern {
  CancelTransposes(MLIRContext *context) : CallPattern(context, {"aten.transpose", "aten.t"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    CallOp inner = getDefiningCall(call.getValue("self"), {call.getBase()});
    if (!inner)
      return failure();
    int64_t rank = getTensorType(call.getResult(0)).getRank();
    if (call.getBase() == "aten.transpose") {
      auto dims = [&](CallOp transpose) {
        auto pair = std::pair(transpose.getDim("dim0", rank), transpose.getDim("dim1", rank));
        return pair.first > pair.second ? std::pair(pair.second, pair.first) : pair;
      };
      if (!dims(call).first || dims(call) != dims(inner))
        return failure();
    }
    rewriter.replaceOp(call, inner.getValue("self"));
    return success();
  }
};

/// x * 1, x / 1, and x + 0, x - 0 on integers, if the type stays. (A float -0.0 + 0 is 0.0.)
struct DropNeutralScalars : CallPattern {
  DropNeutralScalars(MLIRContext *context) : CallPattern(context, {"aten.mul", "aten.div", "aten.add", "aten.sub"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value self = call.getValue("self");
    bool product = call.getBase() == "aten.mul" || call.getBase() == "aten.div";
    std::optional<double> other = call.getFloat("other");
    if (!self || !other || *other != (product ? 1.0 : 0.0) || self.getType() != call.getResult(0).getType() ||
        call.getArgument("rounding_mode"))
      return failure();
    if (!product && !isa<IntegerType>(getElementTypeOf(self)))
      return failure();
    rewriter.replaceOp(call, self);
    return success();
  }
};

/// A size that an argument gives is read there, not from a value that has to be computed first.
struct ReadSizesFromArguments : CallPattern {
  ReadSizesFromArguments(MLIRContext *context) : CallPattern(context, {"aten.sym_size"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value self = call.getValue("self");
    std::optional<int64_t> dim = call.getDim("dim", getTensorType(self).getRank());
    if (!dim)
      return failure();
    SizeAnalysis sizes;
    auto source = sizes.getArgumentDim(sizes.getSize(self, *dim));
    if (!source || *source == std::pair(dyn_cast<BlockArgument>(self), *dim))
      return failure();
    rewriter.replaceOp(call, createCall(rewriter, call.getLoc(), call.getTarget(), rewriter.getI64Type(),
                                        {{"self", Value(source->first)},
                                         {"dim", Attribute(rewriter.getI64IntegerAttr(source->second))}}));
    return success();
  }
};

/// Results without elements need no computation, only a shape: most kernels have no form for them.
struct DropEmptyResults : OpRewritePattern<CallOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CallOp call, PatternRewriter &rewriter) const override {
    // What these are given may be an error of the call all the same.
    if (llvm::is_contained({"aten.one_hot", "aten.narrow"}, call.getBase()))
      return failure();
    SmallVector<Value> empties;
    for (Value result : call.getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type || !llvm::is_contained(type.getShape(), 0))
        return failure();
      SizeAnalysis analysis;
      SmallVector<SizeExpr> sizes = analysis.getSizes(result);
      if (!llvm::all_of(sizes, [&](const SizeExpr &size) { return analysis.isOverArguments(size); }))
        return failure();
      SmallVector<OpFoldResult> shape;
      for (const SizeExpr &size : sizes)
        shape.push_back(analysis.materializeFolded(rewriter, call.getLoc(), size));
      empties.push_back(tensor::EmptyOp::create(rewriter, call.getLoc(), shape, type.getElementType()));
      if (empties.back().getType() != type)
        empties.back() = tensor::CastOp::create(rewriter, call.getLoc(), type, empties.back());
    }
    if (empties.empty())
      return failure();
    rewriter.replaceOp(call, empties);
    return success();
  }
};

struct AtenSimplify : aten::impl::AtenSimplifyBase<AtenSimplify> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateSimplifyPatterns(patterns);
    if (failed(moe_mlir::applyPatternsToEnd(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void mlir::aten::populateSimplifyPatterns(RewritePatternSet &patterns) {
  patterns.add<DropIdentities, DropCopies, MergeReshapes, CancelTransposes, DropNeutralScalars,
               DropEmptyResults, ReadSizesFromArguments>(patterns.getContext());
  populateAssertionPatterns(patterns);
  populateSimplifyJoinsPatterns(patterns);
}
