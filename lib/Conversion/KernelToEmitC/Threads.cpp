//===- Threads.cpp - threads, warps and shuffles as calls of the device library -----------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;
using mlir::cuda::DeviceFunction;

LogicalResult Emitter::emitThreads(Operation *op) {
  auto number = [&](StringRef callee) {
    Value value = call(op, b.getI32Type(), callee, {});
    return set(op, emitc::CastOp::create(b, op->getLoc(), b.getI64Type(), value));
  };
  if (isa<BlockIdOp>(op))
    return number(cuda::BlockIndexOp::getFunction());
  if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    return id.getDimension() == gpu::Dimension::x ? number(cuda::BlockIndexOp::getFunction()) : failure();
  if (auto size = dyn_cast<gpu::GridDimOp>(op))
    return size.getDimension() == gpu::Dimension::x ? number(cuda::BlockCountOp::getFunction()) : failure();
  // A warp has 32 threads.
  auto warps = [&](auto callee, auto tag) {
    using Op = decltype(tag);
    Type i32 = b.getI32Type();
    Value value = Op::create(b, op->getLoc(), i32, call(op, i32, callee, {}), integer(op->getLoc(), i32, 32));
    return set(op, emitc::CastOp::create(b, op->getLoc(), b.getI64Type(), value));
  };
  if (isa<gpu::SubgroupIdOp>(op))
    return warps(cuda::ThreadIndexOp::getFunction(), emitc::DivOp());
  if (isa<gpu::NumSubgroupsOp>(op))
    return warps(DeviceFunction::ThreadCount, emitc::DivOp());
  if (isa<gpu::LaneIdOp>(op))
    return warps(cuda::ThreadIndexOp::getFunction(), emitc::RemOp());
  if (isa<NVVM::SyncWarpOp>(op)) {
    call(op, Type(), DeviceFunction::SyncWarp, {});
    return success();
  }
  if (isa<gpu::BarrierOp>(op)) {
    call(op, Type(), DeviceFunction::SyncBlock, {});
    return success();
  }
  if (auto match = dyn_cast<NVVM::MatchSyncOp>(op)) {
    if (match.getKind() != NVVM::MatchSyncKind::any)
      return failure();
    return set(op, call(op, b.getI32Type(), DeviceFunction::MatchWarp, get(match.getVal())));
  }
  if (isa<math::CtPopOp>(op) && op->getResult(0).getType().isInteger(32))
    return set(op, call(op, b.getI32Type(), DeviceFunction::CountBits, get(op->getOperand(0))));
  if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
    const gpu::ShuffleMode mode = shuffle.getMode();
    if (mode == gpu::ShuffleMode::DOWN || !shuffle.getValid().use_empty())
      return failure();
    DeviceFunction callee = mode == gpu::ShuffleMode::XOR  ? DeviceFunction::ShuffleXor
                            : mode == gpu::ShuffleMode::UP ? DeviceFunction::ShuffleUp
                                                           : DeviceFunction::Broadcast;
    Value value = call(op, convert(shuffle.getShuffleResult().getType()), callee,
                       {get(shuffle.getValue()), get(shuffle.getOffset())});
    values[shuffle.getShuffleResult()] = value;
    return success();
  }
  return failure();
}
