//===- VerifyWindows.cpp - exchanges of ranks that end ------------------------------------------------------------===//
//
// 1. Look at each kernel alone: what it writes to other ranks is signalled, and not read (Windows.cpp).
// 2. Walk the launches of each host function in order, with the state of each window: the exchange in which its flags
//    were signalled last, and what was put to it and not yet awaited.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Windows.h"

#include "moe-mlir/Dialect/Kernel/IR/Ranks.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELVERIFYWINDOWS
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

namespace {
/// The launches of a host function.
class HostOrder {
public:
  HostOrder(func::FuncOp function, const llvm::DenseMap<StringAttr, WindowUses> &kernels)
      : function(function), kernels(kernels) {}

  LogicalResult run() {
    Block &block = function.getBody().front();
    WalkResult nested = function.walk([&](Operation *op) {
      if (op->getBlock() == &block || !touchesWindow(op))
        return WalkResult::advance();
      op->emitOpError("stands inside a region; a host function exchanges rows at its top level");
      return WalkResult::interrupt();
    });
    if (nested.wasInterrupted())
      return failure();
    for (Operation &op : block) {
      auto launch = dyn_cast<LaunchOp>(op);
      if (failed(launch ? follow(launch) : checkHostRead(&op)))
        return failure();
    }
    return checkUntold();
  }

private:
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

  LogicalResult follow(LaunchOp launch) {
    auto found = kernels.find(launch.getKernelAttr().getAttr());
    if (found == kernels.end())
      return success();
    const WindowUses &uses = found->second;
    SmallVector<std::optional<unsigned>> arguments;
    for (Value operand : launch.getOperands_()) {
      arguments.push_back(windowOf(operand));
      if (isa<WindowType>(operand.getType()) && !arguments.back())
        return error(launch) << "is given a window that no kernel.window makes";
    }
    auto toWindows = [&](ArrayRef<unsigned> numbers) {
      return llvm::map_to_vector(numbers, [&](unsigned number) { return *arguments[number]; });
    };
    SmallVector<unsigned> signals = toWindows(uses.signals), awaits = toWindows(uses.awaits), meetings;
    if (launch.getSingle()) // one block does what it says in order
      meetings = toWindows(uses.meetings);
    if (failed(advance(launch, toWindows(uses.advances))) || failed(await(launch, awaits, signals, meetings)) ||
        failed(signal(launch, signals)))
      return failure();
    // A signal tells of all that earlier launches have put.
    if (!signals.empty())
      for (auto &[window, where] : std::exchange(untold, {}))
        pending[window].push_back(signals);
    for (const WindowUses::Read &read : uses.reads)
      if (std::optional<unsigned> window = arguments[read.argument])
        if (failed(checkRead(launch, *window, toWindows(read.awaited))))
          return failure();
    for (const WindowUses::Write &write : uses.writes)
      for (const WindowUses::Read &read : uses.reads)
        if (arguments[read.argument] == arguments[write.window] &&
            !(meet(toWindows(write.signalled), meetings) && meet(toWindows(read.awaited), meetings)))
          return error(launch) << "reads " << windows.describe(*arguments[write.window])
                               << " while it writes to that of other ranks; read it in a later launch, behind an await";
    for (const WindowUses::Write &write : uses.writes) {
      if (write.signalled.empty())
        untold[*arguments[write.window]] = launch;
      else
        pending[*arguments[write.window]].push_back(toWindows(write.signalled));
    }
    for (auto &[window, writes] : pending)
      llvm::erase_if(writes, [&](ArrayRef<unsigned> flags) { return meet(flags, awaits); });
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
    for (unsigned window : flags)
      ++exchanges[windows.gridOf(window)];
    return success();
  }

  LogicalResult await(LaunchOp launch, ArrayRef<unsigned> flags, ArrayRef<unsigned> signals,
                      ArrayRef<unsigned> meetings) {
    for (unsigned window : flags) {
      if (llvm::is_contained(meetings, window))
        continue;
      if (llvm::is_contained(signals, window))
        return error(launch) << "awaits " << windows.describe(window)
                             << " in the launch that signals it, whose blocks run in any order; await in a later one, or "
                                "behind the signal in a launch with 'single'";
      FlatSymbolRefAttr grid = windows.gridOf(window);
      auto last = signalled.find(window);
      if (last == signalled.end() || last->second != exchanges[grid])
        return error(launch) << "awaits " << windows.describe(window)
                             << ", which no launch has signalled since the last kernel.advance on " << grid;
    }
    return success();
  }

  LogicalResult signal(LaunchOp launch, ArrayRef<unsigned> flags) {
    for (unsigned window : flags) {
      FlatSymbolRefAttr grid = windows.gridOf(window);
      unsigned exchange = exchanges[grid];
      if (!exchange)
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
  llvm::DenseMap<unsigned, unsigned> signalled;  ///< the exchange in which flags were
  llvm::MapVector<unsigned, SmallVector<SmallVector<unsigned>>> pending; ///< flags that tell of what was put
  llvm::MapVector<unsigned, LaunchOp> untold;                            ///< put, and not yet signalled
};

struct KernelVerifyWindows : kernel::impl::KernelVerifyWindowsBase<KernelVerifyWindows> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verify()))
      signalPassFailure();
  }

private:
  LogicalResult verify() {
    Operation *first = findFirst();
    if (!first)
      return success();
    llvm::DenseMap<StringAttr, WindowUses> kernels;
    for (auto kernel : getOperation().getOps<FuncOp>()) {
      FailureOr<WindowUses> uses = WindowUses::of(kernel);
      if (failed(uses))
        return failure();
      kernels[kernel.getSymNameAttr()] = *uses;
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(HostOrder(function, kernels).run()))
        return failure();
    if (kernel::isOffloaded(getOperation()))
      return first->emitOpError("is of a program of several ranks, of which a GPU has kernels (--to=kernel) but no "
                                "executable yet: use --target=cpu");
    return success();
  }

  /// The first op of a program of several ranks; null if it is of one.
  Operation *findFirst() {
    Operation *first = nullptr;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto grid = dyn_cast<shard::GridOp>(op);
      bool hasRanks = isa<RankOp, AgreeOp, WindowOp, WindowsOp, WindowAtOp, PartOp, PutOp, EpochOp, SignalOp, AwaitOp,
                          AdvanceOp>(op) ||
                      (grid && countRanks(grid) != 1);
      if (hasRanks)
        first = op;
      return hasRanks ? WalkResult::interrupt() : WalkResult::advance();
    });
    return first;
  }
};
} // namespace
