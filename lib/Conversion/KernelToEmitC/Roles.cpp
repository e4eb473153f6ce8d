//===- Roles.cpp - roles of warps as branches ---------------------------------------------------------------------===//

#include "Emitter.h"

#include "moe-mlir/Dialect/Cuda/IR/Block.h"

using namespace mlir;
using namespace mlir::kernel;

LogicalResult Emitter::emitStructure(Operation *op) {
  if (auto roles = dyn_cast<cuda::WarpRolesOp>(op))
    return emitRoles(roles);
  if (isa<cuda::TensorMapOp>(op)) // an argument
    return success();
  if (succeeded(emitBlockOfMember(op)))
    return success();
  if (auto row = dyn_cast<cuda::RowOp>(op)) {
    Buffer &matrix = buffers.at(row.getMatrix());
    Value size = matrix.sizes[1];
    Value offset = emitc::MulOp::create(b, op->getLoc(), b.getI64Type(), get(row.getRow()), size);
    Value first = emitc::AddOp::create(b, op->getLoc(), matrix.pointer.getType(), matrix.pointer, offset);
    buffers[row.getResult()] = {first, {size}};
    return success();
  }
  return failure();
}

LogicalResult Emitter::emitRole(cuda::RoleOp role) {
  const int64_t launched = cuda::launchedRegisters(launch.threads), wanted = role.getRegisters();
  if (wanted != launched) {
    using Function = cuda::DeviceFunction;
    Function function = wanted < launched ? Function::DecreaseRegisters : Function::IncreaseRegisters;
    call(role, Type(), function, {}, b.getI32IntegerAttr(wanted));
  }
  isInRole = true;
  LogicalResult written = emitBlock(role.getBody().front());
  isInRole = false;
  return written;
}

LogicalResult Emitter::emitBelow(Location loc, Value number, Value end, function_ref<LogicalResult()> body) {
  Value isBelow = emitc::CmpOp::create(b, loc, b.getI1Type(), emitc::CmpPredicate::lt, number, end);
  auto branch = emitc::IfOp::create(b, loc, isBelow, /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    b.setInsertionPointToEnd(&region->front());
    emitc::YieldOp::create(b, loc);
  }
  b.setInsertionPoint(branch.getThenRegion().front().getTerminator());
  if (failed(body()))
    return failure();
  b.setInsertionPoint(branch.getElseRegion().front().getTerminator());
  return success();
}

LogicalResult Emitter::emitRoles(cuda::WarpRolesOp roles) {
  OpBuilder::InsertionGuard guard(b);
  int64_t threads = 0;
  for (Operation &op : roles.getBody().front()) {
    auto role = cast<cuda::RoleOp>(op);
    threads += 32 * role.getWarps();
    if (threads == launch.threads) // the last one
      return emitRole(role);
    Location loc = role.getLoc();
    Value thread = call(role, b.getI32Type(), cuda::ThreadIndexOp::getFunction(), {});
    Value end = integer(loc, b.getI32Type(), threads);
    if (failed(emitBelow(loc, thread, end, [&] { return emitRole(role); })))
      return failure();
  }
  return success();
}
