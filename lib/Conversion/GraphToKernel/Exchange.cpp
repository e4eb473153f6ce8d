//===- Exchange.cpp - moe.all_to_all: rows to the ranks of their experts, and sums back ---------------------------===//
//
// Rows are stored where the receiver expects those of this source, so nobody waits before he sends: the source that
// stands s places behind a rank has rows s * room ... of its window. How many there are, and where the sender wants
// their sums, goes with the flag. The receiver sends one sum for each row that came, to exactly there, so that sums
// stand in the order of the sender's layout.
//
// The next layer uses the same windows. Their rows were read by then: who begins the next exchange has all sums of this
// one, which were made of them (docs/rationale/exchange.md).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Overlap.h"
#include "PassLoop.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

/// Bytes that go to each rank with the rows, beside a flag: an announcement of two numbers.
static constexpr int64_t announcementBytes = 8;

namespace {
/// What is copied row by row, and the window that it goes to.
struct Traveller {
  Value source, window;
};
} // namespace

/// Exchanges of a grid that are on their way at the same time have windows of their own, by this number. An exchange is
/// over when all that returns from it has returned; of one without a way back nobody knows.
static unsigned numberOf(moe::AllToAllOp op, const GraphLowering &lowering) {
  llvm::SmallDenseSet<unsigned> taken;
  for (auto &[other, exchange] : lowering.exchanges) {
    auto returns = llvm::make_filter_range(other->getUsers(), llvm::IsaPred<moe::AllToAllOp>);
    auto isBack = [&](Operation *back) { return back->getBlock() == op->getBlock() && back->isBeforeInBlock(op); };
    bool isOver = !returns.empty() && llvm::all_of(returns, isBack);
    if (!isOver && other->getBlock() == op->getBlock() && exchange->ranks.grid == op.getGridAttr())
      taken.insert(exchange->number);
  }
  unsigned number = 0;
  while (taken.contains(number))
    ++number;
  return number;
}

std::string mlir::kernel::nameOf(const RowExchange &exchange, const Twine &name) {
  return exchange.number ? (name + " " + Twine(exchange.number)).str() : name.str();
}

Value mlir::kernel::windowFor(OpBuilder &host, Location loc, const RowExchange &exchange, const Twine &name,
                              Value rows) {
  SmallVector<OpFoldResult> sizes = sizesOf(host, loc, rows);
  sizes[0] = mulSizes(host, loc, {exchange.room, host.getIndexAttr(exchange.ranks.count)});
  return exchange.ranks.window(host, loc, nameOf(exchange, name), getElementTypeOrSelf(rows), sizes);
}

OpFoldResult RowExchange::tokensOf(OpBuilder &host, Location loc, Value tokens) const {
  return firstToken ? OpFoldResult(room) : sizeOf(host, loc, tokens, 0);
}

Value RowExchange::tokenAt(KernelBuilder &b, Value token) const {
  return firstToken ? b.add(b.arg(firstToken), token) : token;
}

/// Kernels count rows in i32. What the ranks agree on also bounds what another rank could have this one index.
static void emitRoomCheck(OpBuilder &host, Location loc, const Ranks &ranks, Value room) {
  int64_t most = std::numeric_limits<int32_t>::max() / ranks.count;
  Value limit = arith::ConstantIndexOp::create(host, loc, most);
  Value fits = arith::CmpIOp::create(host, loc, arith::CmpIPredicate::sle, room, limit);
  CheckOp::create(host, loc, fits,
                  host.getStringAttr("a rank has {0} tokens; the rows of all ranks are numbered in 32 bits, so that each "
                                     "can have " +
                                     Twine(most)),
                  ValueRange{room});
}

