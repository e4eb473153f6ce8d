//===- SharedTensors.cpp - graph-shared-tensors: how the tensors of a layer can be cut ---------------------------===//

#include "moe-mlir/Analysis/SharedTensor.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace moe_mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHSHAREDTENSORS
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

/// "{rows}", with the dimensions along which the operand's owner works piece by piece.
static FailureOr<std::string> cutsOf(OpOperand &operand) {
  FailureOr<SmallVector<utils::IteratorType>> iterators = iteratorsOf(operand);
  if (failed(iterators))
    return failure();
  SmallVector<StringRef> names;
  for (auto [dim, kind] : llvm::enumerate(*iterators))
    if (kind == utils::IteratorType::parallel)
      names.push_back(nameOfDimension(dim));
  return "{" + llvm::join(names, ", ") + "}";
}

namespace {
struct GraphSharedTensors : kernel::impl::GraphSharedTensorsBase<GraphSharedTensors> {
  using GraphSharedTensorsBase::GraphSharedTensorsBase;

  LogicalResult initializeOptions(StringRef options, function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (failed(GraphSharedTensorsBase::initializeOptions(options, errorHandler)))
      return failure();
    for (StringRef cut : {StringRef(rows), StringRef(results)})
      if (!cut.empty() && cut != nameOfDimension(0) && cut != nameOfDimension(1))
        return errorHandler("'" + cut + "' is no dimension; rows or columns");
    return success();
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    WalkResult result = getOperation().walk(
        [&](moe::ExpertOp expert) { return failed(visit(expert)) ? WalkResult::interrupt() : WalkResult::advance(); });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult visit(moe::ExpertOp expert) {
    OpOperand &given = expert.getRowsMutable();
    FailureOr<std::string> ofRows = cutsOf(given);
    if (failed(ofRows) || failed(check(given, rows)))
      return failure();
    std::string text = "cut rows along " + *ofRows;
    for (OpOperand &use : expert.getResult().getUses()) {
      if (!isa<moe::CombineOp>(use.getOwner()))
        continue;
      FailureOr<std::string> ofResults = cutsOf(use);
      if (failed(ofResults) || failed(check(use, results)))
        return failure();
      text += "; cut results along " + *ofResults;
    }
    auto options = remark::RemarkOpts::name("cuts").category("graph-shared-tensors");
    remark::analysis(expert.getLoc(), options.function(getOperation().getName())) << text;
    return success();
  }

  static LogicalResult check(OpOperand &operand, StringRef cut) {
    return cut.empty() ? success() : checkCut(operand, cut == nameOfDimension(0) ? 0 : 1);
  }
};
} // namespace
