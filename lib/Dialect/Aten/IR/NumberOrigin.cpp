//===- NumberOrigin.cpp - what a number of the graph is computed from ---------------------------------------------===//

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::aten;

// A list of work, since a file may hold a chain that is too long for a recursion, as getBackwardSlice is one; and with
// a limit, since each number of such a chain may be asked for.
NumberOrigin mlir::aten::getOrigin(Value number) {
  constexpr size_t mostValues = 256;
  NumberOrigin origin;
  llvm::SetVector<Value> values;
  values.insert(number);
  for (size_t i = 0; i < values.size() && !(origin.elements && origin.sizes); ++i) {
    if (i == mostValues)
      return {/*elements=*/true, /*sizes=*/true};
    Operation *op = values[i].getDefiningOp();
    auto call = dyn_cast_or_null<CallOp>(op);
    StringRef base = call ? call.getBase() : "";
    if (isa_and_nonnull<tensor::ExtractOp>(op) || base == "aten.item" || base == "aten._local_scalar_dense")
      origin.elements = true;
    else if (isa_and_nonnull<tensor::DimOp>(op) || base == "aten.sym_size")
      origin.sizes = true;
    else if (op)
      values.insert(op->operand_begin(), op->operand_end());
  }
  return origin;
}
