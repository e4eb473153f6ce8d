//===- Windows.cpp - windows of ranks as calls of the device library ----------------------------------------------===//
//
// A window that a kernel takes is what stands in its slots: the address of moert_peers, a byte offset, and the number
// of rows if that is dynamic. kernel-distribute-warps has said who executes an op: a put is the work of a warp, a flag
// that of one thread, with meetings around it.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

using namespace mlir;
using namespace mlir::kernel;
using mlir::cuda::DeviceFunction;

/// The window that an op of the kernel dialect uses; null if it uses none.
static Value windowOf(Operation *op) {
  if (!isa<PartOp, PutOp, EpochOp, SignalOp, AwaitOp, AdvanceOp>(op))
    return Value();
  return *llvm::find_if(op->getOperands(), [](Value operand) { return isa<WindowType>(operand.getType()); });
}

LogicalResult Emitter::emitWindows(Operation *op) {
  Value used = windowOf(op);
  if (!used)
    return failure();
  auto found = windows.find(used);
  if (found == windows.end())
    return report(op, "uses a window that is no argument of the kernel");
  if (isInRole && !isa<PartOp, EpochOp, AwaitOp>(op))
    return report(op, "is in a kernel with products, whose threads have roles; exchange in a launch of its own");
  const Window &window = found->second;
  Value peers = window.peers, offset = window.offset;

  if (auto part = dyn_cast<PartOp>(op)) {
    Type element = convert(part.getWindow().getType().getElement());
    if (!element)
      return report(op, "is of elements that have no C++ form");
    SmallVector<Value> arguments{peers, offset};
    if (part.getPeer())
      arguments.push_back(get(part.getPeer()));
    Value pointer = call(op, emitc::PointerType::get(element),
                         part.getPeer() ? DeviceFunction::PartOf : DeviceFunction::OwnPart, arguments,
                         TypeAttr::get(element));
    buffers[part.getPart()] = {pointer, window.sizes};
    return success();
  }
  if (auto put = dyn_cast<PutOp>(op)) {
    int64_t elements = llvm::product_of(put.getWindow().getType().getShape().drop_front());
    call(op, Type(), DeviceFunction::PutRow,
         {buffers.at(put.getSource()).pointer, get(put.getRow()), peers, offset, get(put.getPeer()), get(put.getTo())},
         b.getI32IntegerAttr(elements));
    return success();
  }
  if (isa<EpochOp>(op))
    return set(op, call(op, b.getI32Type(), DeviceFunction::PresentEpoch, peers));
  if (auto signal = dyn_cast<SignalOp>(op))
    call(op, Type(), DeviceFunction::SignalRank,
         {peers, offset, get(signal.getPeer()), get(signal.getIndex()), get(signal.getEpoch())});
  else if (auto await = dyn_cast<AwaitOp>(op))
    call(op, Type(), DeviceFunction::AwaitRank,
         {peers, offset, get(await.getIndex()), get(await.getEpoch()), get(await.getPeer())});
  else
    call(op, Type(), DeviceFunction::NextExchange, peers);
  return success();
}
