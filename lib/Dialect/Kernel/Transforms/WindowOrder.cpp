//===- WindowOrder.cpp - the launches of a host function, and windows ---------------------------------------------===//
//
// Walk the launches in order, with the state of each window: the exchange in which its flags were signalled last, and
// what was put to it and not yet awaited. Launches of a group are one step of this walk.
//
// A loop over passes is walked once: its first launches may rely on nothing that came before, nor those behind it on
// what it did, and what a pass puts it awaits. So each pass begins in the state in which the first one does, however
// many there are, or none.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Counters.h"
#include "Reuse.h"
#include "Windows.h"

#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"
#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
/// The launches of a host function, and windows.
class WindowOrder {
public:
  WindowOrder(func::FuncOp function, const llvm::DenseMap<StringAttr, WindowUses> &kernels)
      : function(function), kernels(kernels) {}

  LogicalResult run() {
    Block &block = function.getBody().front();
    WalkResult nested = function.walk([&](Operation *op) {
      Operation *whole = isa<LaunchGroupOp>(op->getParentOp()) ? op->getParentOp() : op;
      if (whole->getBlock() == &block || !touchesWindow(op) || (isa<LaunchOp>(op) && passesAround(op)))
        return WalkResult::advance();
      op->emitOpError("stands inside a region; a host function exchanges rows at its top level");
      return WalkResult::interrupt();
    });
    return failure(nested.wasInterrupted() || failed(followAll(block)) || failed(checkUntold()));
  }

private:
  LogicalResult followAll(Block &block) {
    for (Operation &op : block) {
      scf::ForOp passes = asPasses(&op);
      SmallVector<LaunchOp> launches = launchesOf(op);
      if (failed(passes ? followPasses(passes) : launches.empty() ? checkHostRead(&op) : follow(launches)))
        return failure();
    }
    return success();
  }

  LogicalResult followPasses(scf::ForOp passes) {
    llvm::SetVector<Attribute> grids = gridsOf(passes);
    for (Value bound : {passes.getLowerBound(), passes.getUpperBound(), passes.getStep()})
      if (!grids.empty() && !isAgreed(bound, grids.size() == 1 ? grids.front() : Attribute()))
        return error(passes) << "runs passes whose number is not the same on all ranks; it must follow from constants "
                                "and, for windows of one grid, from what its ranks agree on (kernel.agree)";
    if (failed(checkUntold()))
      return failure();
    auto before = pending;
    closeExchanges(grids);
    steps.clear();
    if (failed(followAll(*passes.getBody())) || failed(checkUntold()))
      return failure();
    for (auto &[window, writes] : pending)
      for (ArrayRef<unsigned> flags : writes)
        if (!llvm::is_contained(before.lookup(window), flags))
          return error(passes) << "ends a pass with rows that were put to " << windows.describe(window) << ", but "
                               << awaitedText(flags) << " not awaited in it; the next pass would write over them";
    // Halves take turns from pass to pass where each is one exchange.
    auto areHalves = [&](unsigned window) {
      FlatSymbolRefAttr grid = windows.gridOf(window);
      return exchanges[grid] == open[grid] + 1;
    };
    for (WindowStep &step : steps) {
      for (WindowStep::Write &write : step.writes)
        write.byEpoch &= areHalves(write.window);
      for (WindowStep::Read &read : step.reads)
        read.byEpoch &= areHalves(read.window);
    }
    if (std::optional<WindowStep::Read> read = findUnsafeReuse(steps))
      return error(read->launch) << "reads " << windows.describe(read->window)
                                 << ", to which other ranks put in the next pass; between them this rank must signal "
                                    "flags that they await";
    // Without a pass nothing was awaited.
    pending = std::move(before);
    closeExchanges(grids);
    return success();
  }

  /// Flags that were signalled so far are old: of the grids whose exchanges the passes change, launches that follow
  /// begin one first.
  void closeExchanges(const llvm::SetVector<Attribute> &grids) {
    for (Attribute grid : grids)
      open[grid] = ++exchanges[grid];
  }

