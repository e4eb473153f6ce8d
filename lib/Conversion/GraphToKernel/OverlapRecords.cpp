//===- OverlapRecords.cpp - rows of the first product by phase ----------------------------------------------------===//
//
// Rows of an expert stand by place, which is by source or by part. So a phase's rows of an expert are a range, whose
// end is searched for. A range ends where a tile ends, and what is left over goes to the next phase. Pieces of a range
// end where tiles end, too. So there are as many tiles as in one phase.
//
// A phase is the work of a block, which needs nothing of the others: it finds the ranges of its experts, adds up how
// many records come before each one's, and writes them.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Overlap.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

namespace {
/// The kernel under construction.
class RecordProgram {
public:
  RecordProgram(KernelBuilder &b, const LayoutBuffers &layout, const RowExchange &exchange, int64_t experts,
                int64_t tileRows, int64_t pieceRows)
      : b(b), offsets(b.arg(layout.offsets)), tokenOf(b.arg(layout.tokens)), came(b, exchange), experts(experts),
        tileRows(tileRows), pieceRows(pieceRows) {}

  void emit(ArrayRef<int64_t> steps, Value to, Value found, Value ranges, Value recordsOfPhase, Value phase) {
    findRanges(steps, ranges, phase);
    Value count = b.independentLoop(b.idx(0), b.idx(experts), number(0), [&](Value e, ValueRange before) {
      b.store(before[0], ranges, {phase, e, b.idx(2)});
      Value rows = b.sub(field(ranges, phase, e, 1), field(ranges, phase, e, 0));
      Value records = arith::AddIOp::create(b, before[0], b.toI32(recordsOf(rows)));
      return SmallVector<Value>{records};
    })[0];
    b.store(count, found, phase);
    forExperts([&](Value e) {
      Value begin = field(ranges, phase, e, 0), end = field(ranges, phase, e, 1);
      Value first = b.add(b.mul(phase, recordsOfPhase), field(ranges, phase, e, 2));
      b.loop(b.idx(0), recordsOf(b.sub(end, begin)), 1, [&](Value piece) {
        Value start = pieceRows ? b.add(begin, b.mul(piece, b.idx(pieceRows))) : begin;
        Value stop = pieceRows ? b.min(end, b.add(start, b.idx(pieceRows))) : end;
        writeRecord(to, b.add(first, piece), e, start, stop);
      });
    });
  }

private:
  Value number(int64_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); }
  Value equals(Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y); }
  Value choose(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
  Value field(Value ranges, Value phase, Value e, int64_t i) {
    return b.toIndex(b.load(ranges, {phase, e, b.idx(i)}));
  }

  /// `body` for every expert.
  void forExperts(KernelBuilder::Loop body) {
    constexpr int64_t strip = 32;
    b.parallel(b.idx(0), b.idx(llvm::divideCeil(experts, strip)), [&](Value part) {
      Value begin = b.mul(part, b.idx(strip));
      b.independentLoop(begin, b.min(b.idx(experts), b.add(begin, b.idx(strip))), body);
    });
  }

  /// ranges[phase, e, 0 .. 1]: the rows of expert e that the phase takes.
  void findRanges(ArrayRef<int64_t> steps, Value ranges, Value phase) {
    // Places below these are those of the phases before, and of this one. The last one takes what is left.
    constexpr int64_t everything = std::numeric_limits<int32_t>::max();
    Value from = b.idx(0), to = b.idx(everything);
    int64_t sources = 0;
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      Value end = came.end(sources += steps[i]);
      to = choose(equals(phase, b.idx(i)), end, to);
      from = choose(equals(phase, b.idx(i + 1)), end, from);
    }
    forExperts([&](Value e) {
      Value first = b.toIndex(b.load(offsets, e)), end = b.toIndex(b.load(offsets, b.add(e, b.idx(1))));
      Value all = b.sub(end, first), begin = first, stop = end;
      if (steps.size() > 1) {
        begin = b.add(first, wholeTiles(first, all, from, equals(phase, b.idx(0)), b.idx(0)));
        stop = b.add(first, wholeTiles(first, all, to, equals(phase, b.idx(steps.size() - 1)), all));
      }
      b.store(b.toI32(begin), ranges, {phase, e, b.idx(0)});
      b.store(b.toI32(stop), ranges, {phase, e, b.idx(1)});
    });
  }

  /// The rows with places below `limit` of `all` rows from `first` on, in whole tiles or all; `known` if `isKnown`.
  Value wholeTiles(Value first, Value all, Value limit, Value isKnown, Value known) {
    Value count = choose(isKnown, known, countBelow(first, all, limit, isKnown));
    Value whole = b.mul(b.div(count, b.idx(tileRows)), b.idx(tileRows));
    return choose(equals(count, all), count, whole);
  }

  /// How many of the ascending places of `count` rows from `first` on are below `limit`. Counts are in 31 bits.
  Value countBelow(Value first, Value count, Value limit, Value isKnown) {
    Value nothing = arith::OrIOp::create(b, isKnown, equals(count, b.idx(0)));
    Value bits = choose(nothing, b.idx(0), b.idx(31));
    Value start[] = {b.idx(0), b.idx(int64_t(1) << 30)};
    return b.loop(b.idx(0), bits, 1, start, [&](Value, ValueRange at) {
      Value more = b.add(at[0], at[1]), last = b.sub(b.add(first, b.min(more, count)), b.idx(1));
      Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, more, count);
      Value place = b.toIndex(b.load(tokenOf, last));
      Value isBelow = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, place, limit);
      Value take = arith::AndIOp::create(b, fits, isBelow);
      return SmallVector<Value>{choose(take, more, at[0]), b.div(at[1], b.idx(2))};
    })[0];
  }

  /// Records of so many rows of an expert.
  Value recordsOf(Value rows) { return pieceRows ? b.ceilDiv(rows, pieceRows) : b.min(rows, b.idx(1)); }

  /// A record of the rows [begin, end), with the flags that they stand behind.
  void writeRecord(Value to, Value record, Value expert, Value begin, Value end) {
    Value firstFlag = came.flagOf(b.toIndex(b.load(tokenOf, begin)));
    Value lastFlag = came.flagOf(b.toIndex(b.load(tokenOf, b.sub(end, b.idx(1)))));
    Value fields[] = {expert, begin, b.sub(end, begin), firstFlag, b.add(b.sub(lastFlag, firstFlag), b.idx(1))};
    for (auto [i, value] : llvm::enumerate(fields))
      b.store(b.toI32(value), to, {record, b.idx(i)});
  }

  KernelBuilder &b;
  Value offsets, tokenOf;
  ReceivedRows came;
  int64_t experts, tileRows, pieceRows;
};
} // namespace

