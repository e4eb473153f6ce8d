//===- Assertions.cpp - what a model demands of values ------------------------------------------------------------===//
//
// `torch._check`, of a number that the graph computes or of sizes, and `torch._assert_async` hold when the program
// runs, as in PyTorch. Most of what is about sizes of the inputs is not here, but among the graph's guards
// (Guards.cpp).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Patterns.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::aten;

namespace {

/// Assertions about metadata hold by construction: every type was exported with the graph.
struct DropAssertions : CallPattern {
  DropAssertions(MLIRContext *context)
      : CallPattern(context,
                    {"aten._assert_tensor_metadata", "aten.sym_constrain_range_for_size", "aten.sym_constrain_range"}) {
  }
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    if (!call.use_empty())
      return failure();
    rewriter.eraseOp(call);
    return success();
  }
};

} // namespace

/// Puts the check in the place of the call.
static void replaceByAssert(PatternRewriter &rewriter, CallOp call, Value holds, bool ofCall) {
  StringRef given = call.getString("assert_msg").value_or("");
  std::string message =
      (given.empty() ? "an assertion of the model fails" : moe_mlir::printablePath(given)) + describePlace(call);
  auto check = rewriter.replaceOpWithNewOp<cf::AssertOp>(call, holds, rewriter.getStringAttr(message));
  if (ofCall)
    check->setAttr(moe::kOfCallAttr, rewriter.getUnitAttr());
}

namespace {

/// _assert_scalar(self, assert_msg): a truth value.
struct AssertNumber : CallPattern {
  AssertNumber(MLIRContext *context) : CallPattern(context, {"aten._assert_scalar"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value holds = call.getValue("self");
    std::optional<bool> constant = call.getBool("self");
    if (!call.use_empty() || !(constant || (holds && holds.getType().isInteger(1))))
      return failure();
    if (constant == true) {
      rewriter.eraseOp(call);
      return success();
    }
    if (constant)
      holds = arith::ConstantOp::create(rewriter, call.getLoc(), rewriter.getBoolAttr(false));
    replaceByAssert(rewriter, call, holds, /*ofCall=*/getOrigin(holds).sizes);
    return success();
  }
};

/// _assert_async(self), _assert_async.msg(self, assert_msg): the one element of a tensor is not zero.
struct AssertElement : CallPattern {
  AssertElement(MLIRContext *context) : CallPattern(context, {"aten._assert_async"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value self = call.getValue("self");
    RankedTensorType type = getTensorType(self);
    if (!call.use_empty() || !type || !type.hasStaticShape() || type.getNumElements() != 1)
      return failure();
    Location loc = call.getLoc();
    Type truth = rewriter.getI1Type();
    if (type.getElementType() != truth)
      self = createCall(rewriter, loc, "aten.ne.Scalar", type.clone(truth),
                        {{"self", self}, {"other", Attribute(rewriter.getI64IntegerAttr(0))}});
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    SmallVector<Value> first(type.getRank(), zero);
    replaceByAssert(rewriter, call, tensor::ExtractOp::create(rewriter, loc, self, first), /*ofCall=*/false);
    return success();
  }
};

} // namespace

void mlir::aten::populateAssertionPatterns(RewritePatternSet &patterns) {
  patterns.add<DropAssertions, AssertNumber, AssertElement>(patterns.getContext());
}
