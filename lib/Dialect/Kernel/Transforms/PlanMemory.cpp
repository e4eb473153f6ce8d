//===- PlanMemory.cpp - temporary buffers in one arena ------------------------------------------------------------===//
//
// 1. Gather the host function's allocations with the interval of ops that use them, through views.
// 2. In order of their first use, give each one a slot that is free by then and whose size is a constant times the same
//    dynamic sizes; the best fit is the smallest slot that is large enough, else the largest. Otherwise open a slot.
// 3. Place the slots one after the other and replace the allocations by views of the arena.
//
// A launch reads and writes while it runs, so a buffer whose last use is a launch never shares with one that the same
// launch uses first.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Arena.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"
#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"
#include "moe-mlir/Support/WholeProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>
#include <vector>

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELPLANMEMORY
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

namespace {

constexpr int64_t alignment = 64;

/// More bytes than any machine has; four times as many are still a number.
constexpr int64_t farTooMuch = int64_t(1) << 60;

int64_t multiply(int64_t x, int64_t y) {
  int64_t product;
  return x < 0 || y < 0 || llvm::MulOverflow(x, y, product) ? farTooMuch : std::min(product, farTooMuch);
}

/// A size in bytes: a constant times dynamic values, in an order that does not depend on how they were multiplied.
struct Size {
  int64_t coefficient = 1;
  SmallVector<Value> factors;
};

struct Buffer {
  memref::AllocOp alloc;
  unsigned number;
  unsigned begin, end; ///< Numbers of the first and the last op that use it.
  Size size;
  unsigned slot = 0;
};

struct Slot {
  Size size;
  Value offset;
};

class Planner {
public:
  explicit Planner(func::FuncOp func) : func(func), block(func.getBody().front()) {
    unsigned number = 0;
    for (Operation &op : block) {
      position[&op] = number++;
      scf::ForOp passes = asPasses(&op);
      if (!passes)
        continue;
      for (Operation &inside : *passes.getBody())
        position[&inside] = number++;
      lastPosition[&op] = number++;
    }
  }

  LogicalResult run() {
    for (auto alloc : llvm::make_early_inc_range(block.getOps<memref::AllocOp>()))
      if (failed(gather(alloc)))
        return failure();
    WalkResult nested = func.walk([&](memref::AllocOp alloc) {
      if (alloc->getBlock() == &block)
        return WalkResult::advance();
      alloc.emitOpError("is inside a region; the host function allocates at its top level");
      return WalkResult::interrupt();
    });
    if (nested.wasInterrupted())
      return failure();
    if (buffers.empty())
      return success();
    if (arena)
      return buffers.front().alloc.emitOpError("came after the memory plan, whose arena is as large as it was planned");
    assign();
    return place();
  }

private:
  /// Finds the first and last use of `alloc`; returned and unused buffers are not planned.
  LogicalResult gather(memref::AllocOp alloc) {
    if (alloc->hasAttr(arenaAttrName)) {
      arena = alloc;
      return success();
    }
    if (!alloc.getType().getLayout().isIdentity() || !alloc.getType().getElementType().isIntOrIndexOrFloat())
      return alloc.emitOpError() << "must be a contiguous buffer of numbers, got " << alloc.getType();
    Buffer buffer{alloc, static_cast<unsigned>(buffers.size()), ~0u, 0, {}};
    SmallVector<Value> aliases{alloc};
    SmallVector<memref::DeallocOp> deallocs;
    SmallVector<Operation *> users;
    bool returned = false;
    for (unsigned i = 0; i < aliases.size(); ++i)
      for (Operation *user : aliases[i].getUsers()) {
        if (auto view = dyn_cast<ViewLikeOpInterface>(user)) {
          aliases.push_back(view.getViewDest());
          continue;
        }
        if (auto dealloc = dyn_cast<memref::DeallocOp>(user)) {
          deallocs.push_back(dealloc);
          continue;
        }
        if (isa<memref::DimOp>(user))
          continue;
        returned |= isa<func::ReturnOp>(user);
        if (llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>))
          return user->emitOpError("makes a buffer from another in a way that the memory plan does not follow");
        users.push_back(user);
      }
    if (returned)
      return success();
    for (memref::DeallocOp dealloc : deallocs)
      dealloc.erase();
    addUses(buffer, users);
    if (buffer.begin == ~0u) // only sizes are used
      buffer.begin = buffer.end = position.lookup(alloc);
    buffer.size = sizeOf(alloc);
    buffers.push_back(buffer);
    return success();
  }

