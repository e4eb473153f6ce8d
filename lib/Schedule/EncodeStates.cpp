//===- EncodeStates.cpp - order of a hidden state's elements in memory --------------------------------------------===//

#include "moe-mlir/Schedule/Decisions.h"
#include "moe-mlir/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHENCODESTATES
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

/// Whether `user` takes the first size of a cache, which encodings leave where it is.
static bool readsBatch(Operation *user) {
  auto dim = dyn_cast<tensor::DimOp>(user);
  return dim && dim.getConstantIndex() == 0;
}

SmallVector<Value> mlir::kernel::stateChain(BlockArgument arg, StringRef &encoding) {
  auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
  auto type = dyn_cast<RankedTensorType>(arg.getType());
  if (!func || !type || type.getRank() != 4 || llvm::any_of(type.getShape().drop_front(), ShapedType::isDynamic) ||
      !isa_and_present<UnitAttr>(func.getArgAttr(arg.getArgNumber(), "moe.state")))
    return {};
  SmallVector<Value> chain = {arg};
  bool isKey = false, isValue = false;
  for (unsigned i = 0; i < chain.size(); ++i)
    for (OpOperand &use : chain[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto update = dyn_cast<nn::CacheUpdateOp>(user); update && use.getOperandNumber() == 0) {
        chain.push_back(update.getResult());
      } else if (isByRows(user)) { // reads a cache as it is
        return {};
      } else if (auto attention = dyn_cast<nn::AttentionOp>(user); attention && use.getOperandNumber() == 1) {
        isKey = true;
      } else if (attention && use.getOperandNumber() == 2) {
        isValue = true;
      } else if (isa<func::ReturnOp>(user)) {
        auto state = func.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(), "moe.state_of");
        if (!state || state.getInt() != arg.getArgNumber())
          return {};
      } else if (!readsBatch(user)) {
        return {};
      }
    }
  if (isKey == isValue)
    return {};
  for (OpOperand &next : func.front().getTerminator()->getOpOperands())
    if (auto state = func.getResultAttrOfType<IntegerAttr>(next.getOperandNumber(), "moe.state_of");
        state && state.getInt() == arg.getArgNumber() && !llvm::is_contained(chain, next.get()))
      return {};
  encoding = isKey ? keyEncoding : valueEncoding;
  return chain;
}

namespace {
struct GraphEncodeStates : kernel::impl::GraphEncodeStatesBase<GraphEncodeStates> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !func.getBody().hasOneBlock())
      return;
    bool changed = false;
    for (BlockArgument arg : func.getArguments()) {
      StringRef encoding;
      for (Value value : stateChain(arg, encoding)) {
        auto type = cast<RankedTensorType>(value.getType());
        value.setType(type.cloneWithEncoding(StringAttr::get(&getContext(), encoding)));
        changed = true;
      }
    }
    if (changed)
      func.setType(FunctionType::get(&getContext(), func.getBody().getArgumentTypes(),
                                     func.getBody().front().getTerminator()->getOperandTypes()));
  }
};
} // namespace
