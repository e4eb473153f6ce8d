//===- Counters.cpp - arrivals, and memory that launches of a group share -----------------------------------------===//
//
// Blocks of a group start in one order (LaunchGroupOp), so a wait ends if all that it waits for starts before. What is
// shared by members and written by one of them must be ordered by such a wait; kernels of one launch after the other
// need none.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Counters.h"
#include "Windows.h"

#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"
#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::kernel;

//===----------------------------------------------------------------------===//
// A kernel
//===----------------------------------------------------------------------===//

namespace {
class BufferCollector {
public:
  explicit BufferCollector(FuncOp kernel) : kernel(kernel) {}

  BufferUses run() {
    for (BlockArgument argument : kernel.getArguments()) {
      if (isa<MemRefType>(argument.getType()))
        collect(argument, argument.getArgNumber());
      else if (isa<WindowType>(argument.getType()))
        for (Operation *user : argument.getUsers())
          if (auto part = dyn_cast<PartOp>(user); part && !part.getPeer())
            collect(part.getPart(), argument.getArgNumber());
    }
    for (auto [op, argument, isWrite] : found) {
      BufferUses::Access access{argument, isWrite, {}, {}};
      for (auto [arrive, counters] : arrives)
        if (isBefore(op, arrive) && !llvm::is_contained(access.told, counters))
          access.told.push_back(counters);
      for (auto [await, counters] : awaits)
        if (isBefore(await, op) && !llvm::is_contained(access.awaited, counters))
          access.awaited.push_back(counters);
      uses.accesses.push_back(access);
    }
    for (auto [op, argument] : arrives)
      addOnce(uses.arrives, argument);
    for (auto [op, argument] : awaits)
      addOnce(uses.awaits, argument);
    llvm::erase_if(uses.byPhase, [&](unsigned argument) { return otherwiseIndexed.contains(argument); });
    llvm::erase_if(uses.zeroed, [&](unsigned argument) { return holdsOthers.contains(argument); });
    return uses;
  }

private:
  void collect(Value buffer, unsigned argument) {
    for (OpOperand &use : buffer.getUses()) {
      Operation *op = use.getOwner();
      if (auto view = dyn_cast<ViewLikeOpInterface>(op); view && view.getViewSource() == use.get()) {
        collect(view.getViewDest(), argument);
      } else if (auto arrive = dyn_cast<ArriveOp>(op)) {
        arrives.push_back({op, argument});
        addIndex(arrive.getIndex(), argument);
      } else if (auto await = dyn_cast<AwaitArrivalsOp>(op)) {
        awaits.push_back({op, argument});
        addIndex(await.getIndex(), argument);
      } else if (!isMemoryEffectFree(op)) {
        bool isWrite = writes(use);
        found.push_back({op, argument, isWrite});
        if (isWrite)
          (storesZero(op) ? addOnce(uses.zeroed, argument) : void(holdsOthers.insert(argument)));
      }
    }
  }

  static bool writes(OpOperand &use) {
    Operation *op = use.getOwner();
    if (isa<PutOp>(op)) // to the window
      return false;
    if (auto store = dyn_cast<StoreTileOp>(op))
      return store.getDest() == use.get();
    SmallVector<MemoryEffects::EffectInstance> effects;
    auto interface = dyn_cast<MemoryEffectOpInterface>(op);
    if (!interface)
      return true;
    interface.getEffects(effects);
    return llvm::any_of(effects, [&](const MemoryEffects::EffectInstance &effect) {
      bool isOfAnother = effect.getValue() && effect.getValue() != use.get();
      return isa<MemoryEffects::Write>(effect.getEffect()) && !isOfAnother;
    });
  }

  static bool storesZero(Operation *op) {
    auto store = dyn_cast<memref::StoreOp>(op);
    return store && isConstantIntValue(store.getValue(), 0);
  }

  void addIndex(Value index, unsigned argument) {
    if (index.getDefiningOp<PhaseOp>())
      addOnce(uses.byPhase, argument);
    else
      otherwiseIndexed.insert(argument);
  }