  /// What a loop over passes alone uses holds nothing from one pass to the next; anything else that it uses is live
  /// from its first pass to its last.
  void addUses(Buffer &buffer, ArrayRef<Operation *> users) {
    auto loopOf = [&](Operation *user) { return asPasses(block.findAncestorOpInBlock(*user)); };
    const bool isOfOne = llvm::all_of(users, [&](Operation *user) { return loopOf(user) == loopOf(users.front()); });
    for (Operation *user : users) {
      Operation *whole = block.findAncestorOpInBlock(*user);
      scf::ForOp passes = loopOf(user);
      if (passes && isOfOne)
        whole = passes.getBody()->findAncestorOpInBlock(*user);
      const unsigned first = position.lookup(whole);
      buffer.begin = std::min(buffer.begin, first);
      buffer.end = std::max(buffer.end, passes && !isOfOne ? lastPosition.lookup(whole) : first);
    }
  }

  Size sizeOf(memref::AllocOp alloc) {
    Size size;
    MemRefType type = alloc.getType();
    size.coefficient = type.getElementType().isIndex() ? 8 : llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    for (int64_t extent : type.getShape())
      if (!ShapedType::isDynamic(extent))
        size.coefficient = multiply(size.coefficient, extent);
    for (Value extent : alloc.getDynamicSizes())
      addFactor(size, extent);
    llvm::sort(size.factors, [&](Value a, Value b) { return factorNumber[a] < factorNumber[b]; });
    return size;
  }

  void addFactor(Size &size, Value value) {
    if (std::optional<int64_t> constant = getConstantIntValue(value)) {
      size.coefficient = multiply(size.coefficient, *constant);
    } else if (auto mul = value.getDefiningOp<arith::MulIOp>()) {
      addFactor(size, mul.getLhs());
      addFactor(size, mul.getRhs());
    } else {
      factorNumber.try_emplace(value, factorNumber.size());
      size.factors.push_back(value);
    }
  }

  void assign() {
    llvm::sort(buffers, [](const Buffer &a, const Buffer &b) {
      return std::tie(a.begin, a.number) < std::tie(b.begin, b.number);
    });
    // Free slots by their dynamic sizes, then by coefficient and number; busy ones by their last op.
    std::map<std::vector<unsigned>, std::set<std::pair<int64_t, unsigned>>> free;
    std::set<std::pair<unsigned, unsigned>> busy;
    for (Buffer &buffer : buffers) {
      for (; !busy.empty() && busy.begin()->first < buffer.begin; busy.erase(busy.begin())) {
        unsigned slot = busy.begin()->second;
        free[factorNumbers(slots[slot].size)].insert({slots[slot].size.coefficient, slot});
      }
      auto &fitting = free[factorNumbers(buffer.size)];
      if (fitting.empty()) {
        buffer.slot = slots.size();
        slots.push_back({buffer.size, {}});
      } else {
        // The smallest one that is large enough, else the largest; of several of a size the first.
        auto best = fitting.lower_bound({buffer.size.coefficient, 0});
        if (best == fitting.end())
          best = fitting.lower_bound({fitting.rbegin()->first, 0});
        buffer.slot = best->second;
        fitting.erase(best);
      }
      Size &size = slots[buffer.slot].size;
      size.coefficient = std::max(size.coefficient, buffer.size.coefficient);
      busy.insert({buffer.end, buffer.slot});
    }
  }

  std::vector<unsigned> factorNumbers(const Size &size) const {
    std::vector<unsigned> numbers;
    for (Value factor : size.factors)
      numbers.push_back(factorNumber.lookup(factor));
    return numbers;
  }

