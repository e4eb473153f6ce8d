//===- Owners.cpp - experts as ranks see them: whose they are, and which are here ---------------------------------===//

#include "Exchange.h"

using namespace mlir;
using namespace mlir::kernel;

/// In a kernel: expert `id`'s number among those of rank `rank`; negative or at least `each` if it is another's.
static Value numberAt(KernelBuilder &b, Value id, Value rank, int64_t each) {
  return b.sub(b.toIndex(id), b.mul(rank, b.idx(each)));
}

static Value isBelow(KernelBuilder &b, Value number, int64_t limit) {
  // Unsigned: negative numbers are out of range as well.
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, b.idx(limit));
}

Value mlir::kernel::emitOwners(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks,
                               Value experts, int64_t numExperts) {
  OpFoldResult tokens = sizeOf(host, loc, experts, 0);
  int64_t each = numExperts / ranks.count;
  Value owners = allocate(host, loc, host.getI32Type(), {tokens, host.getIndexAttr(ranks.count)});
  KernelBuilder b(lowering.kernels, loc);
  Value ids = b.arg(experts), to = b.arg(owners);
  Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
  b.forall({b.dim(ids, 0), b.idx(ranks.count)}, [&](ValueRange at) {
    Value isOwner = b.loop(b.idx(0), b.dim(ids, 1), 1, no, [&](Value j, ValueRange before) {
      Value owns = isBelow(b, numberAt(b, b.load(ids, {at[0], j}), at[1], each), each);
      return SmallVector<Value>{arith::OrIOp::create(b, before[0], owns)};
    })[0];
    b.store(arith::SelectOp::create(b, isOwner, b.toI32(at[1]), none), to, at);
  });
  b.launch(host, "owners_" + Twine(numExperts), tokens,
           mulSizes(host, loc, {tokens, host.getIndexAttr(ranks.count), sizeOf(host, loc, experts, 1)}));
  return owners;
}

Value mlir::kernel::emitOwnExperts(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks,
                                   Value experts, int64_t numExperts) {
  SmallVector<OpFoldResult> sizes = sizesOf(host, loc, experts);
  int64_t each = numExperts / ranks.count;
  Value here = allocate(host, loc, host.getI32Type(), sizes);
  KernelBuilder b(lowering.kernels, loc);
  Value ids = b.arg(experts), to = b.arg(here), own = b.arg(ranks.own);
  Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  b.forall({b.dim(ids, 0)}, [&](ValueRange at) {
    b.loop(b.idx(0), b.dim(ids, 1), 1, [&](Value j) {
      Value number = numberAt(b, b.load(ids, {at[0], j}), own, each);
      b.store(arith::SelectOp::create(b, isBelow(b, number, each), b.toI32(number), none), to, {at[0], j});
    });
  });
  b.launch(host, "own_experts_" + Twine(each), sizes[0], mulSizes(host, loc, sizes));
  return here;
}