  llvm::SetVector<Attribute> gridsOf(scf::ForOp passes) {
    llvm::SetVector<Attribute> grids;
    passes.walk([&](LaunchOp launch) {
      for (Value operand : launch.getOperands_())
        if (std::optional<unsigned> window = windowOf(operand))
          grids.insert(windows.gridOf(*window));
    });
    return grids;
  }

  /// Whether a number is the same on all ranks of a grid (null: of any).
  static bool isAgreed(Value value, Attribute grid) {
    Operation *op = value.getDefiningOp();
    if (auto agree = dyn_cast_if_present<AgreeOp>(op))
      return agree.getGridAttr() == grid;
    return getConstantIntValue(value) ||
           (op && op->getNumOperands() && !op->getNumRegions() && isMemoryEffectFree(op) &&
            llvm::all_of(op->getOperands(), [&](Value operand) { return isAgreed(operand, grid); }));
  }

  static bool touchesWindow(Operation *op) {
    return isa<WindowOp, WindowsOp, WindowAtOp, AgreeOp>(op) ||
           llvm::any_of(op->getOperands(), [](Value operand) {
             return isa<WindowType>(operand.getType()) || getViewRoot(operand).getDefiningOp<PartOp>();
           });
  }

  /// The window that an operand is, or is the own part of.
  std::optional<unsigned> windowOf(Value operand) {
    if (isa<MemRefType>(operand.getType()))
      if (auto part = getViewRoot(operand).getDefiningOp<PartOp>())
        operand = part.getWindow();
    return isa<WindowType>(operand.getType()) ? windows.of(operand) : std::nullopt;
  }

  /// A launch, and what it does with the windows of this function.
  struct Member {
    LaunchOp launch;
    const WindowUses *uses;
    SmallVector<std::optional<unsigned>> arguments;
    SmallVector<unsigned> signals, awaits, meetings;

    FlatSymbolRefAttr kernel() const { return LaunchOp(launch).getKernelAttr(); }
    SmallVector<unsigned> toWindows(ArrayRef<unsigned> numbers) const {
      return llvm::map_to_vector(numbers, [&](unsigned number) { return *arguments[number]; });
    }
    bool isByPhase(unsigned window) const { return llvm::is_contained(toWindows(uses->byPhase), window); }
  };

  FailureOr<Member> describe(LaunchOp launch) {
    Member member{launch, &kernels.find(launch.getKernelAttr().getAttr())->second, {}, {}, {}, {}};
    for (Value operand : launch.getOperands_()) {
      member.arguments.push_back(windowOf(operand));
      if (isa<WindowType>(operand.getType()) && !member.arguments.back())
        return error(launch) << "is given a window that no kernel.window makes";
    }
    member.signals = member.toWindows(member.uses->signals);
    member.awaits = member.toWindows(member.uses->awaits);
    if (launch.getSingle()) // one block does what it says in order
      member.meetings = member.toWindows(member.uses->meetings);
    return member;
  }

  /// Launches that run at the same time; one if there is no group.
  LogicalResult follow(ArrayRef<LaunchOp> launches) {
    SmallVector<Member, 1> members;
    SmallVector<unsigned> signals;
    for (LaunchOp launch : launches) {
      if (!kernels.contains(launch.getKernelAttr().getAttr()))
        continue;
      FailureOr<Member> member = describe(launch);
      if (failed(member))
        return failure();
      members.push_back(*member);
      llvm::append_range(signals, member->signals);
    }
    for (const Member &member : members)
      if (failed(advance(member.launch, member.toWindows(member.uses->advances))))
        return failure();
    for (const Member &member : members)
      if (failed(await(members, member)))
        return failure();
    for (const Member &member : members)
      if (failed(signal(member.launch, member.signals)))
        return failure();
    // A signal tells of all that earlier launches have put.
    if (!signals.empty())
      for (auto &[window, where] : std::exchange(untold, {}))
        pending[window].push_back(signals);
    for (const Member &member : members) {
      for (const WindowUses::Read &read : member.uses->reads)
        if (std::optional<unsigned> window = member.arguments[read.argument])
          if (failed(checkRead(member.launch, *window, member.toWindows(read.awaited))))
            return failure();
      for (const Member &writer : members)
        if (failed(checkShared(writer, member)))
          return failure();
    }
    for (const Member &member : members)
      for (const WindowUses::Write &write : member.uses->writes) {
        if (write.signalled.empty())
          untold[*member.arguments[write.window]] = member.launch;
        else
          pending[*member.arguments[write.window]].push_back(member.toWindows(write.signalled));
      }
    for (auto &[window, writes] : pending)
      llvm::erase_if(writes, [&](ArrayRef<unsigned> flags) {
        return llvm::any_of(members, [&](const Member &member) { return meet(flags, member.awaits); });
      });
    steps.push_back(stepOf(members));
    return success();
  }

