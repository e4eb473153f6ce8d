//===- Ranks.cpp - what all programs of several ranks share -------------------------------------------------------===//

#include "Exchange.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace mlir::kernel;

Ranks::Ranks(OpBuilder &host, Location loc, ModuleOp module, StringRef name)
    : grid(FlatSymbolRefAttr::get(module.getContext(), name)),
      count(llvm::product_of(module.lookupSymbol<shard::GridOp>(name).getShape())),
      own(RankOp::create(host, loc, host.getIndexType(), grid)) {}

Value Ranks::window(OpBuilder &host, Location loc, const Twine &name, Type element,
                    ArrayRef<OpFoldResult> sizes) const {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  for (OpFoldResult size : sizes) {
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
    if (ShapedType::isDynamic(shape.back()))
      dynamic.push_back(cast<Value>(size));
  }
  return WindowOp::create(host, loc, WindowType::get(host.getContext(), shape, element), dynamic, grid,
                          host.getStringAttr(name));
}

Value Ranks::flags(OpBuilder &host, Location loc, const Twine &name) const {
  return window(host, loc, name, host.getI32Type(), OpFoldResult(host.getIndexAttr(count)));
}

Value Ranks::largest(OpBuilder &host, Location loc, OpFoldResult value) const {
  return AgreeOp::create(host, loc, host.getIndexType(), getValueOrCreateConstantIndexOp(host, loc, value), grid);
}

static MemRefType partType(Value window) { return cast<WindowType>(window.getType()).getPart(); }

Value mlir::kernel::ownPart(OpBuilder &host, Location loc, Value window) {
  return PartOp::create(host, loc, partType(window), window, Value());
}

Value mlir::kernel::partOf(KernelBuilder &b, Value window, Value peer) {
  return PartOp::create(b, partType(window), window, peer);
}

Value mlir::kernel::rankBehind(KernelBuilder &b, const Ranks &ranks, Value rank, Value distance) {
  return b.rem(b.add(rank, distance), b.idx(ranks.count));
}

Value mlir::kernel::distanceBetween(KernelBuilder &b, const Ranks &ranks, Value from, Value rank) {
  return b.rem(b.sub(b.add(rank, b.idx(ranks.count)), from), b.idx(ranks.count));
}

void mlir::kernel::emitAdvance(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks,
                               Value flags) {
  KernelBuilder b(lowering.kernels, loc);
  AdvanceOp::create(b, b.arg(flags));
  b.launch(host, "next_exchange", host.getIndexAttr(ranks.count), host.getIndexAttr(1), /*single=*/true);
}

LaunchOp mlir::kernel::emitSignal(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks,
                                  Value flags, StringRef name, PeerProgram before) {
  KernelBuilder b(lowering.kernels, loc);
  Value came = b.arg(flags), own = b.arg(ranks.own), all = b.idx(ranks.count);
  Value epoch = EpochOp::create(b, b.getI32Type(), came);
  b.loop(b.idx(0), all, 1, [&](Value distance) {
    // The rank that this one stands `distance` behind.
    Value peer = rankBehind(b, ranks, own, b.sub(all, distance));
    if (before)
      before(b, peer, distance);
    SignalOp::create(b, came, peer, distance, epoch);
  });
  return b.launch(host, name, host.getIndexAttr(ranks.count), host.getIndexAttr(ranks.count), /*single=*/true);
}

LaunchOp mlir::kernel::emitAwait(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks,
                                 Value flags, StringRef name, llvm::function_ref<void(KernelBuilder &)> after) {
  KernelBuilder b(lowering.kernels, loc);
  Value came = b.arg(flags), own = b.arg(ranks.own), all = b.idx(ranks.count);
  Value epoch = EpochOp::create(b, b.getI32Type(), came);
  b.loop(b.idx(0), all, 1, [&](Value distance) {
    AwaitOp::create(b, came, distance, epoch, rankBehind(b, ranks, own, distance));
  });
  if (after)
    after(b);
  return b.launch(host, name, host.getIndexAttr(ranks.count), host.getIndexAttr(ranks.count), /*single=*/true);
}

void mlir::kernel::setPhase(LaunchOp launch, StringRef layer, StringRef phase) {
  launch->setAttr("moe.phase", StringAttr::get(launch.getContext(), layer + ": " + phase));
}

/// Of an operand, for attributes.
static IntegerAttr numberOf(LaunchOp launch, Value operand) {
  int64_t number = llvm::find(launch.getOperands_(), operand) - launch.getOperands_().begin();
  return Builder(launch.getContext()).getI64IntegerAttr(number);
}

void mlir::kernel::setFlags(LaunchOp launch, Value each, int64_t slices, int64_t stride) {
  Builder b(launch.getContext());
  NamedAttrList entries;
  entries.set("each", numberOf(launch, each));
  entries.set("slices", b.getI64IntegerAttr(slices));
  entries.set("stride", b.getI64IntegerAttr(stride));
  launch->setAttr("moe.flags", entries.getDictionary(launch.getContext()));
}

void mlir::kernel::setTraffic(LaunchOp launch, const Ranks &ranks, const Traffic &traffic) {
  Builder b(launch.getContext());
  auto number = [&](Value value) { return numberOf(launch, value); };
  NamedAttrList entries;
  entries.set("grid", ranks.grid);
  if (traffic.offsets)
    entries.set("offsets", number(traffic.offsets));
  if (traffic.rows)
    entries.set("rows", number(traffic.rows));
  entries.set("row_bytes", b.getI64IntegerAttr(traffic.rowBytes));
  entries.set("fixed_bytes", b.getI64IntegerAttr(traffic.fixedBytes));
  launch->setAttr("moe.traffic", entries.getDictionary(launch.getContext()));
}

int64_t mlir::kernel::rowBytes(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return llvm::product_of(type.getShape().drop_front()) * type.getElementTypeBitWidth() / 8;
}

Value mlir::kernel::addPairwise(KernelBuilder &b, SmallVector<Value> values) {
  while (values.size() > 1) {
    const size_t pairs = values.size() / 2, rest = values.size() % 2;
    for (size_t i = 0; i < pairs; ++i)
      values[i] = arith::AddFOp::create(b, values[2 * i], values[2 * i + 1]);
    if (rest)
      values[pairs] = values.back();
    values.truncate(pairs + rest);
  }
  return values[0];
}
