//===- Cache.cpp - key-value caches: updates in place, and packing of plain ones --------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::kernel;

/// Indices of element `d` of row `position` of head (b, n) in an encoded cache (see encodedCacheType).
static SmallVector<Value> encodedIndices(KernelBuilder &k, StringRef encoding, int64_t pairs, Value b, Value n,
                                         Value position, Value d) {
  Value block = k.idx(keysPerBlock), pair = k.idx(pairs);
  SmallVector<Value> indices = {b, n};
  if (encoding == keyEncoding) {
    indices.append({k.div(position, block), k.div(d, pair), k.rem(position, block)});
    if (pairs > 1)
      indices.push_back(k.rem(d, pair));
  } else {
    indices.append({k.div(position, pair), d});
    if (pairs > 1)
      indices.push_back(k.rem(position, pair));
  }
  return indices;
}

Value mlir::kernel::packCache(GraphLowering &lowering, OpBuilder &host, Location loc, Value cache, Value ends,
                              OpFoldResult used, StringRef encoding) {
  auto type = cast<MemRefType>(cache.getType());
  Type element = type.getElementType();
  int64_t pairs = pairsOf(element), depth = type.getDimSize(3);
  SmallVector<OpFoldResult> sizes = sizesOf(host, loc, cache), packed = {sizes[0], sizes[1]};
  if (encoding == keyEncoding)
    packed.append({ceilDivSize(host, loc, sizes[2], keysPerBlock), host.getIndexAttr(llvm::divideCeil(depth, pairs)),
                   host.getIndexAttr(keysPerBlock)});
  else
    packed.append({ceilDivSize(host, loc, sizes[2], pairs), host.getIndexAttr(llvm::alignTo(depth, 16))});
  if (pairs > 1)
    packed.push_back(host.getIndexAttr(pairs));
  Value result = allocate(host, loc, element, packed);

  KernelBuilder k(lowering.kernels, loc);
  Value from = k.arg(cache), to = k.arg(result), limits = k.arg(ends);
  Value length = k.dim(from, 2), block = k.idx(keysPerBlock), zero = k.idx(0), d0 = k.idx(depth);
  Value blank = arith::ConstantOp::create(k, k.getFloatAttr(element, 0.0));
  k.forall({k.dim(from, 0), k.dim(from, 1), k.ceilDiv(length, keysPerBlock)}, [&](ValueRange at) {
    // Only what some query sees: the work follows the position, not the length.
    Value first = k.mul(at[2], block), limit = k.min(length, k.toIndex(k.load(limits, at[0])));
    k.loop(first, k.min(limit, k.add(first, block)), 1, [&](Value j) {
      auto target = [&](Value position, Value d) {
        return encodedIndices(k, encoding, pairs, at[0], at[1], position, d);
      };
      k.loop(zero, d0, 1, [&](Value d) { k.store(k.load(from, {at[0], at[1], j, d}), to, target(j, d)); });
      if (pairs == 1)
        return;
      // The other half of an odd last pair is multiplied by zero, so it must be a number.
      if (encoding == keyEncoding) {
        if (depth % 2)
          k.store(blank, to, target(j, d0));
        return;
      }
      Value next = k.add(j, k.idx(1));
      Value isLast = arith::CmpIOp::create(k, arith::CmpIPredicate::eq, next, limit);
      Value isOdd = arith::CmpIOp::create(k, arith::CmpIPredicate::eq, k.rem(next, k.idx(2)), k.idx(1));
      k.branch(arith::AndIOp::create(k, isLast, isOdd),
               [&] { k.loop(zero, d0, 1, [&](Value d) { k.store(blank, to, target(next, d)); }); });
    });
  });
  k.launch(host, "pack_" + encoding + "_" + shapeName(type.getShape()) + "_" + typeName(element),
           mulSizes(host, loc, {used, sizes[1]}), mulSizes(host, loc, {used, sizes[1], sizes[3]}));
  return result;
}

namespace {
struct CacheUpdateLowering : GraphPattern<nn::CacheUpdateOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(nn::CacheUpdateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value cache = adaptor.getCache();
    if (!op.getInPlace()) {
      SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, cache);
      cache = allocate(rewriter, loc, memrefOf(op.getResult()), sizes);
      emitCopy(lowering, rewriter, loc, {adaptor.getCache(), {}, {}, {}}, {cache, {}, {}, {}}, sizes);
    }
    auto tensor = cast<RankedTensorType>(op.getCache().getType());
    auto encoding = dyn_cast_if_present<StringAttr>(tensor.getEncoding());
    auto type = cast<MemRefType>(adaptor.getRows().getType());

    KernelBuilder k(lowering.kernels, loc);
    Value to = k.arg(cache), from = k.arg(adaptor.getRows()), positions = k.arg(adaptor.getPositions());
    k.forall({k.dim(from, 0), k.dim(from, 1), k.dim(from, 2)}, [&](ValueRange at) {
      Value b = at[0], s = at[1], n = at[2];
      Value position = k.add(k.toIndex(k.load(positions, b)), s);
      k.loop(k.idx(0), k.dim(from, 3), 1, [&](Value d) {
        SmallVector<Value> target = {b, n, position, d};
        if (encoding)
          target = encodedIndices(k, encoding, pairsOf(type.getElementType()), b, n, position, d);
        k.store(k.load(from, {b, s, n, d}), to, target);
      });
    });
    SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, adaptor.getRows());
    std::string name =
        "cache_update_" + shapeName(type.getShape().take_back(2)) + "_" + typeName(type.getElementType());
    if (encoding)
      name += "_" + encoding.str();
    k.launch(rewriter, name, mulSizes(rewriter, loc, {sizes[0], sizes[1]}), mulSizes(rewriter, loc, sizes));
    rewriter.replaceOp(op, cache);
    return success();
  }
};
} // namespace

void mlir::kernel::populateCachePatterns(const TypeConverter &converter, GraphLowering &lowering,
                                         RewritePatternSet &patterns) {
  patterns.add<CacheUpdateLowering>(converter, lowering);
}