  static void addOnce(SmallVector<unsigned> &list, unsigned argument) {
    if (!llvm::is_contained(list, argument))
      list.push_back(argument);
  }

  struct Found {
    Operation *op;
    unsigned argument;
    bool isWrite;
  };
  FuncOp kernel;
  BufferUses uses;
  SmallVector<Found> found;
  SmallVector<std::pair<Operation *, unsigned>> arrives, awaits;
  llvm::SmallDenseSet<unsigned> otherwiseIndexed, holdsOthers;
};
} // namespace

BufferUses BufferUses::of(FuncOp kernel) { return BufferCollector(kernel).run(); }

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

Place Place::of(LaunchOp launch, int64_t number) {
  return {static_cast<int64_t>(launch.getPhases().value_or(1)), static_cast<int64_t>(launch.getLag().value_or(0)),
          number};
}

bool Place::startsBefore(const Place &other, bool byPhase) const {
  auto isBehind = [&](int64_t position) { return std::pair(position, number) < std::pair(other.lag, other.number); };
  return byPhase ? other.phases <= phases && isBehind(lag) : isBehind(lag + phases - 1);
}

/// The memory that an operand of a launch is in.
static Value rootOf(LaunchOp launch, unsigned argument) {
  Value root = getViewRoot(launch.getOperands_()[argument]);
  if (auto part = root.getDefiningOp<PartOp>())
    return part.getWindow();
  return root;
}

static InFlightDiagnostic error(LaunchOp launch) {
  return launch.emitOpError() << "of " << launch.getKernelAttr() << " ";
}

const BufferUses &CounterOrder::usesOf(LaunchOp launch) const {
  auto found = kernels.find(launch.getKernelAttr().getAttr());
  return found == kernels.end() ? none : found->second;
}

LogicalResult CounterOrder::follow(ArrayRef<LaunchOp> members) {
  for (auto [i, launch] : llvm::enumerate(members))
    for (unsigned argument : usesOf(launch).awaits)
      if (failed(checkAwait(members, i, argument)))
        return failure();
  for (LaunchOp launch : members)
    for (unsigned argument : usesOf(launch).arrives) {
      auto state = states.find(rootOf(launch, argument));
      if (state == states.end() || state->second != State::Zero)
        return error(launch) << "arrives at the counters of its operand " << argument
                             << ", which no launch has set to 0 since they were used; one of a kernel that stores "
                                "nothing but 0 to them must stand before";
      state->second = State::Counted;
    }
  for (unsigned i = 0; i < members.size(); ++i)
    for (unsigned j = i + 1; j < members.size(); ++j)
      if (failed(checkConflicts(members, i, j)) || failed(checkConflicts(members, j, i)))
        return failure();
  for (LaunchOp launch : members) {
    const BufferUses &uses = usesOf(launch);
    for (const BufferUses::Access &access : uses.accesses)
      if (access.isWrite && !llvm::is_contained(uses.zeroed, access.argument))
        states.erase(rootOf(launch, access.argument));
      else if (access.isWrite)
        states[rootOf(launch, access.argument)] = State::Zero;
  }
  return success();
}

LogicalResult CounterOrder::checkAwait(ArrayRef<LaunchOp> members, unsigned member, unsigned argument) {
  LaunchOp launch = members[member];
  Value counters = rootOf(launch, argument);
  for (unsigned i = 0; i < members.size(); ++i) {
    LaunchOp other = members[i];
    const BufferUses &uses = usesOf(other);
    for (unsigned arrived : uses.arrives) {
      if (rootOf(other, arrived) != counters)
        continue;
      bool byPhase = llvm::is_contained(uses.byPhase, arrived) &&
                     llvm::is_contained(usesOf(launch).byPhase, argument);
      if (Place::of(other, i).startsBefore(Place::of(launch, member), byPhase))
        return success();
      return error(launch) << "awaits arrivals at its operand " << argument << ", but blocks of "
                           << other.getKernelAttr()
                           << " that arrive there do not start before; move the launch behind it, or raise its lag";
    }
  }
  auto state = states.find(counters);
  if (state == states.end() || state->second != State::Counted)
    return error(launch) << "awaits arrivals at its operand " << argument << ", where no launch before has arrived";
  return success();
}

