//===- SharedTensor.cpp - iterator kinds of operands, read from the dense lowering --------------------------------===//

#include "moe-mlir/Analysis/SharedTensor.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Moe/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

using Iterators = SmallVector<utils::IteratorType>;

/// A module with one function, which does nothing but `op`. What the op takes, operands first, are the arguments.
static OwningOpRef<ModuleOp> isolate(Operation *op) {
  llvm::SetVector<Value> taken;
  for (Region &region : op->getRegions())
    getUsedValuesDefinedAbove(region, taken);
  SmallVector<Type> types(op->getOperandTypes());
  for (Value value : taken)
    types.push_back(value.getType());

  OpBuilder b(op->getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  b.setInsertionPointToStart(module->getBody());
  auto function = func::FuncOp::create(b, op->getLoc(), "isolated", b.getFunctionType(types, op->getResultTypes()));
  Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  IRMapping mapping;
  for (auto [value, argument] : llvm::zip(taken, body->getArguments().drop_front(op->getNumOperands())))
    mapping.map(value, argument);
  Operation *clone = b.clone(*op, mapping);
  // By position: one value may be several operands, of which only one is asked for.
  clone->setOperands(body->getArguments().take_front(op->getNumOperands()));
  func::ReturnOp::create(b, op->getLoc(), clone->getResults());
  return module;
}

/// A layout becomes two arguments.
static unsigned numberAfterLowering(OpOperand &operand) {
  unsigned number = 0;
  for (Value before : operand.getOwner()->getOperands().take_front(operand.getOperandNumber()))
    number += isa<moe::LayoutType>(before.getType()) ? 2 : 1;
  return number;
}

/// Adds what the users of `tensor` do along its dimensions.
static LogicalResult addUsers(Value tensor, Iterators &iterators) {
  for (OpOperand &use : tensor.getUses()) {
    if (isa<tensor::DimOp>(use.getOwner()))
      continue;
    if (auto cast = dyn_cast<tensor::CastOp>(use.getOwner())) {
      if (failed(addUsers(cast.getResult(), iterators)))
        return failure();
      continue;
    }
    auto generic = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!generic)
      return failure();
    AffineMap map = generic.getMatchingIndexingMap(&use);
    for (auto [dim, index] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(index);
      if (!loop || generic.getIteratorTypesArray()[loop.getPosition()] != utils::IteratorType::parallel)
        iterators[dim] = utils::IteratorType::reduction;
    }
  }
  return success();
}

FailureOr<Iterators> moe_mlir::iteratorsOf(OpOperand &operand) {
  Operation *op = operand.getOwner();
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type || !isa<moe::DispatchOp, moe::ExpertOp, moe::CombineOp>(op))
    return op->emitOpError("has no dense lowering that says how it reads operand ") << operand.getOperandNumber();
  OwningOpRef<ModuleOp> module = isolate(op);
  if (failed(moe::lowerToDense(*module)))
    return failure();
  auto function = *module->getOps<func::FuncOp>().begin();
  Iterators iterators(type.getRank(), utils::IteratorType::parallel);
  if (failed(addUsers(function.getArgument(numberAfterLowering(operand)), iterators)))
    return op->emitOpError("is not lowered to loops over operand ") << operand.getOperandNumber();
  return iterators;
}

StringRef moe_mlir::nameOfDimension(int64_t dim) { return dim == 0 ? "rows" : "columns"; }

LogicalResult moe_mlir::checkCut(OpOperand &operand, int64_t dim) {
  FailureOr<Iterators> iterators = iteratorsOf(operand);
  if (failed(iterators))
    return failure();
  if ((*iterators)[dim] == utils::IteratorType::parallel)
    return success();
  InFlightDiagnostic error = operand.getOwner()->emitOpError("cannot take operand ")
                             << operand.getOperandNumber() << " in pieces of dimension " << dim << " ("
                             << nameOfDimension(dim) << "): each element of its result needs all of them; cut {";
  llvm::interleaveComma(
      llvm::make_filter_range(llvm::seq<int64_t>(0, iterators->size()),
                              [&](int64_t other) { return (*iterators)[other] == utils::IteratorType::parallel; }),
      error, [&](int64_t other) { error << nameOfDimension(other); });
  return error << "}";
}
