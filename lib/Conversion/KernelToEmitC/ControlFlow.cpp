//===- ControlFlow.cpp - loops and branches as C++ statements -----------------------------------------------------===//

#include "Emitter.h"
#include "LoopClasses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

Value Emitter::variable(Location loc, Type type, Value start) {
  Value variable =
      emitc::VariableOp::create(b, loc, emitc::LValueType::get(type), emitc::OpaqueAttr::get(b.getContext(), ""));
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
    SmallVector<Value> next =
        llvm::map_to_vector(block.getTerminator()->getOperands(), [&](Value v) { return get(v); });
    // All values are read before any variable changes: `next` are values, not variables.
    for (auto [variable, value] : llvm::zip(results, next))
      emitc::AssignOp::create(b, loc, variable, value);
  };
  auto finish = [&] {
    for (auto [result, variable] : llvm::zip(op->getResults(), results))
      values[result] = read(loc, variable);
    return success();
  };

  // Blocks take turns at the tiles.
  if (auto forall = dyn_cast<scf::ForallOp>(op); forall && forall.isNormalized()) {
    Type i64 = b.getI64Type();
    SmallVector<Value> counts;
    for (OpFoldResult count : forall.getMixedUpperBound()) {
      auto value = dyn_cast<Value>(count);
      counts.push_back(value ? get(value) : integer(loc, i64, *getConstantIntValue(count)));
    }
    Value total = integer(loc, i64, 1);
    for (Value count : counts)
      total = emitc::MulOp::create(b, loc, i64, total, count);
    auto number = [&](StringRef callee) -> Value {
      return emitc::CastOp::create(b, loc, i64, call(op, b.getI32Type(), callee, {}));
    };
    auto emitted = emitc::ForOp::create(b, loc, number(cuda::BlockIndexOp::getFunction()), total,
                                        number(cuda::BlockCountOp::getFunction()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(emitted.getBody());
    Value rest = emitted.getBody()->getArgument(0);
    for (int64_t d = counts.size() - 1; d >= 0; --d) {
      values[forall.getInductionVar(d)] = d > 0 ? emitc::RemOp::create(b, loc, i64, rest, counts[d]).getResult() : rest;
      if (d > 0)
        rest = emitc::DivOp::create(b, loc, i64, rest, counts[d]);
    }
    return emitBlock(*forall.getBody());
  }

  if (auto tile = dyn_cast<RowTileOp>(op))
    return report(tile, "is in a kernel without products");

  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (Value start : loop.getInits())
      results.push_back(variable(loc, convert(start.getType()), get(start)));
    if (Attribute unroll = loop->getAttr(kUnrollAttr)) {
      auto count = dyn_cast<IntegerAttr>(unroll);
      line(loc, count ? "#pragma unroll " + std::to_string(count.getInt()) : "#pragma unroll");
    }
    auto emitted =
        emitc::ForOp::create(b, loc, get(loop.getLowerBound()), get(loop.getUpperBound()), get(loop.getStep()));
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
