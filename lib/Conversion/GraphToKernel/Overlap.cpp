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
// Matrix registers want rows that stand below each other. A third member of the first group brings a phase's rows
// there, each record behind its flags, and the product waits until all of the phase are there.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Overlap.h"

#include "SlotSums.h"

using namespace mlir;
using namespace mlir::kernel;

//===----------------------------------------------------------------------===//
// What the kernels share
//===----------------------------------------------------------------------===//

/// A part is never longer than what a rank can send, as all ranks have room for it.
void mlir::kernel::cutIntoChunks(OpBuilder &host, Location loc, RowExchange &exchange, moe::ScheduleAttr schedule) {
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(host, loc, value); };
  auto ceilDiv = [&](Value a, Value b) -> Value { return arith::CeilDivUIOp::create(host, loc, a, b); };
  const bool inParts = schedule.getKind() == moe::ScheduleKind::Parts;
  exchange.isByPart = schedule.isByPart();
  Value wanted = number(inParts ? schedule.getParts() : schedule.getChunk());
  if (inParts)
    wanted = ceilDiv(exchange.room, wanted);
  if (exchange.isByPart) {
    Value one = number(1), most = arith::MinUIOp::create(host, loc, wanted, exchange.room);
    wanted = arith::MaxUIOp::create(host, loc, most, one);
  }
  Value limit = number(moe::ScheduleAttr::mostChunks), least = ceilDiv(exchange.room, limit);
  exchange.chunkRows = arith::MaxUIOp::create(host, loc, wanted, least);
  exchange.chunks = ceilDiv(exchange.room, exchange.chunkRows);
  if (exchange.isByPart) // whole chunks
    exchange.room = arith::MulIOp::create(host, loc, exchange.chunks, exchange.chunkRows);
}

std::optional<Overlap> Overlap::of(GraphLowering &lowering, OpBuilder &host, moe::ExpertOp op,
                                   const LayoutBuffers &here, int64_t tileRows, Value gathered) {
  std::optional<moe::OverlapChain> chain = moe::overlapOf(op);
  if (!chain)
    return std::nullopt;
  Overlap overlap(lowering, *chain, here);
  overlap.gathered = gathered;
  overlap.allocate(host, tileRows);
  overlap.emitOrder(host, tileRows);
  return overlap;
}

void Overlap::allocate(OpBuilder &host, int64_t tileRows) {
  exchange = lowering.exchanges.lookup(chain.there);
  const Ranks &ranks = exchange->ranks;
  auto flags = [&](StringRef name, int64_t each) {
    OpFoldResult size = host.getIndexAttr(ranks.count * each * moe::ScheduleAttr::mostChunks);
    return ranks.window(host, loc(), nameOf(*exchange, name), host.getI32Type(), size);
  };
  came = flags("chunks came", 1);
  exchange->sumsCame = flags("sums came", slices());
  exchange->slices = slices();
  exchange->sumFlags = arith::MulIOp::create(host, loc(), exchange->chunks,
                                             arith::ConstantIndexOp::create(host, loc(), slices()));
  // An expert's rows of a phase are pieces, of which the last alone may be short.
  mostRecords = host.getIndexAttr(experts());
  if (schedule.getPiece()) {
    pieceRows = std::max<int64_t>(schedule.getPiece() / tileRows, 1) * tileRows;
    OpFoldResult whole = ceilDivSize(host, loc(), sizeOf(host, loc(), here.tokens, 0), pieceRows);
    mostRecords = addSizes(host, loc(), whole, mostRecords);
  }
  auto buffer = [&](ArrayRef<OpFoldResult> sizes) {
    return kernel::allocate(host, loc(), host.getI32Type(), sizes);
  };
  records =
      buffer({mulSizes(host, loc(), {mostRecords, host.getIndexAttr(phases())}), host.getIndexAttr(recordFields)});
  counts = buffer(OpFoldResult(host.getIndexAttr(phases())));
  done = buffer(OpFoldResult(host.getIndexAttr(slices())));
  if (gathered)
    ready = buffer(OpFoldResult(host.getIndexAttr(phases())));
}

std::pair<Value, Value> Overlap::rowsOfChunk(KernelBuilder &b, Value chunk, Value count) {
  Value rows = b.arg(exchange->chunkRows), begin = b.mul(chunk, rows);
  return {begin, b.min(count, b.add(begin, rows))};
}

//===----------------------------------------------------------------------===//
// The products
//===----------------------------------------------------------------------===//

Value Overlap::receivedRows(KernelBuilder &b) {
  Value window = b.arg(exchange->rows);
  return PartOp::create(b, cast<WindowType>(window.getType()).getPart(), window, Value());
}

Value Overlap::rowsOfUp(KernelBuilder &b) { return gathered ? b.arg(gathered) : receivedRows(b); }

