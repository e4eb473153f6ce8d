//===- Groups.cpp - kernels that share the blocks of a launch, and count arrivals ---------------------------------===//
//
// Members are branches on the number of the block. In each, blocks are counted from its first one, so that a member has
// the text that it has in a launch of its own.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

#include "moe-mlir/Conversion/KernelToEmitC/Launch.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace mlir::kernel;
using mlir::cuda::DeviceFunction;

static FuncOp kernelOf(cuda::MemberOp member) {
  return SymbolTable::lookupNearestSymbolFrom<FuncOp>(member, member.getKernelAttr());
}

SmallVector<FuncOp> kernel::partsOf(FuncOp func) {
  SmallVector<FuncOp> parts;
  for (auto member : func.getBody().getOps<cuda::MemberOp>())
    parts.push_back(kernelOf(member));
  if (parts.empty())
    parts.push_back(func);
  return parts;
}

LogicalResult Emitter::emitMember(cuda::MemberOp member) {
  FuncOp kernel = kernelOf(member);
  for (auto [argument, operand] : llvm::zip(kernel.getArguments(), member.getOperands_())) {
    if (isa<WindowType>(argument.getType()))
      windows[argument] = Window(windows.find(operand)->second);
    else if (isa<MemRefType>(argument.getType()))
      buffers[argument] = Buffer(buffers.at(operand));
    else
      values[argument] = get(operand);
  }
  return emitProgram(kernel);
}

LogicalResult Emitter::emitProgram(FuncOp func) {
  for (auto map : func.getBody().getOps<cuda::TensorMapOp>())
    values[map.getMap()] = *nextMap++;
  return emitBlock(func.getBody().front());
}

LogicalResult Emitter::emitBody(FuncOp func) {
  SmallVector<cuda::MemberOp> members(func.getBody().getOps<cuda::MemberOp>());
  if (members.empty())
    return emitProgram(func);
  OpBuilder::InsertionGuard guard(b);
  Location loc = func.getLoc();
  Type i32 = b.getI32Type();
  auto number = [&](int64_t value) { return integer(loc, i32, value); };
  Value block = call(func, i32, cuda::BlockIndexOp::getFunction(), {});
  Value blocks; // of the launch, where somebody takes what is left
  if (llvm::any_of(members, [](cuda::MemberOp member) { return !member.getBlocks(); }))
    blocks = call(func, i32, cuda::BlockCountOp::getFunction(), {});
  auto blocksOf = [](ArrayRef<cuda::MemberOp> some) {
    int64_t sum = 0;
    for (cuda::MemberOp member : some)
      sum += member.getBlocks().value_or(0);
    return sum;
  };
  auto without = [&](ArrayRef<cuda::MemberOp> some) -> Value {
    return emitc::SubOp::create(b, loc, i32, blocks, number(blocksOf(some)));
  };
  bool isBehindRest = false; // who takes what is left has been met
  for (size_t i = 0; i < members.size(); ++i) {
    cuda::MemberOp member = members[i];
    ArrayRef<cuda::MemberOp> all(members), behind = all.drop_front(i);
    std::optional<uint64_t> own = member.getBlocks();
    Value first = isBehindRest ? without(behind) : number(blocksOf(all.take_front(i)));
    ownBlock = i ? emitc::SubOp::create(b, loc, i32, block, first).getResult() : block;
    ownBlocks = own ? number(*own) : without(all);
    std::string count = own ? std::to_string(*own) + (own == 1 ? " block: " : " blocks: ") : "The other blocks: ";
    line(loc, "// " + count + member.getKernel() + ".");
    if (member == members.back())
      return emitMember(member);
    isBehindRest |= !own;
    Value end = isBehindRest ? without(behind.drop_front()) : number(blocksOf(all.take_front(i + 1)));
    if (failed(emitBelow(loc, block, end, [&] { return emitMember(member); })))
      return failure();
  }
  return success();
}

LogicalResult Emitter::emitBlockOfMember(Operation *op) {
  if (!ownBlock)
    return failure();
  if (auto tile = dyn_cast<cuda::FirstTileOp>(op))
    return set(op, call(op, b.getI32Type(), cuda::FirstTileOp::getFunction(),
                        {get(tile.getBefore()), ownBlock, ownBlocks}));
  auto isOfGrid = [](auto id) { return id && id.getDimension() == gpu::Dimension::x; };
  bool isIndex = isa<cuda::BlockIndexOp, BlockIdOp>(op) || isOfGrid(dyn_cast<gpu::BlockIdOp>(op));
  if (!isIndex && !isa<cuda::BlockCountOp>(op) && !isOfGrid(dyn_cast<gpu::GridDimOp>(op)))
    return failure();
  Value number = isIndex ? ownBlock : ownBlocks;
  if (op->getResult(0).getType().isIndex())
    number = emitc::CastOp::create(b, op->getLoc(), b.getI64Type(), number);
  return set(op, number);
}

LogicalResult Emitter::emitArrivals(Operation *op) {
  if (!isa<ArriveOp, AwaitArrivalsOp>(op))
    return failure();
  if (isInRole)
    return report(op, "is in a role of a kernel with products, in which it must stand behind or before the tiles of a "
                      "record");
  Value counter = address(op, op->getOperand(0), op->getOperand(1));
  if (isa<ArriveOp>(op)) {
    Type i32 = b.getI32Type();
    call(op, Type(), cuda::CountArrivalOp::getFunction(),
         {counter, integer(op->getLoc(), i32, 0), integer(op->getLoc(), i32, 1)});
    return success();
  }
  // Patience and status are those of the ranks that the kernel exchanges with, if any.
  SmallVector<Value> arguments{counter, get(cast<AwaitArrivalsOp>(op).getArrivals())};
  for (BlockArgument argument : op->getParentOfType<FuncOp>().getArguments())
    if (auto window = windows.find(argument); window != windows.end()) {
      arguments.push_back(window->second.peers);
      break;
    }
  call(op, Type(), DeviceFunction::AwaitArrivals, arguments);
  return success();
}
