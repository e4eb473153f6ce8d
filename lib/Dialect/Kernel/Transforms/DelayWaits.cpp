//===- DelayWaits.cpp - what needs no other rank runs while its rows are on their way -----------------------------===//
//
// 1. Look at each kernel: which buffers it may write, and whether it signals, awaits or begins an exchange.
// 2. In front of each launch that signals, find the launches that it does not need. They go behind it: ranks send
//    early.
// 3. Behind each launch that awaits, up to the next exchange, find the launches that do not need it. They go in front
//    of it: ranks wait late.
//
// Launches that touch windows keep their order, and so do launches of which one writes what the other one uses.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELDELAYWAITS
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

static bool mayWrite(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto view = dyn_cast<ViewLikeOpInterface>(op); view && view.getViewSource() == use.get())
    return llvm::any_of(view.getViewDest().getUses(), mayWrite);
  if (auto store = dyn_cast<StoreTileOp>(op))
    return store.getDest() == use.get();
  if (isa<PutOp>(op)) // of a buffer: it is copied from there
    return false;
  if (isMemoryEffectFree(op)) // what it makes of a buffer is not followed
    return llvm::any_of(op->getResultTypes(), llvm::IsaPred<BaseMemRefType>);
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return true;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  return llvm::any_of(effects, [&](const MemoryEffects::EffectInstance &effect) {
    return !isa<MemoryEffects::Read>(effect.getEffect()) && (!effect.getValue() || effect.getValue() == use.get());
  });
}

namespace {
struct KernelFacts {
  explicit KernelFacts(FuncOp kernel) {
    for (BlockArgument argument : kernel.getArguments())
      writes.push_back(llvm::any_of(argument.getUses(), mayWrite));
    kernel.walk([&](Operation *op) {
      signals |= isa<SignalOp>(op);
      awaits |= isa<AwaitOp>(op);
      advances |= isa<AdvanceOp>(op);
    });
  }

  SmallVector<bool> writes; ///< by argument
  bool signals = false, awaits = false, advances = false;
};

/// What a launch does to the memory of the host function.
struct Effects {
  llvm::SmallPtrSet<Value, 8> reads, writes;
  bool touchesWindow = false;
  bool isUnknown = false; ///< it may touch anything

  bool meets(const Effects &other) const {
    auto share = [](const llvm::SmallPtrSet<Value, 8> &a, const llvm::SmallPtrSet<Value, 8> &b) {
      return llvm::any_of(a, [&](Value root) { return b.contains(root); });
    };
    return isUnknown || other.isUnknown || (touchesWindow && other.touchesWindow) || share(writes, other.writes) ||
           share(writes, other.reads) || share(reads, other.writes);
  }

  void add(const Effects &other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
    touchesWindow |= other.touchesWindow;
    isUnknown |= other.isUnknown;
  }
};

/// The launches of a host function.
class HostOrder {
public:
  HostOrder(Block &block, const llvm::DenseMap<StringAttr, KernelFacts> &kernels) : block(block), kernels(kernels) {}

  void run() {
    SmallVector<LaunchOp> launches(block.getOps<LaunchOp>());
    for (LaunchOp launch : launches) {
      const KernelFacts *facts = factsOf(launch);
      if (facts && facts->signals && !facts->awaits)
        sendEarly(launch);
      else if (facts && facts->awaits && !facts->signals)
        waitLate(launch);
    }
  }

private:
  const KernelFacts *factsOf(Operation *op) {
    auto launch = dyn_cast<LaunchOp>(op);
    auto found = launch ? kernels.find(launch.getKernelAttr().getAttr()) : kernels.end();
    return found == kernels.end() ? nullptr : &found->second;
  }

