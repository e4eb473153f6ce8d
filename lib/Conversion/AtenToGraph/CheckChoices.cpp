//===- CheckChoices.cpp - how many elements a choice among them needs ---------------------------------------------===//
//
// topk takes at most as many elements as a row has, and a maximum needs one. Where the size is not known, an assertion
// stands before the op.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace mlir::aten;

/// Dimension `dim` of `self` has at least `count` elements, an i64.
static void require(OpBuilder &b, CallOp call, Value self, int64_t dim, Value count, const Twine &message) {
  Location loc = call.getLoc();
  Value size = createSize(b, loc, self, dim);
  Value holds = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, size, count);
  cf::AssertOp::create(b, loc, holds, b.getStringAttr(message + describePlace(call)));
}

void mlir::aten::checkChoice(OpBuilder &b, CallOp call) {
  StringRef base = call.getBase();
  Value self = call.getValue("self");
  RankedTensorType type = self ? getTensorType(self) : RankedTensorType();
  if (!type || type.getRank() == 0 || call.getArgument("other"))
    return;
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, call.getLoc(), b.getI64Type(), value);
  };
  const int64_t rank = type.getRank();
  if (base == "aten.topk") {
    std::optional<int64_t> dim = call.getArgument("dim") ? call.getDim("dim", rank) : rank - 1;
    std::optional<int64_t> count = call.getInt("k");
    Value computed = call.getValue("k");
    if (dim && type.isDynamicDim(*dim) && (count || (computed && computed.getType().isInteger(64))))
      require(b, call, self, *dim, count ? number(*count) : computed,
              "there are fewer elements in dimension " + Twine(*dim) + " than are to be chosen");
    return;
  }
  if (!llvm::is_contained({"aten.max", "aten.min", "aten.amax", "aten.amin", "aten.argmax", "aten.argmin"}, base))
    return;
  SmallVector<int64_t> dims = call.getInts("dim").value_or(SmallVector<int64_t>());
  if (std::optional<int64_t> dim = call.getInt("dim"))
    dims = {*dim};
  if (dims.empty())
    dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (int64_t dim : dims) {
    dim += dim < 0 ? rank : 0;
    if (dim >= 0 && dim < rank && type.isDynamicDim(dim))
      require(b, call, self, dim, number(1), "dimension " + Twine(dim) + " has no element to choose");
  }
}
