//===- Threads.cpp - threads, warps and shuffles as calls of the device library -----------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

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
  auto warps = [&](StringRef callee, auto tag) {
    using Op = decltype(tag);
    Type i32 = b.getI32Type();
    Value value = Op::create(b, op->getLoc(), i32, call(op, i32, callee, {}), integer(op->getLoc(), i32, 32));
    return set(op, emitc::CastOp::create(b, op->getLoc(), b.getI64Type(), value));
  };
  if (isa<gpu::SubgroupIdOp>(op))
    return warps(cuda::ThreadIndexOp::getFunction(), emitc::DivOp());
  if (isa<gpu::NumSubgroupsOp>(op))
    return warps("moe::threadCount", emitc::DivOp());
  if (isa<gpu::LaneIdOp>(op))
    return warps(cuda::ThreadIndexOp::getFunction(), emitc::RemOp());
  if (isa<NVVM::SyncWarpOp>(op)) {
    emitc::CallOpaqueOp::create(b, op->getLoc(), TypeRange(), "moe::syncWarp", ValueRange());
    return success();
  }
  if (isa<gpu::BarrierOp>(op)) {
    emitc::CallOpaqueOp::create(b, op->getLoc(), TypeRange(), "moe::syncBlock", ValueRange());
    return success();
  }
  if (auto match = dyn_cast<NVVM::MatchSyncOp>(op)) {
    if (match.getKind() != NVVM::MatchSyncKind::any)
      return failure();
    return set(op, call(op, b.getI32Type(), "moe::matchWarp", get(match.getVal())));
  }
  if (isa<math::CtPopOp>(op) && op->getResult(0).getType().isInteger(32))
    return set(op, call(op, b.getI32Type(), "moe::countBits", get(op->getOperand(0))));
  if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
    StringRef callee = shuffle.getMode() == gpu::ShuffleMode::XOR   ? "moe::shuffleXor"
                       : shuffle.getMode() == gpu::ShuffleMode::UP  ? "moe::shuffleUp"
                       : shuffle.getMode() == gpu::ShuffleMode::IDX ? "moe::broadcast"
                                                                    : "";
    if (callee.empty() || !shuffle.getValid().use_empty())
      return failure();
    Value value = call(op, convert(shuffle.getShuffleResult().getType()), callee,
                       {get(shuffle.getValue()), get(shuffle.getOffset())});
    values[shuffle.getShuffleResult()] = value;
    return success();
  }
  return failure();
}
