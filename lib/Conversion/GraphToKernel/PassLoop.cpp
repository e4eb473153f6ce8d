//===- PassLoop.cpp - launches that are repeated for parts of the tokens ------------------------------------------===//

#include "PassLoop.h"

#include "Exchange.h"

#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"

using namespace mlir;
using namespace mlir::kernel;

PassLoop mlir::kernel::openPasses(OpBuilder &host, Location loc, OpFoldResult room, int64_t tokens) {
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(host, loc, value); };
  PassLoop passes;
  passes.room = getValueOrCreateConstantIndexOp(host, loc, room);
  Value count;
  if (std::optional<int64_t> known = getConstantIntValue(room)) {
    passes.size = host.getIndexAttr(std::min(*known, tokens));
    count = number(llvm::divideCeil(*known, tokens));
  } else {
    Value most = number(tokens);
    passes.size = arith::MinUIOp::create(host, loc, passes.room, most).getResult();
    count = arith::CeilDivUIOp::create(host, loc, passes.room, most);
  }
  Value zero = number(0), one = number(1);
  passes.loop = scf::ForOp::create(host, loc, zero, count, one);
  passes.loop->setAttr(passesAttrName, host.getUnitAttr());
  host.setInsertionPointToStart(passes.loop.getBody());
  passes.first = arith::MulIOp::create(host, loc, passes.loop.getInductionVar(), number(tokens));
  return passes;
}

const PassLoop *mlir::kernel::enterPasses(GraphLowering &lowering, Operation *op, ConversionPatternRewriter &rewriter) {
  std::shared_ptr<TokenPasses> passes = lowering.passes.lookup(op);
  if (!passes)
    return nullptr;
  if (!passes->loop) {
    // All that the ops of the exchange read stands before the last one.
    rewriter.setInsertionPoint(passes->sum);
    Location loc = passes->there.getLoc();
    Ranks ranks(rewriter, loc, lowering.module, passes->there.getGrid());
    Value tokens = rewriter.getRemappedValue(passes->to.getTokens());
    Value room = ranks.largest(rewriter, loc, sizeOf(rewriter, loc, tokens, 0));
    passes->loop = openPasses(rewriter, loc, room, passes->tokens);
  }
  rewriter.setInsertionPoint(passes->loop->loop.getBody()->getTerminator());
  return &*passes->loop;
}

void mlir::kernel::hoistFromPasses(func::FuncOp function) {
  function.walk([](scf::ForOp loop) {
    if (!asPasses(loop))
      return;
    for (Operation &op : llvm::make_early_inc_range(loop.getBody()->without_terminator()))
      if (!isa<LaunchOp, LaunchGroupOp>(op) &&
          llvm::all_of(op.getOperands(), [&](Value operand) { return loop.isDefinedOutsideOfLoop(operand); }))
        op.moveBefore(loop);
  });
}
