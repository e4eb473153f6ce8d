//===- MarkNoAlias.cpp - which arguments of a kernel share no memory ----------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELMARKNOALIAS
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

namespace {
struct KernelMarkNoAlias : kernel::impl::KernelMarkNoAliasBase<KernelMarkNoAlias> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    // Arguments that share memory with another one in some launch; kernels without a launch stay as they are.
    llvm::MapVector<FuncOp, llvm::BitVector> shared;
    // What launches of one group share is written by another thread while a kernel runs.
    auto mark = [&](auto launches) {
      llvm::DenseMap<Value, std::pair<FuncOp, unsigned>> first;
      for (LaunchOp launch : launches) {
        auto func = symbols.lookup<FuncOp>(launch.getKernel());
        shared[func].resize(func.getNumArguments());
        for (auto [i, operand] : llvm::enumerate(launch.getOperands_())) {
          if (!isa<MemRefType>(operand.getType()))
            continue;
          Value root = getViewRoot(operand);
          if (root.getDefiningOp<PartOp>())
            shared[func].set(i); // another argument may be the window, or a part of it
          auto [entry, isNew] = first.try_emplace(root, func, i);
          if (!isNew) {
            shared[entry->second.first].set(entry->second.second);
            shared[func].set(i);
          }
        }
      }
    };
    getOperation().walk([&](Operation *op) {
      if (auto group = dyn_cast<LaunchGroupOp>(op))
        mark(group.getMembers());
      else if (auto launch = dyn_cast<LaunchOp>(op); launch && !isa<LaunchGroupOp>(op->getParentOp()))
        mark(ArrayRef(launch));
    });
    StringRef name = LLVM::LLVMDialect::getNoAliasAttrName();
    for (auto &[func, bits] : shared)
      for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
        if (isa<MemRefType>(type) && !bits.test(i))
          func.setArgAttr(i, name, UnitAttr::get(&getContext()));
  }
};
} // namespace
