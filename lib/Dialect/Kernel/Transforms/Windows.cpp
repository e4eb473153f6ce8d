//===- Windows.cpp - what windows of a host function are, and what a kernel does with them ------------------------===//

#include "Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kernel;

//===----------------------------------------------------------------------===//
// Windows of a host function
//===----------------------------------------------------------------------===//

std::optional<unsigned> WindowNumbers::of(Value window) {
  std::vector<const void *> identity;
  auto add = [&](Value value) {
    std::optional<int64_t> constant = getConstantIntValue(value);
    identity.push_back(constant ? Builder(value.getContext()).getIndexAttr(*constant).getAsOpaquePointer()
                                : value.getAsOpaquePointer());
  };
  if (auto op = window.getDefiningOp<WindowOp>()) {
    identity = {op.getGridAttr().getAsOpaquePointer(), op.getNameAttr().getAsOpaquePointer()};
    llvm::for_each(op.getSizes(), add);
  } else if (auto op = window.getDefiningOp<WindowAtOp>()) {
    add(op.getPeers());
    add(op.getOffset());
    llvm::for_each(op.getSizes(), add);
  } else {
    return std::nullopt;
  }
  identity.push_back(window.getType().getAsOpaquePointer());
  auto [entry, isNew] = numbers.try_emplace(identity, firsts.size());
  if (isNew)
    firsts.push_back(window);
  return entry->second;
}

FlatSymbolRefAttr WindowNumbers::gridOf(unsigned number) const {
  if (auto op = first(number).getDefiningOp<WindowOp>())
    return op.getGridAttr();
  auto windows = first(number).getDefiningOp<WindowAtOp>().getPeers().getDefiningOp<WindowsOp>();
  return windows ? windows.getGridAttr() : FlatSymbolRefAttr();
}

std::string WindowNumbers::describe(unsigned number) const {
  if (auto op = first(number).getDefiningOp<WindowOp>())
    return ("'" + op.getName() + "'").str();
  std::string text = "the window of type ";
  llvm::raw_string_ostream(text) << first(number).getType();
  return text;
}

//===----------------------------------------------------------------------===//
// A kernel
//===----------------------------------------------------------------------===//

bool kernel::isBefore(Operation *first, Operation *second) {
  auto shared = first->getParentOfType<scf::ForallOp>();
  if (shared && shared != second->getParentOfType<scf::ForallOp>())
    return false;
  for (Operation *op = first; op && !isa<FuncOp>(op); op = op->getParentOp())
    if (Operation *other = op->getBlock()->findAncestorOpInBlock(*second))
      return op->isBeforeInBlock(other);
  return false;
}

namespace {
enum class Access { None, View, Store, Read };

class Collector {
public:
  explicit Collector(FuncOp kernel) : kernel(kernel) {}

  FailureOr<WindowUses> run() {
    WalkResult found = kernel.walk([&](Operation *op) { return WalkResult(gather(op)); });
    if (found.wasInterrupted() || failed(checkAdvances()))
      return failure();
    finishWrites();
    for (BlockArgument argument : kernel.getArguments())
      if (isa<MemRefType>(argument.getType()))
        collectReads(argument, argument.getArgNumber());
    for (auto [read, argument] : reads) {
      Operation *op = read;
      uses.reads.push_back({argument, flagsWhere(awaits, [&](Operation *await) { return isBefore(await, op); }),
                            flagsWhere(signals, [&](Operation *signal) { return isBefore(op, signal); }),
                            halvesOf(op)});
    }
    auto windowsOf = [](ArrayRef<std::pair<Operation *, unsigned>> ops) {
      SmallVector<unsigned> windows;
      for (auto [op, window] : ops)
        if (!llvm::is_contained(windows, window))
          windows.push_back(window);
      return windows;
    };
    uses.signals = windowsOf(signals);
    uses.awaits = windowsOf(awaits);
    uses.advances = windowsOf(advances);
    for (unsigned window : windowsOf(llvm::to_vector(llvm::concat<std::pair<Operation *, unsigned>>(signals, awaits))))
      if (isByPhase(window))
        uses.byPhase.push_back(window);
    collectMeetings();
    return uses;
  }

private:
  using Found = SmallVector<std::pair<Operation *, unsigned>>;

  LogicalResult gather(Operation *op) {
    Found *list = isa<SignalOp>(op)    ? &signals
                  : isa<AwaitOp>(op)   ? &awaits
                  : isa<AdvanceOp>(op) ? &advances
                  : isa<PutOp>(op)     ? &writes
                                       : nullptr;
    for (Value operand : op->getOperands()) {
      if (!isa<WindowType>(operand.getType()))
        continue;
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument || argument.getOwner()->getParentOp() != kernel)
        return op->emitOpError("uses a window that is no argument of its kernel");
      if (list)
        list->push_back({op, argument.getArgNumber()});
      if (auto part = dyn_cast<PartOp>(op)) {
        if (!part.getPeer())
          collectReads(part.getPart(), argument.getArgNumber());
        else if (failed(collectStores(part.getPart(), argument.getArgNumber())))
          return failure();
      }
    }
    return success();
  }

