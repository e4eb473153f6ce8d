//===- ThreadProducts.cpp - products of f32: multiplied by the threads --------------------------------------------===//
//
// Tensor cores would round f32 to 11 bits. A thread has the accumulators that it would have of a wgmma, so tiles, loads
// and epilogue are the same: two rows, 8 apart, and pairs of neighbouring columns, 8 from one pair to the next. It adds
// the products of an accumulator one by one in the order of k, as the CPU's kernels do: whatever the tile, the number
// of blocks or the step, the bits are the same.
//
// A stage has 32 elements of each row, of which a thread loads 4 at a time. Rows of 128 bytes are swizzled in groups of
// 8, so what is 8 rows further lies 1024 bytes further.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "RoleBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kernel;

void MultiplyBuilder::writeThreadProducts(Location loc, const Steps &steps, ArrayRef<Multiplication> list,
                                          RowTileOp tile) {
  Code code(b, loc);
  for (const Multiplication &each : list)
    code.unrolled(each.width / 2, [&](Value i) {
      Value zero = code.make<arith::ConstantFloatOp>(b.getF32Type(), APFloat(0.0f));
      code.make<cuda::SetOp>(each.accumulators, i, zero);
    });
  // Few rows occupy the first warps.
  Value warp = code.div(code.rem(thread(code), 128), 32);
  Value firstRow = code.add(code.mul(warpgroup(code), 64), code.mul(warp, 16));
  Value hasRows = code.isLess(firstRow, code.toI32(get(tile.getCount())));
  writeSteps(loc, steps, [&](Value) {
    Value stage = code.make<cuda::AwaitOp>(b.getI32Type(), parts.ring);
    code.ifThen(hasRows, [&] { writeStepByThreads(loc, stage, list); });
    code.make<cuda::ReleaseReadOp>(parts.ring, plan.proxyFence());
    code.make<cuda::AdvanceOp>(parts.ring);
  });
}

void MultiplyBuilder::writeStepByThreads(Location loc, Value stage, ArrayRef<Multiplication> list) {
  Code code(b, loc);
  Type i32 = b.getI32Type();
  auto load = [&](Value address) -> Value {
    return code.make<cuda::LoadSharedOp>(VectorType::get(4, b.getF32Type()), address);
  };
  auto at = [&](Value vector, int64_t k) -> Value { return code.make<vector::ExtractOp>(vector, k); };
  code.loop(code.i32(0), code.i32(kChunks), code.i32(1), [&](Value chunk) {
    Value own = thread(code), inRow = code.mul(chunk, 16);
    auto place = [&](Value first, Value row) -> Value {
      return code.make<cuda::SwizzleOp>(i32, code.add(code.add(first, code.mul(row, kRowBytes)), inRow));
    };
    // All products have the same rows.
    Value left = place(addressOf(code, stage, list[0].left), code.make<cuda::FragmentRowOp>(i32, own, code.i32(0)));
    Value upper = load(left), lower = load(code.add(left, 8 * kRowBytes));
    for (const Multiplication &each : list) {
      Value right[2];
      for (int64_t column : {0, 1})
        right[column] = place(addressOf(code, stage, each.right),
                              code.make<cuda::FragmentColumnOp>(i32, own, code.i32(column)));
      code.unrolled(each.width / 8, [&](Value pair) {
        for (int64_t column : {0, 1}) {
          Value weights = load(code.add(right[column], code.mul(pair, 8 * kRowBytes)));
          Value element = code.add(code.mul(pair, 4), column), below = code.add(element, 2);
          Value first = code.make<cuda::GetOp>(b.getF32Type(), each.accumulators, element);
          Value second = code.make<cuda::GetOp>(b.getF32Type(), each.accumulators, below);
          for (int64_t k = 0; k < 4; ++k) {
            first = code.make<math::FmaOp>(at(upper, k), at(weights, k), first);
            second = code.make<math::FmaOp>(at(lower, k), at(weights, k), second);
          }
          code.make<cuda::SetOp>(each.accumulators, element, first);
          code.make<cuda::SetOp>(each.accumulators, below, second);
        }
      });
    }
  });
}
