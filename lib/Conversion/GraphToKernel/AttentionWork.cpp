//===- AttentionWork.cpp - how many keys the queries of an attention see ----------------------------------------===//
//
// Query s of a batch row stands at q = position + s. Of `length` valid keys it has min(q + 1, length) at or before its
// position and min(max(q + 1 - window, 0), length) before its window. Over the queries both are sums of consecutive
// integers clamped to [0, length], so each is a difference of two closed forms.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "AttentionWork.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kernel;

AttentionWork::AttentionWork(OpBuilder &host, nn::AttentionOp op, Value positions, Value lengths, OpFoldResult batch,
                             OpFoldResult queries, OpFoldResult cacheLength)
    : b(op.getLoc(), host), op(op), positions(positions), lengths(lengths),
      batch(getValueOrCreateConstantIndexOp(b, op.getLoc(), batch)),
      queries(getValueOrCreateConstantIndexOp(b, op.getLoc(), queries)),
      cacheLength(getValueOrCreateConstantIndexOp(b, op.getLoc(), cacheLength)) {}

Value AttentionWork::constant(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
Value AttentionWork::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
Value AttentionWork::sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(x, y); }
Value AttentionWork::mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(x, y); }
Value AttentionWork::min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(x, y); }
Value AttentionWork::max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(x, y); }

Value AttentionWork::load(Value buffer, Value row) {
  return arith::IndexCastOp::create(b, b.getIndexType(), memref::LoadOp::create(b, buffer, row));
}

OpFoldResult AttentionWork::sumOverBatch(llvm::function_ref<Value(const Row &)> count) {
  if (!positions && !lengths)
    return getAsOpFoldResult(mul(batch, count({constant(0), cacheLength})));
  Value zero = constant(0);
  auto loop = scf::ForOp::create(b, zero, batch, constant(1), ValueRange(zero));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Row row{zero, cacheLength};
  if (positions)
    row.position = load(positions, loop.getInductionVar());
  if (lengths)
    row.length = max(zero, min(cacheLength, load(lengths, loop.getInductionVar())));
  scf::YieldOp::create(b, ValueRange(add(loop.getRegionIterArg(0), count(row))));
  return loop.getResult(0);
}

/// Sum over i = 1 .. count of min(i, length).
Value AttentionWork::seenUpTo(Value count, Value length) {
  Value rising = max(constant(0), min(count, length));
  Value sum = b.createOrFold<arith::DivUIOp>(mul(rising, add(rising, constant(1))), constant(2));
  return add(sum, mul(max(constant(0), sub(count, length)), length));
}

/// Sum over the queries s of min(max(first + s + 1, 0), length).
Value AttentionWork::seenFrom(Value first, const Row &row) {
  return sub(seenUpTo(add(first, queries), row.length), seenUpTo(first, row.length));
}

OpFoldResult AttentionWork::pairs() {
  return sumOverBatch([&](const Row &row) {
    Value seen = op.getCausal() ? seenFrom(row.position, row) : mul(queries, row.length);
    if (op.getWindow())
      seen = sub(seen, seenFrom(sub(row.position, constant(*op.getWindow())), row));
    return seen;
  });
}

OpFoldResult AttentionWork::keys() {
  return sumOverBatch(
      [&](const Row &row) { return op.getCausal() ? min(row.length, add(row.position, queries)) : row.length; });
}
