//===- Routing.cpp - pairs of (token, slot), counted by chunks of tokens ------------------------------------------===//

#include "Routing.h"

using namespace mlir;
using namespace mlir::kernel;

TokenChunks::TokenChunks(KernelBuilder &b, const RoutingSizes &sizes, Value tokens) : tokens(tokens) {
  size = b.max(b.ceilDiv(tokens, sizes.chunks), b.idx(sizes.chunkTokens));
  chunks = b.div(b.add(tokens, b.sub(size, b.idx(1))), size);
}

PairCounts mlir::kernel::allocateCounts(OpBuilder &host, Location loc, const RoutingSizes &sizes, OpFoldResult tokens,
                                        OpFoldResult k, int64_t experts) {
  Type i32 = host.getI32Type();
  Value ranks = allocate(host, loc, i32, {tokens, k});
  // The sizes are static, but not in the kernels: LLVM would unroll their short loops over experts before it
  // vectorises.
  MemRefType type = MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic}, i32);
  return {ranks, allocate(host, loc, type, {host.getIndexAttr(sizes.chunks), host.getIndexAttr(experts)})};
}

Value mlir::kernel::isExpert(KernelBuilder &b, Value id, int64_t experts) {
  // Unsigned: negative numbers are out of range as well.
  Value limit = arith::ConstantOp::create(b, b.getIntegerAttr(id.getType(), experts));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, id, limit);
}

void mlir::kernel::emitCounts(KernelBuilder &b, Value ids, PairCounts own, int64_t experts, Value chunk, Value first,
                              Value end) {
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
  Value k = b.dim(ids, 1);
  b.loop(b.idx(0), b.idx(experts), 1, [&](Value e) { b.store(zero, own.counts, {chunk, e}); });
  b.loop(b.mul(first, k), b.mul(end, k), 1, [&](Value pair) {
    Value t = b.div(pair, k), j = b.rem(pair, k);
    Value id = b.load(ids, {t, j});
    b.branch(isExpert(b, id, experts), [&] {
      Value e = b.toIndex(id), rank = b.load(own.counts, {chunk, e});
      b.store(arith::AddIOp::create(b, rank, one), own.counts, {chunk, e});
      b.store(rank, own.ranks, {t, j});
    });
  });
}
