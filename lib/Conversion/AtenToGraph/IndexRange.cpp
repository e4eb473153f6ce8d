//===- IndexRange.cpp - between which numbers the elements of an index tensor lie -------------------------------===//

#include "IndexRange.h"
#include "Patterns.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::aten;

/// What has all elements of its operand, perhaps several times.
static Value getWholeSource(Value value) {
  static const llvm::StringSet<> calls{"aten.view",
                                       "aten.reshape",
                                       "aten._unsafe_view",
                                       "aten.flatten",
                                       "aten.unsqueeze",
                                       "aten.squeeze",
                                       "aten.expand",
                                       "aten.broadcast_to",
                                       "aten.transpose",
                                       "aten.permute",
                                       "aten.t",
                                       "aten.contiguous",
                                       "aten.clone",
                                       "aten.alias",
                                       "aten.detach",
                                       "aten.lift_fresh_copy"};
  Operation *op = value.getDefiningOp();
  if (auto call = dyn_cast_or_null<CallOp>(op))
    return calls.contains(call.getBase()) ? call.getValue("self") : Value();
  if (isa_and_present<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp>(op))
    return op->getOperand(0);
  return {};
}

/// What has some elements of its operand and no others.
static Value getPartSource(CallOp call) {
  static const llvm::StringSet<> calls{"aten.slice",  "aten.select", "aten.index", "aten.index_select",
                                       "aten.gather", "aten.split",  "aten.chunk", "aten.unbind",
                                       "aten.narrow"};
  return calls.contains(call.getBase()) ? call.getValue("self") : Value();
}

std::optional<IndexRange> mlir::aten::getArgumentRange(BlockArgument argument) {
  auto function = dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp());
  auto range = function ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "moe.range") : ArrayAttr();
  if (!range || range.size() != 2 || !llvm::all_of(range, llvm::IsaPred<IntegerAttr>))
    return std::nullopt;
  return IndexRange{cast<IntegerAttr>(range[0]).getInt(), cast<IntegerAttr>(range[1]).getInt()};
}

BlockArgument mlir::aten::getIndexArgument(Value tensor) {
  while (Value source = getWholeSource(tensor))
    tensor = source;
  auto argument = dyn_cast<BlockArgument>(tensor);
  bool ofFunction = argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
  return ofFunction && getElementTypeOf(argument).isSignlessInteger() ? argument : BlockArgument();
}

/// Positions along a dimension: [0, size).
static std::optional<IndexRange> getPositions(Value self, std::optional<int64_t> dim) {
  RankedTensorType type = getTensorType(self);
  if (!type || type.getRank() == 0 || !dim || type.isDynamicDim(*dim))
    return std::nullopt;
  return IndexRange{0, type.getDimSize(*dim) - 1};
}

static std::optional<IndexRange> getConstantRange(Value value) {
  DenseIntElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || constant.empty() || constant.getElementType().isInteger(1))
    return std::nullopt;
  IndexRange range{INT64_MAX, INT64_MIN};
  for (const APInt &element : constant) {
    range.lo = std::min(range.lo, element.getSExtValue());
    range.hi = std::max(range.hi, element.getSExtValue());
  }
  return range;
}

static std::optional<IndexRange> getCallRange(CallOp call, unsigned result) {
  StringRef base = call.getBase();
  Value self = call.getValue("self");
  RankedTensorType type = getTensorType(self);
  if (Value source = getPartSource(call))
    return getIndexRange(source);
  if ((base == "aten.topk" || base == "aten.sort" || base == "aten.max") && result == 1 && type)
    return getPositions(self, call.getArgument("dim") ? call.getDim("dim", type.getRank()) : type.getRank() - 1);
  if (base == "aten.argmax" && type && call.getArgument("dim"))
    return getPositions(self, call.getDim("dim", type.getRank()));
  if (base == "aten.arange") {
    int64_t begin = call.getArgument("start") ? call.getInt("start").value_or(-1) : 0;
    std::optional<int64_t> end = call.getInt("end");
    if (begin < 0 || !end || (call.getArgument("step") && call.getInt("step") != 1))
      return std::nullopt;
    return IndexRange{begin, std::max(begin, *end - 1)};
  }
  if (base == "aten.remainder") {
    std::optional<int64_t> divisor = call.getInt("other");
    return divisor && *divisor > 0 ? std::optional(IndexRange{0, *divisor - 1}) : std::nullopt;
  }
  if (base == "aten.clamp") {
    std::optional<int64_t> lo = call.getInt("min"), hi = call.getInt("max");
    return lo && hi && *lo <= *hi ? std::optional(IndexRange{*lo, *hi}) : std::nullopt;
  }
  if (base == "aten.add" && !call.getArgument("alpha") && call.getInt("other")) {
    std::optional<IndexRange> range = getIndexRange(self);
    int64_t number = *call.getInt("other");
    if (!range || llvm::AddOverflow(range->lo, number, range->lo) || llvm::AddOverflow(range->hi, number, range->hi))
      return std::nullopt;
    return range;
  }
  if (base == "aten.to" && type && type.getElementType().isInteger(1))
    return IndexRange{0, 1};
  if (base == "aten.to" && getElementTypeOf(call.getResult(0)).getIntOrFloatBitWidth() >= 32)
    return getIndexRange(self);
  return std::nullopt;
}

std::optional<IndexRange> mlir::aten::getIndexRange(Value tensor) {
  while (Value source = getWholeSource(tensor))
    tensor = source;
  RankedTensorType type = getTensorType(tensor);
  if (!type || !type.getElementType().isSignlessInteger())
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return getArgumentRange(argument);
  if (auto call = tensor.getDefiningOp<CallOp>())
    return getCallRange(call, cast<OpResult>(tensor).getResultNumber());
  if (auto gate = tensor.getDefiningOp<moe::GateOp>())
    if (!gate.getIds() && !gate.getCapacity() && tensor == gate.getExperts())
      if (RankedTensorType logits = getTensorType(gate.getLogits()); !logits.isDynamicDim(1))
        return IndexRange{0, logits.getDimSize(1) - 1};
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>()) {
    APInt constant;
    if (matchPattern(fill.getInputs()[0], m_ConstantInt(&constant)))
      return IndexRange{constant.getSExtValue(), constant.getSExtValue()};
    auto extract = fill.getInputs()[0].getDefiningOp<tensor::ExtractOp>();
    return extract ? getIndexRange(extract.getTensor()) : std::nullopt;
  }
  return getConstantRange(tensor);
}
