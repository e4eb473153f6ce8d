//===- GateDrop.cpp - moe.gate: pairs beyond the capacity of their expert -----------------------------------------===//
//
// A pair's location is how many pairs its expert has before it: all first choices come before any second choice. One
// block finds the locations of all pairs; then every block drops the pairs of its tokens that are beyond the capacity,
// finishes their weights, and counts what is left for the layout.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "GateProgram.h"

using namespace mlir;
using namespace mlir::kernel;

/// Returns the locations, [T, k] i32; those of pairs that have no expert are not written.
Value GateProgram::emitLocations() {
  Location loc = op.getLoc();
  Value buffer = allocate(rewriter, loc, rewriter.getI32Type(), {tokens, rewriter.getIndexAttr(k)});
  KernelBuilder b(lowering.kernels, loc);
  experts = b.arg(expertsBuffer);
  Value locations = b.arg(buffer);
  Value counts = b.arg(allocate(rewriter, loc, rewriter.getI32Type(), {rewriter.getIndexAttr(numExperts)}));
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
  b.loop(b.idx(0), b.idx(numExperts), 1, [&](Value e) { b.store(zero, counts, e); });
  b.loop(b.idx(0), b.idx(k), 1, [&](Value j) {
    b.loop(b.idx(0), b.dim(experts, 0), 1, [&](Value t) {
      Value id = b.load(experts, {t, j});
      b.branch(isExpert(b, id), [&] {
        Value e = b.toIndex(id), location = b.load(counts, e);
        b.store(arith::AddIOp::create(b, location, one), counts, e);
        b.store(location, locations, {t, j});
      });
    });
  });
  b.launch(rewriter, "locations_" + Twine(numExperts) + "_top" + Twine(k), tokens,
           mulSizes(rewriter, loc, {tokens, rewriter.getIndexAttr(k)}), /*single=*/true);
  return buffer;
}

void GateProgram::emitDrop() {
  Location loc = op.getLoc();
  Value locationsBuffer = emitLocations();
  OpFoldResult capacity = capacityOf(rewriter, op, tokens);
  KernelBuilder b(lowering.kernels, loc);
  list = b.arg(listBuffer);
  experts = b.arg(expertsBuffer);
  weights = b.arg(weightsBuffer);
  Value locations = b.arg(locationsBuffer), limit = b.indexArg(capacity);
  Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  forTokens(b, [&](Value t) {
    b.loop(b.idx(0), b.idx(k), 1, [&](Value j) {
      b.branch(isExpert(b, b.load(experts, {t, j})), [&] {
        Value location = b.toIndex(b.load(locations, {t, j}));
        b.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, location, limit),
                 [&] { b.store(none, experts, {t, j}); });
      });
    });
    finish(b, t);
  });
  b.launch(rewriter, "capacity_" + Twine(numExperts) + "_top" + Twine(k), tokens,
           mulSizes(rewriter, loc, {tokens, rewriter.getIndexAttr(k)}));
}