/// Whether one of the counters that `told` names for a launch is one that `awaited` names for another.
static bool meet(LaunchOp launch, ArrayRef<unsigned> told, LaunchOp other, ArrayRef<unsigned> awaited) {
  return llvm::any_of(told, [&](unsigned a) {
    return llvm::any_of(awaited, [&](unsigned b) { return rootOf(launch, a) == rootOf(other, b); });
  });
}

/// What `member` writes and `other` uses.
LogicalResult CounterOrder::checkConflicts(ArrayRef<LaunchOp> members, unsigned member, unsigned other) {
  LaunchOp writer = members[member], user = members[other];
  auto isCounter = [&](Value root) {
    const BufferUses &uses = usesOf(user);
    auto isRoot = [&](unsigned argument) { return rootOf(user, argument) == root; };
    return llvm::any_of(uses.arrives, isRoot) || llvm::any_of(uses.awaits, isRoot);
  };
  for (const BufferUses::Access &write : usesOf(writer).accesses) {
    if (!write.isWrite)
      continue;
    Value root = rootOf(writer, write.argument);
    if (isCounter(root))
      return error(writer) << "writes to its operand " << write.argument << ", the counters of " << user.getKernelAttr()
                           << " in its group; set them to 0 in a launch before";
    for (const BufferUses::Access &access : usesOf(user).accesses)
      if (rootOf(user, access.argument) == root && !meet(writer, write.told, user, access.awaited) &&
          !meet(user, access.told, writer, write.awaited))
        return error(user) << (access.isWrite ? "writes to its operand " : "reads its operand ") << access.argument
                           << ", which " << writer.getKernelAttr()
                           << " writes at the same time; it must await arrivals (kernel.await_arrivals) that stand "
                              "behind that (kernel.arrive)";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Host functions
//===----------------------------------------------------------------------===//

SmallVector<LaunchOp> kernel::launchesOf(Operation &op) {
  if (auto group = dyn_cast<LaunchGroupOp>(op))
    return llvm::to_vector(group.getMembers());
  if (auto launch = dyn_cast<LaunchOp>(op))
    return {launch};
  return {};
}

LogicalResult CounterOrder::followAll(Block &block) {
  for (Operation &op : block) {
    scf::ForOp passes = asPasses(&op);
    // A pass sets its counters to zero itself, and nobody relies on how many there were.
    if (passes)
      states.clear();
    if (failed(passes ? followAll(*passes.getBody()) : follow(launchesOf(op))))
      return failure();
    if (passes)
      states.clear();
  }
  return success();
}

LogicalResult kernel::verifyCounters(ModuleOp module) {
  WalkResult found = module.walk([&](Operation *op) {
    return isa<LaunchGroupOp, ArriveOp, AwaitArrivalsOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found.wasInterrupted())
    return success();
  llvm::DenseMap<StringAttr, BufferUses> kernels;
  for (auto kernel : module.getOps<FuncOp>())
    kernels[kernel.getSymNameAttr()] = BufferUses::of(kernel);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Block &block = function.getBody().front();
    WalkResult nested = function.walk([&](LaunchOp launch) {
      bool isMember = isa<LaunchGroupOp>(launch->getParentOp());
      const BufferUses &uses = kernels[launch.getKernelAttr().getAttr()];
      if (uses.arrives.empty() && uses.awaits.empty() && !isMember)
        return WalkResult::advance();
      if ((isMember ? launch->getParentOp() : launch)->getBlock() == &block || passesAround(launch))
        return WalkResult::advance();
      launch.emitOpError("stands inside a region; a host function has groups and counters at its top level, or in a "
                         "loop over passes");
      return WalkResult::interrupt();
    });
    if (nested.wasInterrupted() || failed(CounterOrder(kernels).followAll(block)))
      return failure();
  }
  return success();
}
