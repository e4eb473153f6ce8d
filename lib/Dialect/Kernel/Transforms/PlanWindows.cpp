//===- PlanWindows.cpp - windows in one memory per grid -----------------------------------------------------------===//
//
// A peer writes to the windows of this rank at any time between its signals. So windows are never shared as buffers of
// the arena are, by their liveness; those of one name, type and size are the same memory, which the order of launches
// allows (docs/rationale/exchange.md).
//
// Flags must keep their place when other sizes change from call to call: what lies there is compared with the epoch. So
// they come first, and then whatever else has a constant size.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Windows.h"

#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELPLANWINDOWS
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

static constexpr int64_t alignment = 64;
/// No machine has 2^47 bytes, and as many windows as a program has do not add up to 2^63.
static constexpr unsigned mostBits = 47;

/// The number of rows of a window, if it is known.
static std::optional<int64_t> constantRows(WindowOp window) {
  WindowType type = window.getWindow().getType();
  return type.isDynamic() ? getConstantIntValue(window.getSizes().front()) : type.getShape().front();
}

/// The places of one grid's windows, in the order in which they are given.
namespace {
class Places {
public:
  Places(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  /// What the windows take together. The runtime has an error for memory that it does not get.
  Value total() {
    Value bytes = end();
    if (!beyond)
      return bytes;
    Value zero = arith::ConstantIndexOp::create(b, loc, 0), none = arith::ConstantIndexOp::create(b, loc, INT64_MAX);
    Value fits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, beyond, zero);
    return arith::SelectOp::create(b, loc, fits, bytes, none);
  }

  /// The offset behind what was placed so far.
  Value end() {
    Value fixed = arith::ConstantIndexOp::create(b, loc, constant);
    if (!dynamic)
      return fixed;
    return constant ? arith::AddIOp::create(b, loc, dynamic, fixed).getResult() : dynamic;
  }

  LogicalResult add(WindowOp window) {
    int64_t rowBytes = window.getWindow().getType().getRowBytes();
    std::optional<int64_t> rows = constantRows(window);
    int64_t known = 0;
    if (llvm::MulOverflow(rowBytes, rows.value_or(1), known) || known >> mostBits)
      return window.emitOpError() << "'" << window.getName() << "' of " << rows.value_or(1) << " rows of " << rowBytes
                                  << " bytes is larger than the memory of any machine";
    if (rows) {
      constant += llvm::alignTo(known, alignment);
      return success();
    }
    // With fewer rows than that the product below is one of 64 bits.
    Value shift = arith::ConstantIndexOp::create(b, loc, mostBits - llvm::Log2_64_Ceil(rowBytes));
    Value excess = arith::ShRUIOp::create(b, loc, window.getSizes().front(), shift);
    beyond = beyond ? arith::OrIOp::create(b, loc, beyond, excess).getResult() : excess;
    Value bytes =
        arith::MulIOp::create(b, loc, window.getSizes().front(), arith::ConstantIndexOp::create(b, loc, rowBytes));
    if (rowBytes % alignment) {
      Value round = arith::ConstantIndexOp::create(b, loc, alignment - 1);
      Value mask = arith::ConstantIndexOp::create(b, loc, -alignment);
      bytes = arith::AndIOp::create(b, loc, arith::AddIOp::create(b, loc, bytes, round), mask);
    }
    dynamic = dynamic ? arith::AddIOp::create(b, loc, dynamic, bytes).getResult() : bytes;
    return success();
  }

private:
  OpBuilder &b;
  Location loc;
  int64_t constant = 0; ///< bytes that are known
  Value dynamic;        ///< and those that are not
  Value beyond;         ///< not 0 if a window has more bytes than any machine
};

class WindowPlanner {
public:
  WindowPlanner(func::FuncOp function, SymbolTable &symbols) : function(function), symbols(symbols) {}