  LogicalResult place() {
    Operation *first = buffers.front().alloc;
    for (Buffer &buffer : buffers)
      if (buffer.alloc->isBeforeInBlock(first))
        first = buffer.alloc;
    for (auto [number, slot] : llvm::enumerate(slots))
      for (Value factor : slot.size.factors)
        if (failed(hoistScalar(factor, first))) {
          auto isOfSlot = [number = number](const Buffer &buffer) { return buffer.slot == number; };
          return emitError(llvm::find_if(buffers, isOfSlot)->alloc->getLoc())
                 << "needs memory whose size the program computes in a kernel, as from an element of a vector; it "
                    "takes "
                    "all memory before the first kernel, so a size may depend on sizes of inputs and on inputs of one "
                    "element alone";
        }

    OpBuilder b(first);
    Location loc = func.getLoc();
    auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
    // Constant parts of the offsets are added up here, so that static models get constant offsets.
    int64_t constant = 0;
    Value dynamic, beyond; // not 0 if a slot has more bytes than any machine
    auto note = [&](Value bits) { beyond = beyond ? arith::OrIOp::create(b, loc, beyond, bits).getResult() : bits; };
    // No machine has 2^48 bytes, and as many slots as there are do not add up to 2^63.
    const int64_t mostBits = std::min(48u, 62 - llvm::Log2_64_Ceil(slots.size() + 1));
    auto sum = [&]() -> Value {
      Value fixed = index(constant);
      return dynamic ? arith::AddIOp::create(b, loc, dynamic, fixed) : fixed;
    };
    for (Slot &slot : slots) {
      slot.offset = sum();
      if (slot.size.factors.empty()) {
        constant = std::min<int64_t>(constant + llvm::alignTo(slot.size.coefficient, alignment), farTooMuch);
        continue;
      }
      Value bytes = index(slot.size.coefficient);
      for (Value factor : slot.size.factors) {
        moe_mlir::WholeProduct product = moe_mlir::multiplyWhole(b, loc, bytes, factor);
        bytes = product.value;
        note(product.excess);
      }
      note(arith::ShRUIOp::create(b, loc, bytes, index(mostBits)));
      if (slot.size.coefficient % alignment) {
        Value up = arith::AddIOp::create(b, loc, bytes, index(alignment - 1));
        bytes = arith::AndIOp::create(b, loc, up, index(-alignment));
      }
      dynamic = dynamic ? arith::AddIOp::create(b, loc, dynamic, bytes) : bytes;
    }
    // The runtime has an error for memory that it does not get.
    Value total = sum();
    if (beyond) {
      Value fits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, beyond, index(0));
      total = arith::SelectOp::create(b, loc, fits, total, index(INT64_MAX));
    }
    arena = memref::AllocOp::create(b, loc, MemRefType::get({ShapedType::kDynamic}, b.getI8Type()), total);
    arena->setAttr(arenaAttrName, b.getUnitAttr());
    for (Buffer &buffer : buffers) {
      memref::AllocOp alloc = buffer.alloc;
      b.setInsertionPoint(alloc);
      auto view = memref::ViewOp::create(b, alloc.getLoc(), alloc.getType(), arena, slots[buffer.slot].offset,
                                         alloc.getDynamicSizes());
      alloc.replaceAllUsesWith(view.getResult());
      alloc.erase();
    }
    return success();
  }

  func::FuncOp func;
  Block &block;
  llvm::DenseMap<Operation *, unsigned> position;
  llvm::DenseMap<Operation *, unsigned> lastPosition; ///< of loops over passes: behind all in them
  llvm::DenseMap<Value, unsigned> factorNumber;
  SmallVector<Buffer> buffers;
  SmallVector<Slot> slots;
  memref::AllocOp arena;
};

struct KernelPlanMemory : kernel::impl::KernelPlanMemoryBase<KernelPlanMemory> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    if (failed(Planner(func).run()))
      signalPassFailure();
  }
};
} // namespace
