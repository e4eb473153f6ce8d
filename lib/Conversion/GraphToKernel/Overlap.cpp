//===- Overlap.cpp - exchanges that run under the products of a layer ---------------------------------------------===//
//
// COMET (sections 3.1 and 3.2). Ids and weights travel first, so that every rank knows its layout. Then two groups of
// launches run, each of two members. In the first group one member sends rows chunk by chunk, a flag behind each, and
// the first product takes records of rows as they come: own rows in the first phase, those of other ranks later. In
// the second group the product goes over all experts for one slice of columns after another, and the other member
// sends the sums of a slice while the next one is multiplied.
//
// Rows of an expert stand by source, own rows first, so a phase's rows of an expert are a range. It ends where a tile
// ends, and what is left over goes to the next phase: there are as many tiles as in one phase. Every sum has the order
// that it has without overlap.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Overlap.h"

#include "SlotSums.h"

using namespace mlir;
using namespace mlir::kernel;

/// Flags for the chunks of one source, at most. They have fixed places, whatever the number of rows: chunks grow.
static constexpr int64_t mostChunks = 256;
static constexpr int64_t flagBytes = 4;

//===----------------------------------------------------------------------===//
// What the kernels share
//===----------------------------------------------------------------------===//

std::optional<Overlap> Overlap::of(GraphLowering &lowering, OpBuilder &host, moe::ExpertOp op,
                                   const LayoutBuffers &here, int64_t tileRows) {
  std::optional<moe::OverlapChain> chain = moe::overlapOf(op);
  if (!chain)
    return std::nullopt;
  Overlap overlap(lowering, *chain, here);
  overlap.allocate(host);
  overlap.emitOrder(host, tileRows);
  return overlap;
}

void Overlap::allocate(OpBuilder &host) {
  exchange = lowering.exchanges.lookup(chain.there);
  const Ranks &ranks = exchange->ranks;
  Value wanted = arith::ConstantIndexOp::create(host, loc(), schedule.getChunk());
  Value most = arith::ConstantIndexOp::create(host, loc(), mostChunks);
  Value least = arith::CeilDivUIOp::create(host, loc(), exchange->room, most);
  chunkRows = arith::MaxUIOp::create(host, loc(), wanted, least);
  chunks = arith::CeilDivUIOp::create(host, loc(), exchange->room, chunkRows);

  auto flags = [&](StringRef name, int64_t each) {
    OpFoldResult size = host.getIndexAttr(ranks.count * each * mostChunks);
    return ranks.window(host, loc(), nameOf(*exchange, name), host.getI32Type(), size);
  };
  came = flags("chunks came", 1);
  exchange->sumsCame = flags("sums came", schedule.getSlices());
  exchange->sumFlags = arith::MulIOp::create(host, loc(), chunks,
                                             arith::ConstantIndexOp::create(host, loc(), schedule.getSlices()));
  auto buffer = [&](ArrayRef<int64_t> shape) {
    return kernel::allocate(host, loc(), MemRefType::get(shape, host.getI32Type()), {});
  };
  records = buffer({phases() * chain.here.getLayout().getType().getExperts(), recordFields});
  counts = buffer({phases()});
  done = buffer({static_cast<int64_t>(schedule.getSlices())});
}

Value Overlap::flagOf(KernelBuilder &b, Value row) {
  Value room = b.arg(exchange->room);
  return b.add(b.mul(b.div(row, room), b.arg(chunks)), b.div(b.rem(row, room), b.arg(chunkRows)));
}

std::pair<Value, Value> Overlap::rowsOfChunk(KernelBuilder &b, Value chunk, Value count) {
  Value rows = b.arg(chunkRows), begin = b.mul(chunk, rows);
  return {begin, b.min(count, b.add(begin, rows))};
}

//===----------------------------------------------------------------------===//
// Records by phase
//===----------------------------------------------------------------------===//

