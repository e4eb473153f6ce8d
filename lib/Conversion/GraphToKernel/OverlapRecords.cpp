//===- OverlapRecords.cpp - rows of the first product by phase ----------------------------------------------------===//
//
// Rows of an expert stand by place, which is by source or by part. So a phase's rows of an expert are a range, whose
// end is searched for. A range ends where a tile ends, and what is left over goes to the next phase. Pieces of a range
// end where tiles end, too. So there are as many tiles as in one phase.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Overlap.h"

using namespace mlir;
using namespace mlir::kernel;

static constexpr int64_t flagBytes = 4;

/// How many of the ascending numbers `values`[first ... first + count - 1] are below `limit`. Counts are in 31 bits.
static Value countBelow(KernelBuilder &b, Value values, Value first, Value count, Value limit) {
  Value none = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, b.idx(0));
  Value bits = arith::SelectOp::create(b, none, b.idx(0), b.idx(31));
  Value start[] = {b.idx(0), b.idx(int64_t(1) << 30)};
  return b.loop(b.idx(0), bits, 1, start, [&](Value, ValueRange at) {
    Value found = b.add(at[0], at[1]);
    Value last = b.sub(b.add(first, b.min(found, count)), b.idx(1));
    Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, found, count);
    Value isBelow = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, b.toIndex(b.load(values, last)), limit);
    Value more = arith::AndIOp::create(b, fits, isBelow);
    return SmallVector<Value>{arith::SelectOp::create(b, more, found, at[0]), b.div(at[1], b.idx(2))};
  })[0];
}

/// Writes a record of the rows [begin, end).
static void emitRecord(KernelBuilder &b, ReceivedRows &came, Value tokenOf, Value to, Value record, Value expert,
                       Value begin, Value end) {
  Value firstFlag = came.flagOf(b.toIndex(b.load(tokenOf, begin)));
  Value lastFlag = came.flagOf(b.toIndex(b.load(tokenOf, b.sub(end, b.idx(1)))));
  Value fields[] = {expert, begin, b.sub(end, begin), firstFlag, b.add(b.sub(lastFlag, firstFlag), b.idx(1))};
  for (auto [i, field] : llvm::enumerate(fields))
    b.store(b.toI32(field), to, {record, b.idx(i)});
}

void Overlap::emitOrder(OpBuilder &host, int64_t tileRows) {
  KernelBuilder b(lowering.kernels, loc());
  Value offsets = b.arg(here.offsets), tokenOf = b.arg(here.tokens);
  ReceivedRows came(b, *exchange);
  Value to = b.arg(records), found = b.arg(counts), finished = b.arg(done), zero = b.idx(0), one = b.idx(1);
  Value nothing = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  b.loop(zero, b.dim(finished, 0), 1, [&](Value slice) { b.store(nothing, finished, slice); });

  const SmallVector<int64_t> steps = schedule.getPhases();
  SmallVector<Value> firsts, ends; // of the phases: their records, and the places of their rows
  int64_t sources = 0;
  for (auto [phase, step] : llvm::enumerate(steps)) {
    firsts.push_back(b.mul(b.idx(phase), b.indexArg(recordsOfPhase)));
    ends.push_back(came.end(sources += step));
  }
  SmallVector<Value> none(steps.size(), zero);
  SmallVector<Value> sums = b.loop(zero, b.idx(experts()), 1, none, [&](Value e, ValueRange before) {
    Value first = b.toIndex(b.load(offsets, e)), end = b.toIndex(b.load(offsets, b.add(e, one)));
    Value all = b.sub(end, first), begin = first;
    SmallVector<Value> after;
    for (size_t phase = 0; phase < steps.size(); ++phase) {
      Value limit = end;
      if (phase + 1 < steps.size()) {
        Value count = countBelow(b, tokenOf, first, all, ends[phase]);
        Value whole = b.mul(b.div(count, b.idx(tileRows)), b.idx(tileRows));
        Value isAll = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, all);
        limit = b.add(first, arith::SelectOp::create(b, isAll, count, whole));
      }
      Value record = b.add(firsts[phase], before[phase]), written;
      if (pieceRows) {
        written = b.ceilDiv(b.sub(limit, begin), pieceRows);
        b.loop(zero, written, 1, [&](Value piece) {
          Value start = b.add(begin, b.mul(piece, b.idx(pieceRows)));
          emitRecord(b, came, tokenOf, to, b.add(record, piece), e, start,
                     b.min(limit, b.add(start, b.idx(pieceRows))));
        });
      } else {
        Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, begin, limit);
        b.branch(exists, [&] { emitRecord(b, came, tokenOf, to, record, e, begin, limit); });
        written = arith::SelectOp::create(b, exists, one, zero);
      }
      after.push_back(b.add(before[phase], written));
      begin = limit;
    }
    return after;
  });
  for (auto [phase, sum] : llvm::enumerate(sums))
    b.store(b.toI32(sum), found, b.idx(phase));
  b.arg(exchange->chunks); // for the traffic
  OpFoldResult rows = sizeOf(host, loc(), here.tokens, 0);
  LaunchOp launch = b.launch(host, "order_records_" + Twine(experts()), rows,
                             mulSizes(host, loc(), {rows, host.getIndexAttr(phases())}), /*single=*/true);
  setPhase(launch, exchange->layer, "rows to experts");
  // The flags of the chunks that are sent next.
  setTraffic(launch, exchange->ranks, {Value(), exchange->chunks, flagBytes, 0});
}