  Effects effectsOf(LaunchOp launch) {
    Effects effects;
    const KernelFacts *facts = factsOf(launch);
    effects.isUnknown = !facts;
    for (auto [i, operand] : llvm::enumerate(launch.getOperands_())) {
      effects.touchesWindow |= isa<WindowType>(operand.getType());
      if (!isa<BaseMemRefType>(operand.getType()))
        continue;
      Value root = getViewRoot(operand);
      Operation *maker = root.getDefiningOp();
      if (isa_and_present<PartOp>(maker)) {
        effects.touchesWindow = true;
        continue;
      }
      // Made of another buffer, in a way that is not known.
      effects.isUnknown |= maker && llvm::any_of(maker->getOperandTypes(), llvm::IsaPred<BaseMemRefType>);
      (facts && facts->writes[i] ? effects.writes : effects.reads).insert(root);
    }
    return effects;
  }

  /// Whether launches may move past an op that is none: it does nothing, or makes memory.
  static bool isQuiet(Operation *op) {
    return op->getNumRegions() == 0 && (isMemoryEffectFree(op) || isa<memref::AllocOp, WindowOp>(op));
  }

  /// The launches before it that it does not need go behind it, back to the last wait.
  void sendEarly(LaunchOp signal) {
    Effects needed = effectsOf(signal);
    SmallVector<LaunchOp> later; // last first
    for (Operation *op = signal->getPrevNode(); op; op = op->getPrevNode()) {
      auto launch = dyn_cast<LaunchOp>(op);
      if (!launch && !isQuiet(op) && !isa<CheckOp>(op))
        break;
      if (!launch)
        continue;
      const KernelFacts *facts = factsOf(launch);
      if (!facts || facts->awaits)
        break;
      Effects effects = effectsOf(launch);
      if (effects.meets(needed))
        needed.add(effects);
      else
        later.push_back(launch);
    }
    for (LaunchOp launch : later)
      launch->moveAfter(signal);
  }

  /// The launches behind it that do not need it go in front of it, with what makes their operands.
  void waitLate(LaunchOp await) {
    Effects held = effectsOf(await);
    llvm::SmallPtrSet<Operation *, 16> heldOps = {await};
    SmallVector<Operation *> free;
    for (Operation *op = await->getNextNode(); op && !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode()) {
      auto launch = dyn_cast<LaunchOp>(op);
      const KernelFacts *facts = factsOf(op);
      if (facts && facts->advances)
        break; // the next exchange has its own waits
      bool isFree = llvm::none_of(op->getOperands(), [&](Value operand) {
        return operand.getDefiningOp() && heldOps.contains(operand.getDefiningOp());
      });
      // Launches behind a check rely on it; it may itself come sooner.
      if (!launch && !isQuiet(op) && !(isFree && isa<CheckOp>(op)))
        break;
      Effects effects = launch ? effectsOf(launch) : Effects();
      if (isFree && !effects.meets(held)) {
        free.push_back(op);
        continue;
      }
      heldOps.insert(op);
      held.add(effects);
    }
    moveBefore(await, free);
  }

  /// Only up to the last launch, and of ops that are none only checks and what is needed.
  static void moveBefore(LaunchOp await, SmallVectorImpl<Operation *> &ops) {
    while (!ops.empty() && !isa<LaunchOp>(ops.back()))
      ops.pop_back();
    llvm::SmallPtrSet<Operation *, 16> wanted;
    for (Operation *op : llvm::reverse(ops))
      if (isa<LaunchOp, CheckOp>(op) ||
          llvm::any_of(op->getUsers(), [&](Operation *user) { return wanted.contains(user); }))
        wanted.insert(op);
    for (Operation *op : ops)
      if (wanted.contains(op))
        op->moveBefore(await);
  }

  Block &block;
  const llvm::DenseMap<StringAttr, KernelFacts> &kernels;
};

struct KernelDelayWaits : kernel::impl::KernelDelayWaitsBase<KernelDelayWaits> {
  void runOnOperation() override {
    llvm::DenseMap<StringAttr, KernelFacts> kernels;
    bool hasWaits = false;
    for (auto kernel : getOperation().getOps<FuncOp>()) {
      KernelFacts facts(kernel);
      hasWaits |= facts.awaits;
      kernels.try_emplace(kernel.getSymNameAttr(), std::move(facts));
    }
    if (!hasWaits)
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.getBody().hasOneBlock())
        HostOrder(function.getBody().front(), kernels).run();
  }
};
} // namespace
