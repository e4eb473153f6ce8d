//===- SplitTokens.cpp - whether a function's inputs can be divided among ranks -----------------------------------===//
//
// The ops of the function are visited in order. Each says of its results whether they are ranges, given that some of
// its operands are; what it does to dimension 0 is read from its indexing maps or from the letters of its shapes. Ops
// that move tensors without computing are in SplitTensors.cpp.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "SplitTokens.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace moe_mlir;

static StringAttr dimName(func::FuncOp func, unsigned argument, unsigned dim) {
  auto names = func.getArgAttrOfType<ArrayAttr>(argument, "moe.dims");
  auto name = names && dim < names.size() ? dyn_cast<StringAttr>(names[dim]) : StringAttr();
  return name && !name.empty() ? name : StringAttr();
}

StringAttr moe_mlir::splitDimension(func::FuncOp func) {
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
    if (!func.getArgAttr(i, "moe.state"))
      return dimName(func, i, 0);
  return {};
}

LogicalResult SplitTokens::refuse(Operation *op, const Twine &why) {
  return op->emitOpError() << why << ", so '" << dimension.getValue()
                           << "' cannot be divided among ranks; " << otherwise;
}

LogicalResult SplitTokens::set(Operation *op, Kind kind) {
  for (Value result : op->getResults())
    kinds[result] = kind;
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult SplitTokens::visitArguments() {
  for (BlockArgument argument : func.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim) {
      if (dimName(func, argument.getArgNumber(), dim) != dimension)
        continue;
      if (dim > 0)
        return refuse(func, "has '" + dimension.getValue() + "' as dimension " + Twine(dim) + " of argument " +
                                Twine(argument.getArgNumber()));
      kinds[argument] = Kind::Range;
    }
  }
  return success();
}

LogicalResult SplitTokens::check() {
  if (!func.getBody().hasOneBlock())
    return refuse(func, "has branches");
  if (failed(visitArguments()))
    return failure();
  for (Operation &op : func.front()) {
    sizes.visit(&op);
    llvm::SetVector<Value> read(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), read);
    if (llvm::all_of(read, [&](Value value) { return kindOf(value) == Kind::Whole; }) && !isa<func::ReturnOp>(op))
      continue;
    if (failed(visit(&op)))
      return failure();
  }
  return success();
}

void SplitTokens::mark(ArrayRef<Attribute> grids) {
  Attribute split = grids.size() == 1 ? grids.front() : ArrayAttr::get(func.getContext(), grids);
  for (BlockArgument argument : func.getArguments())
    if (isRange(argument) && !func.getArgAttr(argument.getArgNumber(), "moe.state"))
      func.setArgAttr(argument.getArgNumber(), moe::kSplitAttr, split);
  for (OpOperand &result : func.front().getTerminator()->getOpOperands())
    if (isRange(result.get()) && !func.getResultAttr(result.getOperandNumber(), "moe.state_of"))
      func.setResultAttr(result.getOperandNumber(), moe::kSplitAttr, split);
}

