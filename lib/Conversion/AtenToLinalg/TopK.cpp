//===- TopK.cpp - topk of long rows -------------------------------------------------------------------------------===//

#include "Lowering.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

using namespace mlir;
using namespace mlir::aten;

/// Rows up to this length are ranked by comparing each element with each (lowerRanked).
static constexpr int64_t kShort = 256;

/// Whether someone could tell in which order these indices stand: not where they only say which elements of a tensor
/// get one number.
static bool orderMatters(Value indices) {
  return llvm::any_of(indices.getUses(), [&](OpOperand &use) {
    auto call = dyn_cast<CallOp>(use.getOwner());
    StringRef base = call ? call.getBase() : "";
    if (base == "aten.to" || base == "aten._to_copy" || base == "aten.clone" || base == "aten.alias")
      return call.getNumResults() != 1 || orderMatters(call.getResult(0));
    return base != "aten.scatter" || call.getValue("index") != indices || call.getValue("self") == indices ||
           call.getArgument("src");
  });
}

Values mlir::aten::lowerLongTopK(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self || l.call.getBase() != "aten.topk" || l.call.getNumResults() != 2)
    return std::nullopt;
  auto from = cast<RankedTensorType>(self.getType());
  int64_t rank = from.getRank();
  std::optional<int64_t> dim = l.call.getArgument("dim") ? l.call.getDim("dim", rank) : rank - 1;
  Type element = from.getElementType();
  bool hasKeys = isa<Float32Type, BFloat16Type, Float16Type>(element) || element.isInteger(64) || element.isInteger(32);
  if (rank == 0 || dim != rank - 1 || !hasKeys)
    return std::nullopt;
  RankedTensorType type = l.getType();
  Value count = type.isDynamicDim(rank - 1) ? l.getScalar("k") : Value();
  if (type.isDynamicDim(rank - 1) != static_cast<bool>(count) ||
      (!count && !from.isDynamicDim(rank - 1) && from.getDimSize(rank - 1) <= kShort))
    return std::nullopt;
  if (count)
    count = arith::IndexCastOp::create(l.b, l.loc, l.b.getIndexType(), count);
  bool ordered = l.call.getBool("sorted").value_or(true) &&
                 (!l.call.getResult(0).use_empty() || orderMatters(l.call.getResult(1)));
  auto op = nn::TopKOp::create(l.b, l.loc, type, l.getType(1), self, count,
                               /*ascending=*/!l.call.getBool("largest").value_or(true), /*unordered=*/!ordered);
  return {{op.getValues(), op.getIndices()}};
}