void Overlap::emitOrder(OpBuilder &host, int64_t tileRows) {
  const int64_t experts = chain.here.getLayout().getType().getExperts();
  KernelBuilder b(lowering.kernels, loc());
  Value offsets = b.arg(here.offsets), tokenOf = b.arg(here.tokens), room = b.arg(exchange->room);
  Value to = b.arg(records), found = b.arg(counts), finished = b.arg(done), zero = b.idx(0), one = b.idx(1);
  Value nothing = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  b.loop(zero, b.dim(finished, 0), 1, [&](Value slice) { b.store(nothing, finished, slice); });

  SmallVector<Value> none(phases(), zero);
  SmallVector<Value> sums = b.loop(zero, b.idx(experts), 1, none, [&](Value e, ValueRange before) {
    Value first = b.toIndex(b.load(offsets, e)), end = b.toIndex(b.load(offsets, b.add(e, one)));
    Value begin = first;
    SmallVector<Value> after;
    int64_t sources = 0;
    for (int64_t phase = 0; phase < phases(); ++phase) {
      sources += schedule.getSteps()[phase];
      Value limit = end;
      if (phase + 1 < phases()) {
        Value others = b.mul(room, b.idx(sources));
        Value count = b.loop(first, end, 1, zero, [&](Value row, ValueRange acc) {
          Value isBefore = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, b.toIndex(b.load(tokenOf, row)), others);
          return SmallVector<Value>{b.add(acc[0], arith::SelectOp::create(b, isBefore, one, zero))};
        })[0];
        Value whole = b.mul(b.div(count, b.idx(tileRows)), b.idx(tileRows));
        Value isAll = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, b.sub(end, first));
        limit = b.add(first, arith::SelectOp::create(b, isAll, count, whole));
      }
      Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, begin, limit);
      b.branch(exists, [&] {
        Value record = b.add(b.idx(phase * experts), before[phase]);
        Value firstFlag = flagOf(b, b.toIndex(b.load(tokenOf, begin)));
        Value lastFlag = flagOf(b, b.toIndex(b.load(tokenOf, b.sub(limit, one))));
        Value fields[] = {e, begin, b.sub(limit, begin), firstFlag, b.add(b.sub(lastFlag, firstFlag), one)};
        for (auto [i, field] : llvm::enumerate(fields))
          b.store(b.toI32(field), to, {record, b.idx(i)});
      });
      after.push_back(b.add(before[phase], arith::SelectOp::create(b, exists, one, zero)));
      begin = limit;
    }
    return after;
  });
  for (auto [phase, sum] : llvm::enumerate(sums))
    b.store(b.toI32(sum), found, b.idx(phase));
  OpFoldResult rows = sizeOf(host, loc(), here.tokens, 0);
  LaunchOp launch = b.launch(host, "order_records_" + Twine(experts), rows,
                             mulSizes(host, loc(), {rows, host.getIndexAttr(phases())}), /*single=*/true);
  setPhase(launch, exchange->layer, "rows to experts");
  // The flags of the chunks that are sent next.
  setTraffic(launch, exchange->ranks, {Value(), chunks, flagBytes, 0});
}

//===----------------------------------------------------------------------===//
// The products
//===----------------------------------------------------------------------===//

Value Overlap::receivedRows(KernelBuilder &b) {
  Value window = b.arg(exchange->rows);
  return PartOp::create(b, cast<WindowType>(window.getType()).getPart(), window, Value());
}

TileWalk Overlap::walkUp(KernelBuilder &b, Value weight) {
  TileWalk walk;
  walk.records = b.arg(records);
  Value phase = PhaseOp::create(b, b.getIndexType());
  walk.firstRecord = b.mul(phase, b.idx(chain.here.getLayout().getType().getExperts()));
  walk.count = b.toIndex(b.load(b.arg(counts), phase));
  walk.firstBlock = b.idx(0);
  walk.blocks = b.dim(weight, 1);
  Value flags = b.arg(came), own = b.arg(exchange->ranks.own), each = b.arg(chunks);
  Value epoch = EpochOp::create(b, b.getI32Type(), flags);
  Ranks ranks = exchange->ranks;
  walk.before = [=, &b](Value record) {
    auto field = [&](int64_t i) { return b.toIndex(b.load(walk.records, {record, b.idx(i)})); };
    Value first = field(3);
    b.loop(first, b.add(first, field(4)), 1, [&](Value flag) {
      AwaitOp::create(b, flags, flag, epoch, rankBehind(b, ranks, own, b.div(flag, each)));
    });
  };
  return walk;
}

TileWalk Overlap::walkDown(KernelBuilder &b, Value weight) {
  const int64_t slices = schedule.getSlices();
  TileWalk walk;
  walk.records = b.arg(here.records);
  walk.firstRecord = b.idx(0);
  walk.count = b.toIndex(b.load(b.arg(here.count), b.idx(0)));
  Value phase = PhaseOp::create(b, b.getIndexType());
  walk.blocks = b.idx(cast<MemRefType>(weight.getType()).getDimSize(1) / slices);
  walk.firstBlock = b.mul(phase, walk.blocks);
  Value finished = b.arg(done);
  walk.after = [=, &b] { ArriveOp::create(b, finished, phase); };
  return walk;
}

//===----------------------------------------------------------------------===//
// What runs beside them
//===----------------------------------------------------------------------===//