/// Sends the tokens' and companions' rows to the ranks of `layout`.
static LaunchOp emitSend(GraphLowering &lowering, OpBuilder &host, Location loc, const RowExchange &exchange,
                         const LayoutBuffers &layout, ArrayRef<Traveller> travellers) {
  const Ranks &ranks = exchange.ranks;
  OpFoldResult tokens = exchange.tokensOf(host, loc, travellers[0].source);
  KernelBuilder b(lowering.kernels, loc);
  Value own = b.arg(ranks.own);
  ReceivedRows there(b, exchange);
  Value offsets = b.arg(layout.offsets), tokenOf = b.arg(layout.tokens);
  SmallVector<Traveller> args;
  for (const Traveller &traveller : travellers)
    args.push_back({b.arg(traveller.source), b.arg(traveller.window)});
  // Each rank begins with another one, and ends with itself.
  b.forall({b.idx(ranks.count), b.indexArg(tokens)}, [&](ValueRange at) {
    Value peer = rankBehind(b, ranks, own, b.add(at[0], b.idx(1)));
    Value row = b.add(b.toIndex(b.load(offsets, peer)), at[1]);
    Value end = b.toIndex(b.load(offsets, b.add(peer, b.idx(1))));
    b.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, end), [&] {
      Value token = exchange.tokenAt(b, b.toIndex(b.load(tokenOf, row)));
      Value place = there.place(distanceBetween(b, ranks, peer, own), at[1]);
      for (const Traveller &traveller : args)
        PutOp::create(b, traveller.source, token, traveller.window, peer, place);
    });
  });
  int64_t bytes = 0;
  for (const Traveller &traveller : travellers)
    bytes += rowBytes(traveller.source);
  LaunchOp launch = b.launch(host, "send_rows", tokens, mulSizes(host, loc, {tokens, host.getIndexAttr(ranks.count)}));
  setTraffic(launch, ranks, {layout.offsets, Value(), bytes, 0});
  return launch;
}

/// What ranks tell each other of the rows that they send: where their sums go, and how many they are.
static Value announcementsOf(OpBuilder &host, Location loc, const RowExchange &exchange) {
  return exchange.ranks.window(host, loc, nameOf(exchange, "announcements"), host.getI32Type(),
                               {host.getIndexAttr(exchange.ranks.count), host.getIndexAttr(2)});
}

/// Tells every rank how many rows it gets and where their sums go.
static LaunchOp emitAnnouncement(GraphLowering &lowering, OpBuilder &host, Location loc, const RowExchange &exchange,
                                 const LayoutBuffers &layout, Value announcements) {
  const Ranks &ranks = exchange.ranks;
  auto tell = [&](KernelBuilder &b, Value peer, Value distance) {
    Value offsets = b.arg(layout.offsets), there = partOf(b, b.arg(announcements), peer);
    Value first = b.load(offsets, peer), end = b.load(offsets, b.add(peer, b.idx(1)));
    b.store(first, there, {distance, b.idx(0)});
    b.store(arith::SubIOp::create(b, end, first), there, {distance, b.idx(1)});
  };
  LaunchOp launch = emitSignal(lowering, host, loc, ranks, exchange.came, "announce_rows", tell);
  setTraffic(launch, ranks, {Value(), Value(), 0, announcementBytes + flagBytes});
  return launch;
}

/// Waits for what the others tell. Those are numbers from outside, which a fault there may have damaged: they are
/// limited to what the window holds.
static LaunchOp emitArrival(GraphLowering &lowering, OpBuilder &host, Location loc, const RowExchange &exchange,
                            Value announcements) {
  const Ranks &ranks = exchange.ranks;
  Value mine = ownPart(host, loc, announcements);
  auto listen = [&](KernelBuilder &b) {
    Value told = b.arg(mine), arrived = b.arg(exchange.arrived), firsts = b.arg(exchange.firsts);
    Value room = b.arg(exchange.room), all = b.mul(room, b.idx(ranks.count)), own = b.arg(ranks.own);
    Value zero = b.idx(0);
    Value sum = b.loop(zero, b.idx(ranks.count), 1, zero, [&](Value peer, ValueRange before) {
      Value distance = distanceBetween(b, ranks, own, peer);
      auto field = [&](int64_t i) { return b.toIndex(b.load(told, {distance, b.idx(i)})); };
      Value count = b.max(zero, b.min(field(1), room));
      b.store(b.toI32(before[0]), arrived, peer);
      b.store(b.toI32(b.max(zero, b.min(field(0), b.sub(all, count)))), firsts, peer);
      return SmallVector<Value>{b.add(before[0], count)};
    })[0];
    b.store(b.toI32(sum), arrived, b.idx(ranks.count));
  };
  return emitAwait(lowering, host, loc, ranks, exchange.came, "await_rows", listen);
}

bool mlir::kernel::goToExperts(Value received) {
  return llvm::all_of(received.getUses(), [](OpOperand &use) {
    auto dispatch = dyn_cast<moe::DispatchOp>(use.getOwner());
    return dispatch && dispatch.getAt() && &use == &dispatch.getExpertsMutable();
  });
}

