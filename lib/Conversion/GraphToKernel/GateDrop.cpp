//===- GateDrop.cpp - moe.gate: pairs beyond the capacity of their expert -----------------------------------------===//

#include "GateProgram.h"

using namespace mlir;
using namespace mlir::kernel;

void GateProgram::emitDrop() {
  Location loc = op.getLoc();
  KernelBuilder b(lowering.kernels, loc);
  list = b.arg(listBuffer);
  experts = b.arg(expertsBuffer);
  weights = b.arg(weightsBuffer);
  Value counts = b.arg(allocate(rewriter, loc, rewriter.getI32Type(), {rewriter.getIndexAttr(numExperts)}));
  Value t = b.dim(experts, 0), limit = emitCapacity(b, op, t);
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
  Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  b.loop(b.idx(0), b.idx(numExperts), 1, [&](Value e) { b.store(zero, counts, e); });
  // All first choices come before any second choice.
  b.loop(b.idx(0), b.idx(k), 1, [&](Value j) {
    b.loop(b.idx(0), t, 1, [&](Value row) {
      Value id = b.load(experts, {row, j});
      b.branch(isExpert(b, id), [&] {
        Value e = b.toIndex(id), location = b.load(counts, e);
        b.store(arith::AddIOp::create(b, location, one), counts, e);
        b.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, location, limit),
                 [&] { b.store(none, experts, {row, j}); });
      });
    });
  });
  b.loop(b.idx(0), t, 1, [&](Value row) { finish(b, row); });
  b.launch(rewriter, "capacity_" + Twine(numExperts) + "_top" + Twine(k), tokens,
           mulSizes(rewriter, loc, {tokens, rewriter.getIndexAttr(k)}), /*single=*/true);
}
