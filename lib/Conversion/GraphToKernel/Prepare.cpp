//===- Prepare.cpp - decisions on the graph before its conversion -----------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::kernel;

MemRefType mlir::kernel::encodedCacheType(RankedTensorType cache, StringRef encoding) {
  int64_t pairs = pairsOf(cache.getElementType()), length = cache.getDimSize(2), depth = cache.getDimSize(3);
  SmallVector<int64_t> shape = {cache.getDimSize(0), cache.getDimSize(1)};
  auto ceil = [](int64_t size, int64_t by) {
    return ShapedType::isDynamic(size) ? size : static_cast<int64_t>(llvm::divideCeil(size, by));
  };
  if (encoding == keyEncoding)
    shape.append({ceil(length, keysPerBlock), ceil(depth, pairs), keysPerBlock});
  else
    shape.append({ceil(length, pairs), ceil(depth, 16) * 16});
  if (pairs > 1)
    shape.push_back(pairs);
  return MemRefType::get(shape, cache.getElementType());
}

/// All values of the state `arg`: the argument and its updates. Empty if anything else than updates, attention and the
/// function's return sees them, or if the state's next value is none of them, as that one has the plain form.
static SmallVector<Value> stateChain(BlockArgument arg, StringRef &encoding) {
  SmallVector<Value> chain = {arg};
  bool isKey = false, isValue = false;
  for (unsigned i = 0; i < chain.size(); ++i)
    for (OpOperand &use : chain[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto update = dyn_cast<nn::CacheUpdateOp>(user); update && use.getOperandNumber() == 0) {
        chain.push_back(update.getResult());
      } else if (auto attention = dyn_cast<nn::AttentionOp>(user); attention && use.getOperandNumber() == 1) {
        isKey = true;
      } else if (attention && use.getOperandNumber() == 2) {
        isValue = true;
      } else if (isa<func::ReturnOp>(user)) {
        auto func = user->getParentOfType<func::FuncOp>();
        auto state = func.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(), "moe.state_of");
        if (!state || state.getInt() != arg.getArgNumber())
          return {};
      } else {
        return {};
      }
    }
  if (isKey == isValue)
    return {};
  auto func = cast<func::FuncOp>(arg.getOwner()->getParentOp());
  for (OpOperand &next : func.front().getTerminator()->getOpOperands())
    if (auto state = func.getResultAttrOfType<IntegerAttr>(next.getOperandNumber(), "moe.state_of");
        state && state.getInt() == arg.getArgNumber() && !llvm::is_contained(chain, next.get()))
      return {};
  encoding = isKey ? keyEncoding : valueEncoding;
  return chain;
}

static void encodeStates(func::FuncOp func) {
  bool changed = false;
  for (BlockArgument arg : func.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    if (!type || type.getRank() != 4 || !isa_and_present<UnitAttr>(func.getArgAttr(arg.getArgNumber(), "moe.state")) ||
        llvm::any_of(type.getShape().drop_front(), ShapedType::isDynamic))
      continue;
    StringRef encoding;
    for (Value value : stateChain(arg, encoding)) {
      value.setType(type.cloneWithEncoding(StringAttr::get(func.getContext(), encoding)));
      changed = true;
    }
  }
  if (changed)
    func.setType(FunctionType::get(func.getContext(), func.getBody().getArgumentTypes(),
                                   func.getBody().front().getTerminator()->getOperandTypes()));
}

void mlir::kernel::dropExchanges(ModuleOp module) {
  SmallVector<Operation *> exchanges;
  module.walk([&](moe::AllToAllOp op) { exchanges.push_back(op); });
  RewritePatternSet patterns(module.getContext());
  moe::AllToAllOp::getCanonicalizationPatterns(patterns, module.getContext());
  (void)applyOpPatternsGreedily(exchanges, std::move(patterns)); // what stays is reported as not supported
  for (auto grid : llvm::make_early_inc_range(module.getOps<shard::GridOp>()))
    if (SymbolTable::symbolKnownUseEmpty(grid, module))
      grid.erase();
}

void mlir::kernel::dropPoison(ModuleOp module) {
  module.walk([](ub::PoisonOp poison) {
    if (!poison.getType().isIntOrIndexOrFloat())
      return;
    OpBuilder b(poison);
    poison.replaceAllUsesWith(
        arith::ConstantOp::create(b, poison.getLoc(), b.getZeroAttr(poison.getType())).getResult());
    poison.erase();
  });
}

void mlir::kernel::prepareGraph(ModuleOp module) {
  module.walk([](func::FuncOp func) { encodeStates(func); });
  // Between the second product and the combine nothing needs the model's type: keep what was accumulated.
  module.walk([](moe::ExpertOp op) {
    if (llvm::all_of(op->getUsers(), llvm::IsaPred<moe::CombineOp>))
      op.getResult().setType(op.getResult().getType().clone(Float32Type::get(op.getContext())));
  });
}
