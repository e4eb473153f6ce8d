//===- Assertions.cpp - what a model demands of values ------------------------------------------------------------===//
//
// `torch._check` of a number that the graph computes, and `torch._assert_async`, hold when the program runs, as in
// PyTorch. What is about sizes alone is among the graph's guards and ranges, which the importer asks (Guards.cpp).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Patterns.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::aten;

namespace {

/// What a number is computed from.
struct Origin {
  bool values = false; ///< elements of tensors
  bool sizes = false;  ///< sizes of tensors
};

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

static Origin getOrigin(Value number) {
  Origin origin;
  SmallVector<Value> open{number};
  llvm::SmallDenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    auto call = dyn_cast_or_null<CallOp>(op);
    StringRef base = call ? call.getBase() : "";
    if (!op || isa<tensor::ExtractOp>(op) || base == "aten.item" || base == "aten._local_scalar_dense")
      origin.values = true;
    else if (isa<tensor::DimOp>(op) || base == "aten.sym_size")
      origin.sizes = true;
    else
      llvm::append_range(open, op->getOperands());
  }
  return origin;
}

/// Puts the check in the place of the call.
static void replaceByAssert(PatternRewriter &rewriter, CallOp call, Value holds, bool ofCall) {
  StringRef given = call.getString("assert_msg").value_or("");
  std::string message = (given.empty() ? "an assertion of the model fails" : given).str() + describePlace(call);
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
    if (!call.use_empty() || (holds && !holds.getType().isInteger(1)))
      return failure();
    Origin origin = holds ? getOrigin(holds) : Origin();
    if (origin.values)
      replaceByAssert(rewriter, call, holds, origin.sizes);
    else
      rewriter.eraseOp(call);
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