void Overlap::emitOrder(OpBuilder &host, int64_t tileRows) {
  Value ranges = kernel::allocate(host, loc(), MemRefType::get({phases(), experts(), 3}, host.getI32Type()), {});
  KernelBuilder b(lowering.kernels, loc());
  RecordProgram program(b, here, *exchange, experts(), tileRows, pieceRows);
  Value to = b.arg(records), found = b.arg(counts), finished = b.arg(done), ofPhases = b.arg(ranges);
  Value brought = gathered ? b.arg(ready) : Value();
  Value ofPhase = b.indexArg(mostRecords), nothing = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  b.forall({b.idx(phases())}, [&](ValueRange phase) {
    program.emit(schedule.getPhases(), to, found, ofPhases, ofPhase, phase[0]);
    b.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, phase[0], b.idx(0)), [&] {
      b.loop(b.idx(0), b.dim(finished, 0), 1, [&](Value slice) { b.store(nothing, finished, slice); });
      if (gathered)
        b.loop(b.idx(0), b.dim(brought, 0), 1, [&](Value each) { b.store(nothing, brought, each); });
    });
  });
  b.arg(exchange->chunks); // for the traffic
  OpFoldResult rows = sizeOf(host, loc(), here.tokens, 0);
  LaunchOp launch = b.launch(host, "order_records_" + Twine(experts()), rows,
                             mulSizes(host, loc(), {rows, host.getIndexAttr(phases())}), /*single=*/phases() == 1);
  setPhase(launch, exchange->layer, exchange->rowsAre);
  // The flags of the chunks that are sent next.
  setTraffic(launch, exchange->ranks, {Value(), exchange->chunks, flagBytes, 0});
}