LaunchOp Overlap::emitSend(OpBuilder &host) {
  const Ranks &ranks = exchange->ranks;
  LayoutBuffers sent(exchange->layout);
  KernelBuilder b(lowering.kernels, loc());
  Value own = b.arg(ranks.own), room = b.arg(exchange->room), each = b.arg(chunks);
  Value offsets = b.arg(sent.offsets), tokenOf = b.arg(sent.tokens);
  Value from = b.arg(exchange->tokens), to = b.arg(exchange->rows), flags = b.arg(came);
  Value epoch = EpochOp::create(b, b.getI32Type(), flags);
  // A chunk without rows is told of, too: who waits need not know how many there are.
  b.forall({b.idx(ranks.count), each}, [&](ValueRange at) {
    Value peer = rankBehind(b, ranks, own, b.add(at[0], b.idx(1))), distance = distanceBetween(b, ranks, peer, own);
    Value first = b.toIndex(b.load(offsets, peer)), end = b.toIndex(b.load(offsets, b.add(peer, b.idx(1))));
    auto [begin, stop] = rowsOfChunk(b, at[1], b.sub(end, first));
    b.loop(begin, stop, 1, [&](Value i) {
      Value token = b.toIndex(b.load(tokenOf, b.add(first, i)));
      PutOp::create(b, from, token, to, peer, b.add(b.mul(distance, room), i));
    });
    SignalOp::create(b, flags, peer, b.add(b.mul(distance, each), at[1]), epoch);
  });
  OpFoldResult tokens = sizeOf(host, loc(), exchange->tokens, 0);
  LaunchOp launch =
      b.launch(host, "send_chunks", tokens, mulSizes(host, loc(), {tokens, host.getIndexAttr(ranks.count)}));
  setTraffic(launch, ranks, {sent.offsets, Value(), rowBytes(exchange->tokens), 0});
  return launch;
}

LaunchOp Overlap::emitReturn(OpBuilder &host, Value rows, Value pieces) {
  const Ranks &ranks = exchange->ranks;
  const int64_t slices = schedule.getSlices(), columns = cast<ShapedType>(chain.sum.getType()).getDimSize(1);
  const int64_t width = columns / slices, experts = chain.here.getLayout().getType().getExperts();
  const int64_t blocks = llvm::divideCeil(columns, tilesOf(chain.expert, 1).blockColumns) / slices;
  Value weights = chain.sum.getWeights() ? exchange->received.lookup(chain.sum.getWeights()) : Value();
  KernelBuilder b(lowering.kernels, loc());
  SlotSums sums(b, chain.sum, here, rows, weights);
  Value made = b.arg(pieces), to = b.arg(exchange->sums), flags = b.arg(exchange->sumsCame), finished = b.arg(done);
  Value arrived = b.arg(exchange->arrived), firsts = b.arg(exchange->firsts);
  Value own = b.arg(ranks.own), room = b.arg(exchange->room), each = b.arg(chunks);
  Value phase = PhaseOp::create(b, b.getIndexType()), epoch = EpochOp::create(b, b.getI32Type(), flags);
  Value tiles = b.mul(b.toIndex(b.load(b.arg(here.count), b.idx(0))), b.idx(blocks));
  Value firstColumn = b.mul(phase, b.idx(width)), endColumn = b.add(firstColumn, b.idx(width));
  // Sums for other ranks first.
  b.forall({b.idx(ranks.count), each}, [&](ValueRange at) {
    AwaitArrivalsOp::create(b, finished, phase, tiles);
    Value distance = b.rem(b.add(at[0], b.idx(1)), b.idx(ranks.count)), peer = rankBehind(b, ranks, own, distance);
    Value place = b.toIndex(b.load(firsts, peer));
    // A row is one of each slice, which is put as a whole.
    auto pieceOf = [&](Value row) { return b.add(b.mul(row, b.idx(slices)), phase); };
    auto [begin, stop] = rowsOfChunk(b, at[1], rowsOf(b, arrived, peer));
    b.loop(begin, stop, 1, [&](Value i) {
      Value row = b.add(b.mul(distance, room), i), piece = pieceOf(row);
      sums.forColumns(row, firstColumn, endColumn, [&](Value sum, Value column) {
        b.store(b.convert(sum, getElementTypeOrSelf(made)), made, {piece, b.sub(column, firstColumn)});
      });
      PutOp::create(b, made, piece, to, peer, pieceOf(b.add(place, i)));
    });
    Value flag = b.add(b.mul(distanceBetween(b, ranks, peer, own), b.idx(slices)), phase);
    SignalOp::create(b, flags, peer, b.add(b.mul(flag, each), at[1]), epoch);
  });
  OpFoldResult received = sizeOf(host, loc(), here.places, 0);
  LaunchOp launch = b.launch(host, "return_sums_" + Twine(experts) + sums.name(), received,
                             mulSizes(host, loc(), {received, host.getIndexAttr(2 * columns)}));
  const int64_t bytes = columns * chain.sum.getType().getElementTypeBitWidth() / 8;
  setTraffic(launch, ranks, {exchange->arrived, Value(), bytes, 0});
  launch.setPhases(slices);
  launch.setLag(1);
  return launch;
}