TileWalk Overlap::recordsOfPhase(KernelBuilder &b, Value phase) {
  TileWalk walk;
  walk.records = b.arg(records);
  walk.firstRecord = b.mul(phase, b.indexArg(mostRecords));
  walk.count = b.toIndex(b.load(b.arg(counts), phase));
  return walk;
}

void Overlap::awaitRows(KernelBuilder &b, TileWalk &walk) {
  Value flags = b.arg(came), own = b.arg(exchange->ranks.own);
  b.arg(exchange->chunks); // of which errors tell (moe.flags)
  Value epoch = EpochOp::create(b, b.getI32Type(), flags);
  walk.before = [=, exchange = exchange, &b](Value record) {
    auto field = [&](int64_t i) { return b.toIndex(b.load(walk.records, {record, b.idx(i)})); };
    Value first = field(3);
    b.loop(first, b.add(first, field(4)), 1, [&](Value flag) {
      Value source = rankBehind(b, exchange->ranks, own, distanceOfFlag(b, *exchange, flag));
      AwaitOp::create(b, flags, flag, epoch, source);
    });
  };
}

TileWalk Overlap::walkUp(KernelBuilder &b, Value weight) {
  Value phase = PhaseOp::create(b, b.getIndexType());
  TileWalk walk = recordsOfPhase(b, phase);
  walk.firstBlock = b.idx(0);
  walk.blocks = b.dim(weight, 1);
  if (!gathered) {
    awaitRows(b, walk);
    return walk;
  }
  Value counters = b.arg(ready), all = walk.count;
  walk.before = [=, &b](Value) { AwaitArrivalsOp::create(b, counters, phase, all); };
  return walk;
}

TileWalk Overlap::walkDown(KernelBuilder &b, Value weight) {
  TileWalk walk;
  walk.records = b.arg(here.records);
  walk.firstRecord = b.idx(0);
  walk.count = b.toIndex(b.load(b.arg(here.count), b.idx(0)));
  Value phase = PhaseOp::create(b, b.getIndexType());
  walk.blocks = b.idx(cast<MemRefType>(weight.getType()).getDimSize(1) / slices());
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
  Value own = b.arg(ranks.own);
  ReceivedRows there(b, *exchange);
  Value each = b.arg(exchange->chunks);
  Value offsets = b.arg(sent.offsets), tokenOf = b.arg(sent.tokens);
  Value from = b.arg(exchange->tokens), to = b.arg(exchange->rows), flags = b.arg(came);
  Value epoch = EpochOp::create(b, b.getI32Type(), flags);
  // A chunk without rows is told of, too: who waits need not know how many there are.
  b.forall({b.idx(ranks.count), each}, [&](ValueRange at) {
    Value peer = rankBehind(b, ranks, own, b.add(at[0], b.idx(1))), distance = distanceBetween(b, ranks, peer, own);
    Value first = b.toIndex(b.load(offsets, peer)), end = b.toIndex(b.load(offsets, b.add(peer, b.idx(1))));
    auto [begin, stop] = rowsOfChunk(b, at[1], b.sub(end, first));
    b.loop(begin, stop, 1, [&](Value i) {
      Value token = exchange->tokenAt(b, b.toIndex(b.load(tokenOf, b.add(first, i))));
      PutOp::create(b, from, token, to, peer, there.place(distance, i));
    });
    SignalOp::create(b, flags, peer, there.flag(distance, at[1]), epoch);
  });
  OpFoldResult tokens = exchange->tokensOf(host, loc(), exchange->tokens);
  LaunchOp launch =
      b.launch(host, "send_chunks", tokens, mulSizes(host, loc(), {tokens, host.getIndexAttr(ranks.count)}));
  setTraffic(launch, ranks, {sent.offsets, Value(), rowBytes(exchange->tokens), 0});
  setBlocks(launch, schedule.getSend());
  return launch;
}

LaunchOp Overlap::emitGather(OpBuilder &host) {
  KernelBuilder b(lowering.kernels, loc());
  Value from = receivedRows(b), to = b.arg(gathered), tokenOf = b.arg(here.tokens);
  Value phase = PhaseOp::create(b, b.getIndexType());
  TileWalk walk = recordsOfPhase(b, phase);
  awaitRows(b, walk);
  Value counters = b.arg(ready);
  b.forall({walk.count}, [&](ValueRange at) {
    Value record = b.add(walk.firstRecord, at[0]);
    walk.before(record);
    auto field = [&](int64_t i) { return b.toIndex(b.load(walk.records, {record, b.idx(i)})); };
    Value first = field(1);
    b.loop(first, b.add(first, field(2)), 1, [&](Value row) {
      Value token = b.toIndex(b.load(tokenOf, row));
      b.loop(b.idx(0), b.dim(from, 1), 1, [&](Value h) { b.store(b.load(from, {token, h}), to, {row, h}); });
    });
    ArriveOp::create(b, counters, phase);
  });
  OpFoldResult rows = sizeOf(host, loc(), here.tokens, 0), width = sizeOf(host, loc(), exchange->tokens, 1);
  LaunchOp launch = b.launch(host, "gather_records_" + Twine(experts()), rows, mulSizes(host, loc(), {rows, width}));
  launch.setPhases(phases());
  return launch;
}