  static Access classify(OpOperand &use) {
    Operation *op = use.getOwner();
    if (auto view = dyn_cast<ViewLikeOpInterface>(op))
      return view.getViewSource() == use.get() ? Access::View : Access::None;
    if (auto store = dyn_cast<StoreTileOp>(op))
      return store.getDest() == use.get() ? Access::Store : Access::Read;
    if (isMemoryEffectFree(op))
      return op->hasTrait<OpTrait::IsTerminator>() || llvm::any_of(op->getResultTypes(), llvm::IsaPred<BaseMemRefType>)
                 ? Access::Read // it goes where it is not followed
                 : Access::None;
    SmallVector<MemoryEffects::EffectInstance> effects;
    if (auto interface = dyn_cast<MemoryEffectOpInterface>(op))
      interface.getEffectsOnValue(use.get(), effects);
    bool onlyWrites = !effects.empty() && llvm::all_of(effects, [](const MemoryEffects::EffectInstance &effect) {
      return isa<MemoryEffects::Write>(effect.getEffect());
    });
    return onlyWrites ? Access::Store : Access::Read;
  }

  void collectReads(Value part, unsigned argument) {
    for (OpOperand &use : part.getUses()) {
      Access access = classify(use);
      if (access == Access::View)
        collectReads(cast<ViewLikeOpInterface>(use.getOwner()).getViewDest(), argument);
      else if (access == Access::Read)
        reads.push_back({use.getOwner(), argument});
    }
  }

  LogicalResult collectStores(Value part, unsigned argument) {
    for (OpOperand &use : part.getUses()) {
      Access access = classify(use);
      if (access == Access::Read)
        return use.getOwner()->emitOpError("reads another rank's part of a window, which may only be stored to");
      if (access == Access::Store)
        writes.push_back({use.getOwner(), argument});
      else if (access == Access::View &&
               failed(collectStores(cast<ViewLikeOpInterface>(use.getOwner()).getViewDest(), argument)))
        return failure();
    }
    return success();
  }

  LogicalResult checkAdvances() {
    for (auto [op, window] : advances) {
      if (!signals.empty() || !awaits.empty())
        return op->emitOpError("stands in a kernel that signals or awaits; it needs a launch of its own");
      if (op->getParentOp() != kernel)
        return op->emitOpError("stands in a loop or a branch; one block begins an exchange once");
    }
    return success();
  }

  void finishWrites() {
    for (auto [op, window] : writes) {
      Operation *write = op;
      uses.writes.push_back({window, flagsWhere(signals, [&](Operation *op) { return isBefore(write, op); }),
                             halvesOf(write)});
    }
  }

  /// All awaits of a meeting's flags stand behind a signal of them.
  void collectMeetings() {
    for (unsigned window : uses.awaits) {
      auto isOther = [&](std::pair<Operation *, unsigned> use) { return use.second != window; };
      bool isBehind = llvm::all_of(awaits, [&](std::pair<Operation *, unsigned> await) {
        return isOther(await) || llvm::any_of(signals, [&](std::pair<Operation *, unsigned> signal) {
          return !isOther(signal) && isBefore(signal.first, await.first);
        });
      });
      if (isBehind)
        uses.meetings.push_back(window);
    }
  }

  /// Whether the flags of a window are those of the running phase, wherever they are used.
  bool isByPhase(unsigned window) const {
    return llvm::all_of(signals, [&](std::pair<Operation *, unsigned> use) {
             return use.second != window || cast<SignalOp>(use.first).getIndex().getDefiningOp<PhaseOp>();
           }) &&
           llvm::all_of(awaits, [&](std::pair<Operation *, unsigned> use) {
             return use.second != window || cast<AwaitOp>(use.first).getIndex().getDefiningOp<PhaseOp>();
           });
  }

  /// The flag windows whose epochs, as odd or even numbers, decide where `access` reads or writes.
  static SmallVector<unsigned> halvesOf(Operation *access) {
    llvm::SetVector<Operation *> makers;
    auto add = [&](ValueRange values) {
      for (Value value : values)
        if (Operation *op = value.getDefiningOp(); op && isMemoryEffectFree(op))
          makers.insert(op);
    };
    // What is written counts for nothing.
    for (Value operand : access->getOperands())
      if (isa<IndexType, BaseMemRefType>(operand.getType()))
        add(operand);
    SmallVector<unsigned> flags;
    for (unsigned i = 0; i < makers.size(); ++i) {
      auto half = dyn_cast<arith::AndIOp>(makers[i]);
      auto epoch = half ? half.getLhs().getDefiningOp<EpochOp>() : EpochOp();
      if (epoch && isConstantIntValue(half.getRhs(), 1))
        flags.push_back(cast<BlockArgument>(epoch.getFlags()).getArgNumber());
      else
        add(makers[i]->getOperands());
    }
    return flags;
  }

  static SmallVector<unsigned> flagsWhere(const Found &found, llvm::function_ref<bool(Operation *)> holds) {
    SmallVector<unsigned> flags;
    for (auto [op, window] : found)
      if (holds(op) && !llvm::is_contained(flags, window))
        flags.push_back(window);
    return flags;
  }

  FuncOp kernel;
  WindowUses uses;
  Found signals, awaits, advances, writes, reads;
};
} // namespace

FailureOr<WindowUses> WindowUses::of(FuncOp kernel) { return Collector(kernel).run(); }
