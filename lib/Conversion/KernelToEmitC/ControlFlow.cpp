//===- ControlFlow.cpp - loops and branches as C++ statements -----------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kernel;

Value Emitter::variable(Location loc, Type type, Value start) {
  Value variable = emitc::VariableOp::create(b, loc, emitc::LValueType::get(type), emitc::OpaqueAttr::get(b.getContext(), ""));
  if (start)
    emitc::AssignOp::create(b, loc, variable, start);
  return variable;
}

Value Emitter::read(Location loc, Value variable) {
  Type type = cast<emitc::LValueType>(variable.getType()).getValueType();
  return emitc::LoadOp::create(b, loc, type, variable);
}

LogicalResult Emitter::emitControlFlow(Operation *op) {
  Location loc = op->getLoc();
  // What a region yields goes into variables, which are read after it.
  SmallVector<Value> results;
  auto assign = [&](Block &block) {
    SmallVector<Value> next = llvm::map_to_vector(block.getTerminator()->getOperands(), [&](Value v) { return get(v); });
    // All values are read before any variable changes: `next` are values, not variables.
    for (auto [variable, value] : llvm::zip(results, next))
      emitc::AssignOp::create(b, loc, variable, value);
  };
  auto finish = [&] {
    for (auto [result, variable] : llvm::zip(op->getResults(), results))
      values[result] = read(loc, variable);
    return success();
  };

  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (Value start : loop.getInits())
      results.push_back(variable(loc, convert(start.getType()), get(start)));
    auto emitted = emitc::ForOp::create(b, loc, get(loop.getLowerBound()), get(loop.getUpperBound()), get(loop.getStep()));
    {
      OpBuilder::InsertionGuard guard(b);
      Block *body = emitted.getBody();
      b.setInsertionPointToStart(body);
      values[loop.getInductionVar()] = body->getArgument(0);
      for (auto [carried, variable] : llvm::zip(loop.getRegionIterArgs(), results))
        values[carried] = read(loc, variable);
      if (failed(emitBlock(*loop.getBody())))
        return failure();
      assign(*loop.getBody());
    }
    return finish();
  }

  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Type type : branch.getResultTypes())
      results.push_back(variable(loc, convert(type), Value()));
    bool hasElse = branch.elseBlock();
    auto emitted = emitc::IfOp::create(b, loc, get(branch.getCondition()), /*withElseRegion=*/hasElse);
    auto fill = [&](Block &from, Region &to) -> LogicalResult {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&to.front());
      if (failed(emitBlock(from)))
        return failure();
      assign(from);
      emitc::YieldOp::create(b, loc);
      return success();
    };
    if (failed(fill(*branch.thenBlock(), emitted.getThenRegion())) ||
        (hasElse && failed(fill(*branch.elseBlock(), emitted.getElseRegion()))))
      return failure();
    return finish();
  }
  return failure();
}