  /// Whether the epoch of the grid of `window` says which half of it is used.
  bool isByEpoch(const Member &member, unsigned window, ArrayRef<unsigned> halves) const {
    return llvm::any_of(member.toWindows(halves),
                        [&](unsigned flags) { return windows.gridOf(flags) == windows.gridOf(window); });
  }

  WindowStep stepOf(ArrayRef<Member> members) const {
    WindowStep step;
    for (const Member &member : members) {
      llvm::append_range(step.signals, member.signals);
      llvm::append_range(step.awaits, member.awaits);
      for (const WindowUses::Write &write : member.uses->writes) {
        unsigned window = *member.arguments[write.window];
        step.writes.push_back({window, isByEpoch(member, window, write.halves)});
      }
      for (const WindowUses::Read &read : member.uses->reads)
        if (std::optional<unsigned> window = member.arguments[read.argument])
          step.reads.push_back(
              {member.launch, *window, member.toWindows(read.told), isByEpoch(member, *window, read.halves)});
    }
    return step;
  }

  /// What `reader` reads while `writer`, which may be itself, writes to it on other ranks.
  LogicalResult checkShared(const Member &writer, const Member &reader) {
    for (const WindowUses::Write &write : writer.uses->writes)
      for (const WindowUses::Read &read : reader.uses->reads) {
        if (reader.arguments[read.argument] != writer.arguments[write.window])
          continue;
        SmallVector<unsigned> signalled = writer.toWindows(write.signalled), awaited = reader.toWindows(read.awaited);
        std::string name = windows.describe(*reader.arguments[read.argument]);
        bool isOne = reader.launch == writer.launch;
        if (isOne && !(meet(signalled, reader.meetings) && meet(awaited, reader.meetings)))
          return error(reader.launch) << "reads " << name
                                      << " while it writes to that of other ranks; read it in a later launch, behind "
                                         "an await";
        if (!isOne && signalled.empty())
          return error(reader.launch) << "reads " << name << ", to which " << writer.kernel()
                                      << " writes at the same time without a kernel.signal behind it";
        if (!isOne && !meet(signalled, awaited))
          return error(reader.launch) << "reads " << name << ", to which " << writer.kernel()
                                      << " writes at the same time, but " << awaitedText(signalled)
                                      << " not awaited before";
      }
    return success();
  }

  /// At the end of the function every rank knows what was put to it.
  LogicalResult checkUntold() {
    for (auto &[window, launch] : untold)
      return error(launch) << "writes to " << windows.describe(window)
                           << " of other ranks, but no kernel.signal follows; they cannot know when to read";
    return success();
  }

  LogicalResult advance(LaunchOp launch, ArrayRef<unsigned> flags) {
    if (flags.empty())
      return success();
    if (!launch.getSingle())
      return error(launch) << "advances the epoch in each of its blocks; launch it with 'single'";
    if (isa<LaunchGroupOp>(launch->getParentOp()))
      return error(launch) << "advances the epoch while others of its group run; it must stand before the group";
    for (unsigned window : flags)
      ++exchanges[windows.gridOf(window)];
    return success();
  }