/// Integers of the rows that came, [S] or [S, k], -1 in rows that do not exist.
static Value emitReceivedIds(GraphLowering &lowering, OpBuilder &host, Location loc, const RowExchange &exchange,
                             Value received) {
  SmallVector<OpFoldResult> sizes = sizesOf(host, loc, received);
  Value result = allocate(host, loc, cast<MemRefType>(received.getType()), sizes);
  KernelBuilder b(lowering.kernels, loc);
  Value from = b.arg(received), to = b.arg(result);
  Value none = arith::ConstantOp::create(b, b.getIntegerAttr(getElementTypeOrSelf(received), -1));
  b.forall({b.dim(to, 0)}, [&](ValueRange at) {
    Value exists = rowExists(b, exchange, at[0]);
    auto copy = [&](ValueRange place) {
      b.store(arith::SelectOp::create(b, exists, b.load(from, place), none), to, place);
    };
    if (sizes.size() == 1)
      copy(at);
    else
      b.loop(b.idx(0), b.dim(to, 1), 1, [&](Value j) { copy({at[0], j}); });
  });
  b.launch(host, "received_ids", sizes[0], mulSizes(host, loc, sizes));
  return result;
}

/// Sends the sum of each row that came to where its source wants it.
static LaunchOp emitReturn(GraphLowering &lowering, OpBuilder &host, Location loc, const RowExchange &exchange,
                           Value sums, Value window) {
  const Ranks &ranks = exchange.ranks;
  KernelBuilder b(lowering.kernels, loc);
  Value from = b.arg(sums), to = b.arg(window), own = b.arg(ranks.own), room = b.arg(exchange.room);
  Value arrived = b.arg(exchange.arrived), firsts = b.arg(exchange.firsts);
  b.forall({b.idx(ranks.count), room}, [&](ValueRange at) {
    Value distance = b.rem(b.add(at[0], b.idx(1)), b.idx(ranks.count)), peer = rankBehind(b, ranks, own, distance);
    b.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at[1], rowsOf(b, arrived, peer)), [&] {
      Value row = b.add(b.mul(distance, room), at[1]);
      PutOp::create(b, from, row, to, peer, b.add(b.toIndex(b.load(firsts, peer)), at[1]));
    });
  });
  OpFoldResult rows = sizeOf(host, loc, sums, 0);
  LaunchOp launch = b.launch(host, "send_sums", rows, mulSizes(host, loc, sizesOf(host, loc, sums)));
  setTraffic(launch, ranks, {exchange.arrived, Value(), rowBytes(sums), 0});
  return launch;
}

