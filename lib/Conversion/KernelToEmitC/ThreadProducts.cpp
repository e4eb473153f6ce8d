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

#include "Emitter.h"

using namespace mlir;
using namespace mlir::kernel;

static constexpr StringLiteral load = "moe::loadShared<moe::Vector<float, 4>>(";

void Emitter::emitThreadProducts(Location loc, const Steps &range, ArrayRef<Multiplication> list, RowTileOp tile) {
  for (const Multiplication &each : list)
    emitUnrolled(loc, each.width / 2, [&](Value i) { line(loc, "moe::set(" + each.accumulators + ", {}, 0.0f);", i); });
  // Few rows occupy the first warps.
  line(loc, "const bool hasRows = 64 * warpgroup + moe::threadIndex() % 128 / 32 * 16 < {};", get(tile.getCount()));
  line(loc, "#pragma unroll 1");
  auto steps = emitc::ForOp::create(b, loc, range.lower, range.upper, range.step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(steps.getBody());
  line(loc, "moe::wait(barriers + 16 * ring.stage, ring.parity);");
  line(loc, "const moe::SharedAddress stage = stages + " + Twine(plan->stageBytes()) + " * ring.stage;");
  emitIf(loc, literal(loc, b.getI1Type(), "hasRows"), [&] { emitStepByThreads(loc, list); });
  // The stage is free when all lanes have read it; TMA writes to it next.
  line(loc, Twine(plan->proxyFence()) + "();");
  line(loc, "moe::syncWarp();");
  line(loc, "if (moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * ring.stage + 8);");
  line(loc, "moe::advance<" + Twine(plan->stages()) + ">(ring);");
}

void Emitter::emitStepByThreads(Location loc, ArrayRef<Multiplication> list) {
  Type i32 = b.getI32Type();
  line(loc, "#pragma unroll 1");
  auto chunks = emitc::ForOp::create(b, loc, integer(loc, i32, 0), integer(loc, i32, kChunks), integer(loc, i32, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(chunks.getBody());
  Value chunk = chunks.getBody()->getArgument(0);
  // All products have the same rows.
  line(loc,
       "const moe::SharedAddress left = moe::swizzle(" + list[0].left + " + " + Twine(kRowBytes) +
           " * moe::fragmentRow(moe::threadIndex(), 0) + 16 * {}, " + Twine(kRowBytes) + ");",
       chunk);
  line(loc, "const auto upper = " + load + "left), lower = " + load + "left + " + Twine(8 * kRowBytes) + ");");
  for (auto [i, each] : llvm::enumerate(list)) {
    std::string right = "right" + std::to_string(i);
    line(loc, "moe::SharedAddress " + right + "[2];");
    emitUnrolled(loc, 2, [&, &each = each](Value column) {
      line(loc,
           right + "[{}] = moe::swizzle(" + each.right + " + " + Twine(kRowBytes) +
               " * moe::fragmentColumn(moe::threadIndex(), {}) + 16 * {}, " + Twine(kRowBytes) + ");",
           {column, each.column, column, chunk});
    });
    emitUnrolled(loc, each.width / 4, [&, &each = each](Value column) {
      line(loc, "const int element = {} / 2 * 4 + {} % 2;", {column, column});
      line(loc, "const auto weights = " + load + right + "[{} % 2] + " + Twine(8 * kRowBytes) + " * ({} / 2));",
           {column, column});
      StringRef name = each.accumulators;
      line(loc, "float first = moe::get(" + name + ", element), second = moe::get(" + name + ", element + 2);");
      emitUnrolled(loc, 4, [&](Value k) {
        line(loc, "first = moe::fma(upper.at[{}], weights.at[{}], first);", {k, k});
        line(loc, "second = moe::fma(lower.at[{}], weights.at[{}], second);", {k, k});
      });
      line(loc, "moe::set(" + name + ", element, first);");
      line(loc, "moe::set(" + name + ", element + 2, second);");
    });
  }
}