  LogicalResult await(ArrayRef<Member> members, const Member &member) {
    for (unsigned window : member.awaits) {
      if (llvm::is_contained(member.meetings, window))
        continue;
      const Member *signaller =
          llvm::find_if(members, [&](const Member &other) { return llvm::is_contained(other.signals, window); });
      if (signaller == &member)
        return error(member.launch) << "awaits " << windows.describe(window)
                                    << " in the launch that signals it, whose blocks run in any order; await in a "
                                       "later one, or behind the signal in a launch with 'single'";
      FlatSymbolRefAttr grid = windows.gridOf(window);
      auto last = signalled.find(window);
      if (signaller != members.end()) {
        bool byPhase = signaller->isByPhase(window) && member.isByPhase(window);
        if (Place::of(signaller->launch, signaller - members.begin())
                .startsBefore(Place::of(member.launch, &member - members.begin()), byPhase))
          continue;
        return error(member.launch) << "awaits " << windows.describe(window) << ", but blocks of "
                                    << signaller->kernel()
                                    << " that signal it do not start before; move the launch behind it, or raise its "
                                       "lag";
      }
      if (last == signalled.end() || last->second != exchanges[grid])
        return error(member.launch) << "awaits " << windows.describe(window)
                                    << ", which no launch has signalled since the last kernel.advance on " << grid;
    }
    return success();
  }

  LogicalResult signal(LaunchOp launch, ArrayRef<unsigned> flags) {
    for (unsigned window : flags) {
      FlatSymbolRefAttr grid = windows.gridOf(window);
      unsigned exchange = exchanges[grid];
      if (exchange == open.lookup(grid))
        return error(launch) << "signals " << windows.describe(window) << " before a kernel.advance on " << grid
                             << "; flags that are as old would pass for it";
      auto [last, isNew] = signalled.try_emplace(window, exchange);
      if (!isNew && last->second == exchange)
        return error(launch) << "signals " << windows.describe(window)
                             << " a second time in one exchange; a launch with kernel.advance must stand between";
      last->second = exchange;
    }
    return success();
  }

  LogicalResult checkRead(Operation *op, unsigned window, ArrayRef<unsigned> awaited) {
    if (untold.contains(window))
      return error(op) << "reads " << windows.describe(window)
                       << ", which ranks put to, but no kernel.signal stands between, nor an await";
    for (ArrayRef<unsigned> flags : pending.lookup(window))
      if (!meet(flags, awaited))
        return error(op) << "reads " << windows.describe(window) << ", which ranks put to, but " << awaitedText(flags)
                         << " not awaited before";
    return success();
  }

  /// The host program itself may read a part.
  LogicalResult checkHostRead(Operation *op) {
    if (isa<ViewLikeOpInterface, memref::DimOp>(op))
      return success();
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()))
        if (std::optional<unsigned> window = windowOf(operand))
          if (failed(checkRead(op, *window, {})))
            return failure();
    return success();
  }

  std::string awaitedText(ArrayRef<unsigned> flags) const {
    std::string text;
    for (unsigned window : flags)
      text += (text.empty() ? "" : " or ") + windows.describe(window);
    return text + " is";
  }

  static bool meet(ArrayRef<unsigned> a, ArrayRef<unsigned> b) {
    return llvm::any_of(a, [&](unsigned window) { return llvm::is_contained(b, window); });
  }

  static InFlightDiagnostic error(Operation *op) {
    InFlightDiagnostic diagnostic = op->emitOpError();
    if (auto launch = dyn_cast<LaunchOp>(op))
      diagnostic << "of " << launch.getKernelAttr() << " ";
    return diagnostic;
  }

  func::FuncOp function;
  const llvm::DenseMap<StringAttr, WindowUses> &kernels;
  WindowNumbers windows;
  llvm::DenseMap<Attribute, unsigned> exchanges; ///< of each grid, so far
  llvm::DenseMap<Attribute, unsigned> open;      ///< exchanges that no launch has begun, as before the first one
  llvm::DenseMap<unsigned, unsigned> signalled;  ///< the exchange in which flags were
  llvm::MapVector<unsigned, SmallVector<SmallVector<unsigned>>> pending; ///< flags that tell of what was put
  llvm::MapVector<unsigned, LaunchOp> untold;                            ///< put, and not yet signalled
  std::vector<WindowStep> steps; ///< since the loop over passes that is followed
};
} // namespace

LogicalResult kernel::verifyLaunches(func::FuncOp function, const llvm::DenseMap<StringAttr, WindowUses> &kernels) {
  return WindowOrder(function, kernels).run();
}