LogicalResult SplitTokens::visitReturn(func::ReturnOp op) {
  kernel::SizeExpr whole;
  for (BlockArgument argument : func.getArguments())
    if (isRange(argument))
      whole = sizes.size(argument, 0);
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    auto state = func.getResultAttrOfType<IntegerAttr>(i, "moe.state_of");
    bool isExpected = state ? isRange(func.getArgument(state.getInt())) : isRange(value);
    if (kindOf(value) == Kind::Whole && !isExpected)
      continue;
    if (!isRange(value) || !isExpected || sizes.reduce(sizes.size(value, 0) - whole) != kernel::SizeExpr(0))
      return refuse(op, "gives result " + Twine(i) + ", which depends on '" + dimension.getValue() +
                            "' but has another dimension 0");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult SplitTokens::visit(Operation *op) {
  if (auto exit = dyn_cast<func::ReturnOp>(op))
    return visitReturn(exit);
  if (isa<cf::AssertOp>(op)) // it holds for a range, or says that it does not, unless it is about all elements
    return op->hasAttr(moe::kOfCallAttr) ? refuse(op, "checks the number of elements of dimension 0") : success();
  if (std::optional<LogicalResult> result = visitTensor(op))
    return *result;
  if (auto loops = dyn_cast<linalg::LinalgOp>(op))
    return visitLoops(loops);
  if (isa<moe::GateOp, moe::DispatchOp, moe::ExpertOp, moe::CombineOp>(op))
    return visitLayer(op);
  if (!kernel::shapesOf(op).empty())
    return visitSymbols(op);
  if (op->hasTrait<OpTrait::Elementwise>() || isa<nn::SiluOp>(op))
    return visitElements(op);
  // Arithmetic on sizes.
  bool isScalar = llvm::all_of(llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()),
                               [](Type type) { return type.isIntOrIndexOrFloat(); });
  if (isScalar && op->getNumRegions() == 0 && isMemoryEffectFree(op))
    return set(op, Kind::Count);
  return refuse(op, "is not known to compute each element of dimension 0 by itself");
}

/// Whether nothing but an assertion depends on it, which holds if it does.
static bool isAsserted(Value truth) {
  return llvm::all_of(truth.getUsers(), [](Operation *user) {
    return isa<cf::AssertOp>(user) || (isa<tensor::ExtractOp, arith::AndIOp>(user) && isAsserted(user->getResult(0)));
  });
}

/// "All of these hold", as checks of computed indices say it: each rank asserts it of its own, and all of them of all.
static bool isCheck(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  auto both = dyn_cast<arith::AndIOp>(body.front());
  if (op->getNumResults() != 1 || cast<RankedTensorType>(op->getResult(0).getType()).getRank() != 0 || !both ||
      !both.getType().isInteger(1) || both->getNextNode() != body.getTerminator())
    return false;
  auto isArgument = [&](Value value) { return llvm::is_contained(body.getArguments(), value); };
  return both.getLhs() != both.getRhs() && isArgument(both.getLhs()) && isArgument(both.getRhs()) &&
         body.getTerminator()->getOperand(0) == both && isAsserted(op->getResult(0));
}