void Overlap::join(ArrayRef<LaunchOp> members, ConversionPatternRewriter &rewriter) {
  auto group = LaunchGroupOp::create(rewriter, loc());
  Block *body = rewriter.createBlock(&group.getBody());
  for (LaunchOp member : members)
    rewriter.moveOpBefore(member, body, body->end());
  rewriter.setInsertionPointAfter(group);
}

void Overlap::sendUnder(LaunchOp up, ConversionPatternRewriter &rewriter) {
  LaunchOp send = emitSend(rewriter);
  up.setPhases(phases());
  for (LaunchOp member : {send, up})
    setPhase(member, exchange->layer, "rows to experts");
  join({send, up}, rewriter);
}

void Overlap::returnUnder(LaunchOp down, Value rows, ConversionPatternRewriter &rewriter) {
  std::string which = exchange->returns ? " of " + std::to_string(exchange->returns) : "";
  auto sums = cast<RankedTensorType>(chain.sum.getType());
  const int64_t slices = schedule.getSlices();
  OpFoldResult sizes[] = {
      mulSizes(rewriter, loc(), {exchange->room, rewriter.getIndexAttr(exchange->ranks.count * slices)}),
      rewriter.getIndexAttr(sums.getDimSize(1) / slices)};
  Type element = sums.getElementType();
  exchange->sums = exchange->ranks.window(rewriter, loc(), nameOf(*exchange, "sums" + which), element, sizes);
  LaunchOp back = emitReturn(rewriter, rows, kernel::allocate(rewriter, loc(), element, sizes));
  down.setPhases(schedule.getSlices());
  for (LaunchOp member : {down, back})
    setPhase(member, exchange->layer, "sums to tokens");
  join({down, back}, rewriter);
}

//===----------------------------------------------------------------------===//
// The end of the way back
//===----------------------------------------------------------------------===//

Value mlir::kernel::sumsOnTheirWay(GraphLowering &lowering, OpBuilder &host, moe::CombineOp op) {
  auto expert = op.getRows().getDefiningOp<moe::ExpertOp>();
  std::optional<moe::OverlapChain> chain = expert ? moe::overlapOf(expert) : std::nullopt;
  if (!chain || chain->sum != op)
    return Value();
  Location loc = op.getLoc();
  const RowExchange &exchange = *lowering.exchanges.lookup(chain->there);
  Value pieces = ownPart(host, loc, exchange.sums);
  const int64_t slices = expert.getScheduleAttr().getSlices();
  if (slices == 1)
    return pieces;
  auto type = cast<MemRefType>(pieces.getType());
  int64_t split[] = {ShapedType::kDynamic, slices, type.getDimSize(1)};
  OpFoldResult sizes[] = {mulSizes(host, loc, {exchange.room, host.getIndexAttr(exchange.ranks.count)}),
                          host.getIndexAttr(split[1]), host.getIndexAttr(split[2])};
  Value rows = memref::ExpandShapeOp::create(host, loc, MemRefType::get(split, type.getElementType()), pieces,
                                             ArrayRef<ReassociationIndices>{{0, 1}, {2}}, sizes);
  return memref::CollapseShapeOp::create(host, loc, rows, ArrayRef<ReassociationIndices>{{0}, {1, 2}});
}

/// All that returns, also for chunks without rows: who begins the next exchange knows that its rows were read.
void mlir::kernel::emitAwaitSums(GraphLowering &lowering, OpBuilder &host, moe::AllToAllOp back) {
  Location loc = back.getLoc();
  const RowExchange &exchange = *lowering.exchanges.lookup(back.getLayout().getDefiningOp());
  const Ranks &ranks = exchange.ranks;
  KernelBuilder b(lowering.kernels, loc);
  Value flags = b.arg(exchange.sumsCame), own = b.arg(ranks.own), each = b.arg(exchange.sumFlags);
  Value epoch = EpochOp::create(b, b.getI32Type(), flags), count = b.idx(ranks.count);
  b.loop(b.idx(0), b.mul(count, each), 1, [&](Value flag) {
    AwaitOp::create(b, flags, flag, epoch, rankBehind(b, ranks, own, b.div(flag, each)));
  });
  LaunchOp launch = b.launch(host, "await_sums", host.getIndexAttr(ranks.count), exchange.sumFlags, /*single=*/true);
  setPhase(launch, exchange.layer, "sums to tokens");
  setTraffic(launch, ranks, {Value(), exchange.sumFlags, flagBytes, 0});
}
