//===- TensorAxesOfShapes.cpp - divided values in ops of the tensor dialect ---------------------------------------===//
//
// A part stays one where it is one piece of the elements in their order: a dimension that is split up keeps it in the
// outermost one that it becomes, and one that joins others has to be the outermost of them.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TensorAxes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace moe_mlir;

static int64_t sizeOf(Value value, int64_t dim) { return cast<RankedTensorType>(value.getType()).getDimSize(dim); }

void TensorAxes::visitExpand(tensor::ExpandShapeOp op, int64_t dim) {
  const ReassociationIndices group = op.getReassociationIndices()[dim]; // of a list that does not outlive a loop's head
  for (int64_t to : group)
    if (sizeOf(op.getResult(), to) != 1)
      return set(op, op.getResult(), to, op.getSrc());
  refuse(op, "gives the dimension that is divided the size 1");
}

void TensorAxes::visitCollapse(tensor::CollapseShapeOp op, int64_t dim) {
  for (auto [to, group] : llvm::enumerate(op.getReassociationIndices()))
    for (int64_t from : group) {
      if (from == dim)
        return set(op, op.getResult(), to, op.getSrc());
      if (llvm::is_contained(group, dim) && sizeOf(op.getSrc(), from) != 1)
        return refuse(op, "joins the dimension that is divided with one in front of it");
    }
}

/// The number of elements of these dimensions; 0 if it is not known.
static int64_t countOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(count, size, count))
      return 0;
  return count;
}

/// The elements of the divided dimension, and of those behind it, are those of the last dimensions of the result.
void TensorAxes::visitReshape(tensor::ReshapeOp op, int64_t dim) {
  auto to = dyn_cast<RankedTensorType>(op.getType());
  const int64_t block = countOf(cast<RankedTensorType>(op.getSource().getType()).getShape().drop_front(dim));
  if (to && block > 0 && op.getShape().getDefiningOp<tensor::FromElementsOp>())
    for (int64_t i = to.getRank() - 1; i >= 0; --i)
      if (to.getDimSize(i) != 1 && countOf(to.getShape().drop_front(i)) == block)
        return set(op, op.getResult(), i, op.getSource());
  refuse(op, "gives the dimension that is divided sizes that are not known, or joins it with one in front of it");
}

void TensorAxes::visitSlice(tensor::ExtractSliceOp op, int64_t dim) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  if (dropped.test(dim) || !isConstantIntValue(op.getMixedOffsets()[dim], 0) ||
      !isConstantIntValue(op.getMixedStrides()[dim], 1) ||
      getConstantIntValue(op.getMixedSizes()[dim]) != sizeOf(op.getSource(), dim))
    return refuse(op, "takes a part of the dimension that is divided");
  int64_t before = 0;
  for (int64_t i = 0; i < dim; ++i)
    before += dropped.test(i);
  set(op, op.getResult(), dim - before, op.getSource());
}

bool TensorAxes::visitTensor(Operation *op) {
  if (auto size = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> index = size.getConstantIndex();
    if (!index || *index == dimOf(size.getSource()))
      refuse(op, "computes with the size of the dimension that is divided");
    return true;
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    const int64_t joined = concat.getDim();
    if (llvm::any_of(concat.getInputs(), [&](Value input) { return dimOf(input) == joined; }))
      refuse(op, "joins tensors along the dimension that is divided");
    else
      visitElements(op);
    return true;
  }
  if (op->getNumOperands() == 0 || !dimOf(op->getOperand(0)))
    return false;
  const int64_t dim = *dimOf(op->getOperand(0));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    visitExpand(expand, dim);
  else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    visitCollapse(collapse, dim);
  else if (auto reshape = dyn_cast<tensor::ReshapeOp>(op))
    visitReshape(reshape, dim);
  else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    visitSlice(slice, dim);
  else if (auto cast = dyn_cast<tensor::CastOp>(op); cast && isa<RankedTensorType>(cast.getType()))
    set(op, cast.getResult(), dim, cast.getSource());
  else
    return false;
  return true;
}