  LogicalResult run() {
    if (failed(gather()))
      return failure();
    for (auto &[grid, windows] : byGrid)
      if (failed(place(cast<FlatSymbolRefAttr>(grid), windows.getArrayRef())))
        return failure();
    return success();
  }

private:
  LogicalResult gather() {
    Block &block = function.getBody().front();
    llvm::SmallDenseSet<Attribute> planned;
    WalkResult found = function.walk([&](Operation *op) -> WalkResult {
      if (auto windows = dyn_cast<WindowsOp>(op))
        planned.insert(windows.getGridAttr());
      auto window = dyn_cast<WindowOp>(op);
      if (!window)
        return WalkResult::advance();
      if (op->getBlock() != &block)
        return op->emitOpError("is inside a region; the host function makes its windows at its top level");
      if (planned.contains(window.getGridAttr()))
        return op->emitOpError("came after the plan of windows, whose memory is as large as it was planned");
      unsigned number = *numbers.of(window.getWindow());
      byGrid[window.getGridAttr()].insert(number);
      windowsOf[number].push_back(window);
      return WalkResult::advance();
    });
    return failure(found.wasInterrupted());
  }

  /// Whether a kernel uses a window with this number as flags.
  bool holdsFlags(unsigned number) {
    for (WindowOp window : windowsOf[number])
      for (OpOperand &use : window.getWindow().getUses())
        if (auto launch = dyn_cast<LaunchOp>(use.getOwner()))
          if (auto kernel = symbols.lookup<FuncOp>(launch.getKernel()))
            for (Operation *user : kernel.getArgument(use.getOperandNumber()).getUsers())
              if (isa<SignalOp, AwaitOp, EpochOp, AdvanceOp>(user))
                return true;
    return false;
  }

  LogicalResult place(FlatSymbolRefAttr grid, ArrayRef<unsigned> numbersOfGrid) {
    SmallVector<unsigned> order(numbersOfGrid);
    llvm::SmallDenseSet<unsigned> flags;
    for (unsigned number : order)
      if (holdsFlags(number))
        flags.insert(number);
    auto turn = [&](unsigned number) {
      return flags.contains(number) ? 0 : constantRows(windowsOf[number].front()) ? 1 : 2;
    };
    llvm::stable_sort(order, [&](unsigned a, unsigned b) { return turn(a) < turn(b); });

    Operation *first = windowsOf[numbersOfGrid.front()].front();
    for (unsigned number : order) {
      WindowOp window = windowsOf[number].front();
      std::optional<int64_t> rows = constantRows(window);
      if (flags.contains(number) && !rows)
        return window.emitOpError() << "'" << window.getName()
                                    << "' holds flags, whose number must be a constant: they keep their place from "
                                       "call to call";
      if (!rows && failed(hoistScalar(window.getSizes().front(), first)))
        return window.emitOpError() << "'" << window.getName() << "' has a size that depends on a buffer's content";
    }

    OpBuilder b(first);
    Location loc = function.getLoc();
    Places places(b, loc);
    llvm::DenseMap<unsigned, Value> offsets;
    for (unsigned number : order) {
      offsets[number] = places.end();
      if (failed(places.add(windowsOf[number].front())))
        return failure();
    }
    Value peers = WindowsOp::create(b, loc, places.total(), grid);
    for (unsigned number : order)
      for (WindowOp window : windowsOf[number]) {
        b.setInsertionPoint(window);
        auto at = WindowAtOp::create(b, window.getLoc(), window.getWindow().getType(), peers, offsets[number],
                                     window.getSizes());
        window.getWindow().replaceAllUsesWith(at.getWindow());
        window.erase();
      }
    return success();
  }

  func::FuncOp function;
  SymbolTable &symbols;
  WindowNumbers numbers;
  llvm::MapVector<Attribute, llvm::SmallSetVector<unsigned, 8>> byGrid;
  llvm::DenseMap<unsigned, SmallVector<WindowOp>> windowsOf;
};

struct KernelPlanWindows : kernel::impl::KernelPlanWindowsBase<KernelPlanWindows> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(WindowPlanner(function, symbols).run()))
        return signalPassFailure();
  }
};
} // namespace