/// One loop walks dimension 0 of every range, and of nothing else.
LogicalResult SplitTokens::visitLoops(linalg::LinalgOp op) {
  if (isCheck(op))
    return set(op, Kind::Whole);
  std::optional<unsigned> loop;
  for (OpOperand &operand : op->getOpOperands()) {
    if (kindOf(operand.get()) == Kind::Count)
      return refuse(op, "computes with the number of elements");
    if (!isRange(operand.get()))
      continue;
    auto dim = dyn_cast<AffineDimExpr>(op.getMatchingIndexingMap(&operand).getResult(0));
    if (!dim || (loop && *loop != dim.getPosition()))
      return refuse(op, "reads elements of different places of dimension 0 together");
    loop = dim.getPosition();
  }
  if (!loop)
    return refuse(op, "reads elements of any place of dimension 0");
  if (op.getIteratorTypesArray()[*loop] != utils::IteratorType::parallel)
    return refuse(op, "reduces dimension 0");
  for (OpOperand &operand : op->getOpOperands())
    for (auto [dim, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (expr.isFunctionOfDim(*loop) && (dim > 0 || !isRange(operand.get())))
        return refuse(op, dim > 0 ? "moves dimension 0" : "has another operand whose dimension 0 is not divided");
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!isRange(init.get()))
      return refuse(op, "reduces dimension 0");
  if (failed(visitBody(op, *loop)))
    return failure();
  return set(op, Kind::Range);
}

/// Bodies may read other tensors by index: of a range only the element that the loop is at.
LogicalResult SplitTokens::visitBody(linalg::LinalgOp op, unsigned loop) {
  auto isLoop = [&](Value value) {
    auto index = value.getDefiningOp<linalg::IndexOp>();
    return index && index.getDim() == loop;
  };
  LogicalResult result = success();
  op->walk([&](Operation *nested) {
    if (failed(result) || nested == op.getOperation())
      return;
    for (OpOperand &operand : nested->getOpOperands()) {
      auto extract = dyn_cast<tensor::ExtractOp>(nested);
      const unsigned number = operand.getOperandNumber();
      bool ofRange = extract && isRange(extract.getTensor());
      if (isLoop(operand.get()) && !(ofRange && number == 1))
        result = refuse(op, "computes with the number of an element");
      else if (kindOf(operand.get()) == Kind::Count)
        result = refuse(op, "computes with the number of elements");
      else if (isRange(operand.get()) && !(ofRange && number == 0 && isLoop(extract.getIndices().front())))
        result = refuse(op, "reads elements of any place of dimension 0");
      if (failed(result))
        return;
    }
  });
  return result;
}

/// Tensors, element by element.
LogicalResult SplitTokens::visitElements(Operation *op) {
  bool hasRange = llvm::any_of(op->getOperands(), [&](Value value) { return isRange(value); });
  for (Value value : op->getOperands()) {
    if (hasRange && kindOf(value) == Kind::Count)
      return refuse(op, "computes with the number of elements");
    if (hasRange && isa<TensorType>(value.getType()) && !isRange(value))
      return refuse(op, "has another operand whose dimension 0 is not divided");
  }
  return set(op, hasRange ? Kind::Range : Kind::Count);
}

/// The letter that dimension 0 has, and whether it may be 1 instead.
static std::pair<StringRef, bool> firstLetter(const NamedShape &shape) {
  ArrayRef<StringRef> dims = shape.dims;
  const size_t rank = cast<ShapedType>(shape.value.getType()).getRank();
  if (dims.front() == "..." && rank + 1 == dims.size())
    dims = dims.drop_front();
  auto [one, bound] = dims.empty() ? std::pair<StringRef, StringRef>() : dims.front().split('|');
  return {bound.empty() ? one : bound, !bound.empty()};
}

LogicalResult SplitTokens::visitSymbols(Operation *op) {
  SmallVector<NamedShape> shapes = kernel::shapesOf(op);
  StringRef letter;
  for (const NamedShape &shape : shapes)
    if (isRange(shape.value)) {
      StringRef own = firstLetter(shape).first;
      if (!letter.empty() && own != letter)
        return refuse(op, "reads elements of different places of dimension 0 together");
      letter = own;
    }
  if (letter.empty())
    return refuse(op, "reads elements of any place of dimension 0");
  for (const NamedShape &shape : shapes) {
    auto [own, mayBeOne] = firstLetter(shape);
    bool isResult = shape.value.getDefiningOp() == op;
    for (StringRef other : ArrayRef(shape.dims).drop_front())
      if (other == letter && own != letter)
        return refuse(op, "moves dimension 0");
    if (isResult && own != letter)
      return refuse(op, "reduces dimension 0");
    bool isOne = mayBeOne && cast<ShapedType>(shape.value.getType()).getDimSize(0) == 1;
    if (!isResult && own == letter && !isRange(shape.value) && !isOne)
      return refuse(op, "has another operand whose dimension 0 is not divided");
  }
  return set(op, Kind::Range);
}

/// Rows have a dimension 0 of their own; they belong to the tokens of the layout.
LogicalResult SplitTokens::visitLayer(Operation *op) {
  if (auto gate = dyn_cast<moe::GateOp>(op)) {
    if (gate.getCapacity() && !gate.getCapacity()->getFactor().isZero())
      return refuse(op, "has a capacity, which counts the tokens of all ranks");
    return visitSymbols(op);
  }
  auto expert = dyn_cast<moe::ExpertOp>(op);
  llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  for (Value value : read) {
    bool isOfTokens = !expert || value == expert.getRows() || value == expert.getLayout();
    if (isOfTokens && !isRange(value))
      return refuse(op, "has another operand whose dimension 0 is not divided");
    if (!isOfTokens && kindOf(value) != Kind::Whole)
      return refuse(op, "reads elements of any place of dimension 0");
  }
  return set(op, Kind::Range);
}
