//===- SliceLayers.cpp - the experts of a layer cut into slices ---------------------------------------------------===//
//
// A slice has some of the hidden columns of every expert: rows of the first product, and the columns of the second one
// that read them. What the second product gives is then a summand, and so is all that is made of it linearly: rows of
// experts, a token's sum, and that sum over the ranks that own experts. The slices are added last, in f32, so that the
// order of the experts' sums is the same for all slices. Where sums travel as bf16, a slice's is rounded to it before.
//
// A bias of the second product is to be added once: the first slice has it, and the others have zeros.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "SliceLayers.h"

#include "moe-mlir/Support/UserFault.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace moe_mlir;

static int64_t sizeOf(Value value, int64_t dim) { return cast<RankedTensorType>(value.getType()).getDimSize(dim); }

LogicalResult moe_mlir::checkSlices(DividedLayer &layer, const ParallelSpec &spec) {
  for (moe::ExpertOp expert : layer.experts) {
    if (std::string error = whyNotSliced(spec, sizeOf(expert.getWOut(), 2)); !error.empty())
      return asUserFault(expert.emitOpError()) << "cannot be cut into slices: " << error;
    if (expert.getRows() != layer.dispatch.getRows())
      return expert.emitOpError("reads what other experts give, which are summands of slices; use ep instead of etp");
  }
  for (moe::CombineOp combine : layer.combines)
    if (combine.getRows() == layer.dispatch.getRows())
      return combine.emitOpError("sums rows that no expert has computed, of which slices are not summands; use ep "
                                 "instead of etp");
  return success();
}

/// What makes this rank's part of an operand of an expert layer, and the dimension that it divides; -1: none.
static std::pair<Attribute, int64_t> sliceOf(moe::ExpertOp expert, const OpOperand &weight, FlatSymbolRefAttr grid,
                                             int64_t slices) {
  MLIRContext *context = expert.getContext();
  if (weight.get() == expert.getBOut() && &weight == expert.getBOutMutable().begin())
    return {moe::OnceAttr::get(context, grid, slices), -1};
  const bool isOut = &weight == &expert.getWOutMutable();
  const bool halves = !isOut && expert.getGated() && !expert.getInterleaved();
  const int64_t dim = isOut ? 2 : 1;
  return {moe::ShardAttr::get(context, dim, grid, slices, halves), dim};
}

static void sliceWeights(moe::ExpertOp expert, FlatSymbolRefAttr grid, int64_t slices) {
  llvm::SetVector<Operation *> whole;
  for (OpOperand *weight : weightsOf(expert)) {
    auto type = cast<RankedTensorType>(weight->get().getType());
    SmallVector<int64_t> shape(type.getShape());
    auto [step, dim] = sliceOf(expert, *weight, grid, slices);
    if (dim >= 0)
      shape[dim] /= slices;
    whole.insert(weight->get().getDefiningOp());
    takePart(*weight, step, type.clone(shape));
  }
  dropUnread(whole.getArrayRef());
}

void moe_mlir::sliceLayer(DividedLayer &layer, FlatSymbolRefAttr grid, int64_t slices) {
  for (moe::ExpertOp expert : layer.experts)
    sliceWeights(expert, grid, slices);
  for (moe::CombineOp combine : layer.combines) {
    OpBuilder b(combine->getContext());
    b.setInsertionPointAfter(combine);
    auto type = cast<RankedTensorType>(combine.getType()), sumType = type.clone(b.getF32Type());
    SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(combine.getResult().getUses()));
    combine.getResult().setType(type.clone(layer.sums));
    Value sum = shard::AllReduceOp::create(b, combine.getLoc(), sumType, grid.getValue(), ArrayRef<int16_t>{0},
                                           combine.getResult());
    if (type != sumType)
      sum = arith::TruncFOp::create(b, combine.getLoc(), type, sum);
    for (OpOperand *use : uses)
      use->set(sum);
  }
}