LaunchOp Overlap::emitReturn(OpBuilder &host, Value rows, Value pieces) {
  const Ranks &ranks = exchange->ranks;
  const int64_t slices = this->slices(), columns = cast<ShapedType>(chain.sum.getType()).getDimSize(1);
  const int64_t width = columns / slices;
  const int64_t blocks = llvm::divideCeil(columns, tilesOf(chain.expert, 1).blockColumns) / slices;
  Value weights = chain.sum.getWeights() ? exchange->received.lookup(chain.sum.getWeights()) : Value();
  KernelBuilder b(lowering.kernels, loc());
  SlotSums sums(b, chain.sum, here, rows, weights);
  Value made = b.arg(pieces), to = b.arg(exchange->sums), flags = b.arg(exchange->sumsCame), finished = b.arg(done);
  Value arrived = b.arg(exchange->arrived), firsts = b.arg(exchange->firsts);
  Value own = b.arg(ranks.own);
  ReceivedRows came(b, *exchange);
  Value each = b.arg(exchange->chunks);
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
      Value row = came.place(distance, i), piece = pieceOf(row);
      sums.forColumns(row, firstColumn, endColumn, [&](Value sum, Value column) {
        b.store(b.convert(sum, getElementTypeOrSelf(made)), made, {piece, b.sub(column, firstColumn)});
      });
      PutOp::create(b, made, piece, to, peer, pieceOf(b.add(place, i)));
    });
    Value flag = b.add(b.mul(distanceBetween(b, ranks, peer, own), b.idx(slices)), phase);
    SignalOp::create(b, flags, peer, b.add(b.mul(flag, each), at[1]), epoch);
  });
  OpFoldResult received = sizeOf(host, loc(), here.places, 0);
  LaunchOp launch = b.launch(host, "return_sums_" + Twine(experts()) + sums.name(), received,
                             mulSizes(host, loc(), {received, host.getIndexAttr(2 * columns)}));
  const int64_t bytes = columns * chain.sum.getType().getElementTypeBitWidth() / 8;
  setTraffic(launch, ranks, {exchange->arrived, Value(), bytes, 0});
  launch.setPhases(slices);
  launch.setLag(1);
  setBlocks(launch, schedule.getBack());
  return launch;
}

/// On a CPU every member has a block for each thread: blocks of one member that wait hold no other's.
void Overlap::setBlocks(LaunchOp member, int64_t blocks) {
  TargetAttrInterface target = targetOf(lowering.module);
  if (blocks && target && !target.isHost())
    member.setBlocks(blocks);
}

void Overlap::join(ArrayRef<LaunchOp> members, ConversionPatternRewriter &rewriter) {
  auto group = LaunchGroupOp::create(rewriter, loc());
  Block *body = rewriter.createBlock(&group.getBody());
  for (LaunchOp member : members)
    rewriter.moveOpBefore(member, body, body->end());
  rewriter.setInsertionPointAfter(group);
}

void Overlap::sendUnder(LaunchOp up, ConversionPatternRewriter &rewriter) {
  SmallVector<LaunchOp> members = {emitSend(rewriter)};
  if (gathered)
    members.push_back(emitGather(rewriter));
  members.push_back(up);
  up.setPhases(phases());
  setFlags(members[1], exchange->chunks, /*slices=*/0, exchange->isByPart ? exchange->ranks.count : 1);
  for (LaunchOp member : members)
    setPhase(member, exchange->layer, exchange->rowsAre);
  join(members, rewriter);
}

void Overlap::returnUnder(LaunchOp down, Value rows, ConversionPatternRewriter &rewriter) {
  std::string which = exchange->returns ? " of " + std::to_string(exchange->returns) : "";
  auto sums = cast<RankedTensorType>(chain.sum.getType());
  OpFoldResult sizes[] = {
      mulSizes(rewriter, loc(), {exchange->room, rewriter.getIndexAttr(exchange->ranks.count * slices())}),
      rewriter.getIndexAttr(sums.getDimSize(1) / slices())};
  Type element = sums.getElementType();
  exchange->sums = exchange->ranks.window(rewriter, loc(), nameOf(*exchange, "sums" + which), element, sizes);
  LaunchOp back = emitReturn(rewriter, rows, kernel::allocate(rewriter, loc(), element, sizes));
  down.setPhases(slices());
  for (LaunchOp member : {down, back})
    setPhase(member, exchange->layer, exchange->sumsAre);
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
  const int64_t slices = expert.getScheduleAttr().getSliceCount();
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
  setPhase(launch, exchange.layer, exchange.sumsAre);
  setFlags(launch, exchange.sumFlags, exchange.slices, /*stride=*/1);
  setTraffic(launch, ranks, {Value(), exchange.sumFlags, flagBytes, 0});
}