namespace {
struct ExchangeLowering : GraphPattern<moe::AllToAllOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(moe::AllToAllOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const PassLoop *pass = enterPasses(lowering, op, rewriter);
    SmallVector<SmallVector<Value>> results =
        op.getInverse() ? lowerReturn(op, adaptor, rewriter) : lowerSend(op, adaptor, rewriter, pass);
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }

private:
  SmallVector<SmallVector<Value>> lowerSend(moe::AllToAllOp op, OneToNOpAdaptor adaptor,
                                            ConversionPatternRewriter &rewriter, const PassLoop *pass) const {
    Location loc = op.getLoc();
    auto dispatch = op.getRows().getDefiningOp<moe::DispatchOp>();
    LayoutBuffers layout(adaptor.getLayout());
    Value tokens = rewriter.getRemappedValue(dispatch.getTokens());
    auto exchange = std::make_shared<RowExchange>(
        RowExchange{Ranks(rewriter, loc, lowering.module, op.getGrid()), layerName(op), layout.values(), {}, {}, {}, {}});
    const Ranks &ranks = exchange->ranks;
    if (dispatch.getAt()) // from a node to its ranks
      exchange->sumsAre = "sums to nodes";
    else if (moe::axisOf(op, op.getGridAttr()))
      exchange->rowsAre = "rows to nodes";
    if (pass) {
      exchange->room = getValueOrCreateConstantIndexOp(rewriter, loc, pass->size);
      exchange->firstToken = pass->first;
    } else {
      exchange->room = ranks.largest(rewriter, loc, sizeOf(rewriter, loc, tokens, 0));
    }
    emitRoomCheck(rewriter, loc, ranks, pass ? pass->room : exchange->room);
    if (std::optional<moe::OverlapChain> chain = moe::overlapOf(op)) {
      cutIntoChunks(rewriter, loc, *exchange, chain->expert.getScheduleAttr());
      if (exchange->isByPart)
        emitRoomCheck(rewriter, loc, ranks, exchange->room);
    }
    exchange->number = numberOf(op, lowering);
    exchange->came = ranks.flags(rewriter, loc, nameOf(*exchange, "came"));
    exchange->arrived = allocate(rewriter, loc, rewriter.getI32Type(),
                                 OpFoldResult(rewriter.getIndexAttr(ranks.count + 1)));
    exchange->firsts = allocate(rewriter, loc, rewriter.getI32Type(), OpFoldResult(rewriter.getIndexAttr(ranks.count)));
    lowering.exchanges[op] = exchange;

    SmallVector<Traveller> travellers = {{tokens, windowFor(rewriter, loc, *exchange, "rows", tokens)}};
    for (auto [i, companion] : llvm::enumerate(adaptor.getCompanions()))
      travellers.push_back(
          {companion[0], windowFor(rewriter, loc, *exchange, "companion" + Twine(i), companion[0])});
    emitAdvance(lowering, rewriter, loc, ranks, exchange->came);
    StringRef phase = exchange->rowsAre;
    ArrayRef<Traveller> sent = travellers;
    if (moe::overlapOf(op)) {
      exchange->tokens = tokens;
      exchange->rows = travellers[0].window;
      sent = sent.drop_front();
    }
    setPhase(emitSend(lowering, rewriter, loc, *exchange, layout, sent), exchange->layer, phase);
    Value announcements = announcementsOf(rewriter, loc, *exchange);
    setPhase(emitAnnouncement(lowering, rewriter, loc, *exchange, layout, announcements), exchange->layer, phase);
    setPhase(emitArrival(lowering, rewriter, loc, *exchange, announcements), exchange->layer, phase);

    SmallVector<SmallVector<Value>> results = {{ownPart(rewriter, loc, travellers[0].window)}};
    // Nothing but the way back reads this layout, and that has the exchange.
    results.push_back(LayoutBuffers::allocate(rewriter, loc, op.getResultLayout().getType(), rewriter.getIndexAttr(0),
                                              rewriter.getIndexAttr(0))
                          .values());
    for (auto [companion, result] : llvm::zip_equal(ArrayRef(travellers).drop_front(), op.getReceived())) {
      Value received = ownPart(rewriter, loc, companion.window);
      if (getElementTypeOrSelf(received).isInteger() && !goToExperts(result))
        received = emitReceivedIds(lowering, rewriter, loc, *exchange, received);
      exchange->received[result] = received;
      results.push_back({received});
    }
    return results;
  }

  SmallVector<SmallVector<Value>> lowerReturn(moe::AllToAllOp op, OneToNOpAdaptor adaptor,
                                              ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    RowExchange &exchange = *lowering.exchanges.lookup(op.getLayout().getDefiningOp());
    if (exchange.sums) {
      emitAwaitSums(lowering, rewriter, op);
      return {{adaptor.getRows()[0]}, exchange.layout};
    }
    // Several experts of one dispatch return by themselves.
    std::string which = exchange.returns ? " of " + std::to_string(exchange.returns) : "";
    ++exchange.returns;
    Value sums = adaptor.getRows()[0], window = windowFor(rewriter, loc, exchange, "sums" + which, sums);
    Value returned = exchange.ranks.flags(rewriter, loc, nameOf(exchange, "returned" + which));
    StringRef phase = exchange.sumsAre;
    setPhase(emitReturn(lowering, rewriter, loc, exchange, sums, window), exchange.layer, phase);
    LaunchOp signal = emitSignal(lowering, rewriter, loc, exchange.ranks, returned);
    setPhase(signal, exchange.layer, phase);
    setTraffic(signal, exchange.ranks, {Value(), Value(), 0, flagBytes});
    setPhase(emitAwait(lowering, rewriter, loc, exchange.ranks, returned), exchange.layer, phase);
    return {{ownPart(rewriter, loc, window)}, exchange.layout};
  }
};
} // namespace

void mlir::kernel::populateExchangePatterns(const TypeConverter &converter, GraphLowering &lowering,
                                            RewritePatternSet &patterns) {
  patterns.add<ExchangeLowering>(converter, lowering);
}
