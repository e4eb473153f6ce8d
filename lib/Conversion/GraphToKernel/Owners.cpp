//===- Owners.cpp - experts as ranks see them: whose they are, and which are here ---------------------------------===//
//
// Ranks own places, `each` of them in a row. An expert stands at the place of its number, or where a table says.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Exchange.h"
#include "PassLoop.h"

using namespace mlir;
using namespace mlir::kernel;

static Value isBelow(KernelBuilder &b, Value number, int64_t limit) {
  // Unsigned: negative numbers are out of range as well.
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, b.idx(limit));
}

namespace {
/// In a kernel: where experts stand.
class Places {
public:
  Places(GraphLowering &lowering, OpBuilder &host, KernelBuilder &b, const Experts &experts) : count(experts.count) {
    if (experts.order)
      table = b.arg(emitTable(lowering, host, b.getLoc(), moe::OrderAttr(experts.order).getPlaces()));
  }

  /// The place of expert `id` (integer), counted from the first one of rank `rank`; negative or at least `each` if it
  /// is another rank's, or no expert.
  Value numberAt(KernelBuilder &b, Value id, Value rank, int64_t each) const {
    return b.sub(placeOf(b, b.toIndex(id)), b.mul(rank, b.idx(each)));
  }

private:
  Value placeOf(KernelBuilder &b, Value id) const {
    if (!table)
      return id;
    // Ids may come from another rank.
    Value inside = b.max(b.idx(0), b.min(id, b.idx(count - 1)));
    return arith::SelectOp::create(b, isBelow(b, id, count), b.toIndex(b.load(table, inside)), b.idx(-1));
  }

  int64_t count;
  Value table;
};
} // namespace

static StringRef suffix(const Experts &experts) { return experts.order ? "_ordered" : ""; }

Value mlir::kernel::emitOwners(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks, Value ids,
                               const Experts &experts, const PassLoop *pass, const Ranks *node) {
  OpFoldResult tokens = pass ? pass->size : sizeOf(host, loc, ids, 0);
  int64_t each = experts.count / (ranks.count * (node ? node->count : 1));
  Value owners = allocate(host, loc, host.getI32Type(), {tokens, host.getIndexAttr(ranks.count)});
  KernelBuilder b(lowering.kernels, loc);
  Value from = b.arg(ids), to = b.arg(owners);
  Places places(lowering, host, b, experts);
  Value before = node ? b.mul(b.arg(node->own), b.idx(ranks.count)) : Value(); // ranks of the nodes before this one
  Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
  auto find = [&](Value token, ValueRange at) {
    Value rank = before ? b.add(before, at[1]) : at[1];
    Value isOwner = b.loop(b.idx(0), b.dim(from, 1), 1, no, [&](Value j, ValueRange found) {
      Value owns = isBelow(b, places.numberAt(b, b.load(from, {token, j}), rank, each), each);
      return SmallVector<Value>{arith::OrIOp::create(b, found[0], owns)};
    })[0];
    b.store(arith::SelectOp::create(b, isOwner, b.toI32(at[1]), none), to, at);
  };
  if (!pass)
    b.forall({b.dim(from, 0), b.idx(ranks.count)}, [&](ValueRange at) { find(at[0], at); });
  else
    b.forall({b.dim(to, 0), b.idx(ranks.count)}, [&](ValueRange at) {
      Value token = b.add(b.arg(pass->first), at[0]);
      b.branch(
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, token, b.dim(from, 0)), [&] { find(token, at); },
          [&] { b.store(none, to, at); });
    });
  b.launch(host,
           "owners_" + Twine(experts.count) + suffix(experts) + (node ? "_of_node" : "") + (pass ? "_of_pass" : ""), tokens,
           mulSizes(host, loc, {tokens, host.getIndexAttr(ranks.count), sizeOf(host, loc, ids, 1)}));
  return owners;
}

Value mlir::kernel::emitOwnExperts(GraphLowering &lowering, OpBuilder &host, Location loc, Value rank, int64_t each,
                                   Value ids, const Experts &experts, const RowExchange *exchange) {
  SmallVector<OpFoldResult> sizes = sizesOf(host, loc, ids);
  Value here = allocate(host, loc, host.getI32Type(), sizes);
  KernelBuilder b(lowering.kernels, loc);
  Value from = b.arg(ids), to = b.arg(here), own = b.arg(rank);
  Places places(lowering, host, b, experts);
  Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  b.forall({b.dim(from, 0)}, [&](ValueRange at) {
    Value exists = exchange ? rowExists(b, *exchange, at[0]) : Value();
    b.loop(b.idx(0), b.dim(from, 1), 1, [&](Value j) {
      Value number = places.numberAt(b, b.load(from, {at[0], j}), own, each);
      Value isOwn = isBelow(b, number, each);
      if (exists)
        isOwn = arith::AndIOp::create(b, exists, isOwn);
      b.store(arith::SelectOp::create(b, isOwn, b.toI32(number), none), to, {at[0], j});
    });
  });
  b.launch(host, "own_experts_" + Twine(each) + suffix(experts) + (exchange ? "_received" : ""), sizes[0],
           mulSizes(host, loc, sizes));
  return here;
}
