//===- JoinGroups.cpp - kernel-join-groups ------------------------------------------------------------------------===//
//
// A group is one launch on a GPU, each of whose multiprocessors runs one block to its end. Blocks are divided among the
// members; each goes through its phases by itself, so that waits end whatever the order in which blocks start.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Conversion/KernelToCuda/Groups.h"
#include "moe-mlir/Conversion/KernelToCuda/Passes.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELJOINGROUPS
#include "moe-mlir/Conversion/KernelToCuda/Passes.h.inc"
} // namespace mlir::kernel

/// Multiprocessors for each that a member without products has by default.
static constexpr int64_t multiprocessorsPerSender = 8;

static bool hasProducts(FuncOp kernel) {
  return kernel.walk([](MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

SmallVector<int64_t> mlir::kernel::divideBlocks(LaunchGroupOp group, int64_t multiprocessors) {
  SmallVector<int64_t> blocks;
  SmallVector<unsigned> open;
  for (auto [i, launch] : llvm::enumerate(group.getMembers())) {
    int64_t own = launch.getSingle() ? 1 : launch.getBlocks().value_or(0);
    auto kernel = SymbolTable::lookupNearestSymbolFrom<FuncOp>(launch, launch.getKernelAttr());
    if (!own && !hasProducts(kernel))
      own = std::max<int64_t>(1, multiprocessors / multiprocessorsPerSender);
    if (!own)
      open.push_back(i);
    blocks.push_back(own);
  }
  int64_t left = multiprocessors - llvm::sum_of(blocks);
  for (unsigned i : ArrayRef(open).drop_back(open.empty() ? 0 : 1))
    left -= blocks[i] = std::max<int64_t>(1, left / static_cast<int64_t>(open.size()));
  return blocks;
}

/// What stands behind kernel.phase is done once for each phase.
static void loopOverPhases(FuncOp kernel, int64_t phases) {
  auto found = kernel.getBody().getOps<PhaseOp>();
  if (found.empty())
    return;
  PhaseOp phase = *found.begin();
  OpBuilder b(phase);
  Location loc = phase.getLoc();
  auto constant = [&](int64_t value) { return arith::ConstantIndexOp::create(b, loc, value).getResult(); };
  Value first = constant(0);
  if (phases == 1) {
    phase.replaceAllUsesWith(first);
    phase.erase();
    return;
  }
  auto loop = scf::ForOp::create(b, loc, first, constant(phases), constant(1));
  loop->setAttr("unroll", b.getI64IntegerAttr(1)); // its body is long: as written, once
  Block &body = kernel.getBody().front();
  loop.getBody()->getOperations().splice(loop.getBody()->begin(), body.getOperations(),
                                         std::next(phase->getIterator()), std::prev(body.end()));
  phase.replaceAllUsesWith(loop.getInductionVar());
  phase.erase();
}

namespace {
class GroupJoiner {
public:
  GroupJoiner(ModuleOp module, cuda::TargetAttr target)
      : module(module), symbols(module), multiprocessors(target.getNumbers().multiprocessors) {}

  LogicalResult run() {
    SmallVector<LaunchGroupOp> groups;
    SmallVector<LaunchOp> phased;
    module.walk([&](Operation *op) {
      if (auto group = dyn_cast<LaunchGroupOp>(op))
        groups.push_back(group);
      else if (auto launch = dyn_cast<LaunchOp>(op); launch && !isa<LaunchGroupOp>(op->getParentOp()))
        if (usesPhases(launch))
          phased.push_back(launch);
    });
    for (LaunchGroupOp group : groups)
      if (failed(join(group)))
        return failure();
    for (LaunchOp launch : phased)
      launchByItself(launch);
    eraseUnused();
    return success();
  }

private:
  FuncOp kernelOf(LaunchOp launch) { return symbols.lookup<FuncOp>(launch.getKernel()); }
  static int64_t phasesOf(LaunchOp launch) { return launch.getPhases().value_or(1); }
  bool usesPhases(LaunchOp launch) { return !kernelOf(launch).getBody().getOps<PhaseOp>().empty(); }

  /// A copy of the kernel that goes through `phases`, made once.
  FlatSymbolRefAttr memberOf(LaunchOp launch) {
    replaced.insert(launch.getKernelAttr().getAttr());
    std::pair<Attribute, int64_t> key(launch.getKernelAttr(), phasesOf(launch));
    auto [entry, isNew] = members.try_emplace(key);
    if (isNew) {
      FuncOp copy = kernelOf(launch).clone();
      copy.setName((launch.getKernel() + "_of_" + Twine(key.second)).str());
      loopOverPhases(copy, key.second);
      symbols.insert(copy, std::next(kernelOf(launch)->getIterator()));
      entry->second = FlatSymbolRefAttr::get(copy.getSymNameAttr());
    }
    return entry->second;
  }

  void launchByItself(LaunchOp launch) {
    launch.setKernelAttr(memberOf(launch));
    launch.removePhasesAttr();
  }

  /// Whoever takes what is left has at least one.
  static int64_t neededOf(ArrayRef<int64_t> blocks) { return llvm::sum_of(blocks) + llvm::count(blocks, 0); }

  /// Blocks of each member; one may have 0: those that are left. Emits an error if they do not find room.
  FailureOr<SmallVector<int64_t>> divide(LaunchGroupOp group) {
    SmallVector<int64_t> blocks = divideBlocks(group, multiprocessors);
    const int64_t needed = neededOf(blocks);
    if (needed > multiprocessors)
      return group.emitOpError() << "needs " << needed << " blocks at the same time, and the device has "
                                 << multiprocessors << " multiprocessors, which run one each; give members fewer by "
                                 << "'blocks'";
    return blocks;
  }

  /// The code runs on any device of its architecture, and the one that it meets may be smaller.
  void checkDevice(LaunchGroupOp group, ArrayRef<int64_t> blocks, OpBuilder &b) {
    Location loc = group.getLoc();
    const int64_t needed = neededOf(blocks);
    Value least = arith::ConstantIndexOp::create(b, loc, needed), have = BlocksOp::create(b, loc, b.getIndexType());
    Value isEnough = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, have, least);
    CheckOp::create(b, loc, isEnough,
                    b.getStringAttr("launches at the same time need {0} multiprocessors, one for each block, and the "
                                    "device has {1}; compile for it, or give them fewer blocks"),
                    ValueRange{least, have});
  }

  /// The kernel whose blocks are those of the members, made once.
  FlatSymbolRefAttr joinedOf(LaunchGroupOp group, ArrayRef<int64_t> blocks) {
    SmallVector<Attribute> key;
    OpBuilder b(module.getContext());
    std::string name;
    SmallVector<Type> types;
    Operation *last = nullptr;
    for (auto [launch, own] : llvm::zip(group.getMembers(), blocks)) {
      last = symbols.lookup(memberOf(launch).getAttr());
      key.append({memberOf(launch), b.getI64IntegerAttr(own)});
      name += (name.empty() ? "" : "_with_") + launch.getKernel().str();
      llvm::append_range(types, launch.getOperands_().getTypes());
    }
    FlatSymbolRefAttr &joined = kernels[b.getArrayAttr(key)];
    if (joined)
      return joined;
    auto kernel = FuncOp::create(b, group.getLoc(), name, b.getFunctionType(types, {}));
    b.setInsertionPointToEnd(&kernel.getBody().front());
    ValueRange arguments = kernel.getArguments();
    for (auto [launch, own] : llvm::zip(group.getMembers(), blocks)) {
      unsigned count = launch.getOperands_().size();
      cuda::MemberOp::create(b, launch.getLoc(), memberOf(launch), arguments.take_front(count),
                             own ? b.getI64IntegerAttr(own) : IntegerAttr());
      arguments = arguments.drop_front(count);
    }
    ReturnOp::create(b, group.getLoc());
    symbols.insert(kernel, std::next(last->getIterator()));
    return joined = FlatSymbolRefAttr::get(kernel.getSymNameAttr());
  }

  LogicalResult join(LaunchGroupOp group) {
    FailureOr<SmallVector<int64_t>> blocks = divide(group);
    if (failed(blocks))
      return failure();
    OpBuilder b(group);
    checkDevice(group, *blocks, b);
    SmallVector<Value> operands;
    NamedAttrList attributes;
    Value rows, work;
    for (LaunchOp launch : group.getMembers()) {
      if (failed(addAttributes(launch, operands.size(), attributes)))
        return failure();
      llvm::append_range(operands, launch.getOperands_());
      if (!rows || hasProducts(kernelOf(launch)))
        rows = launch.getRows();
      work = work ? arith::AddIOp::create(b, group.getLoc(), work, launch.getWork()).getResult() : launch.getWork();
    }
    IntegerAttr all;
    if (!llvm::is_contained(*blocks, 0))
      all = b.getI64IntegerAttr(llvm::sum_of(*blocks));
    auto joined = LaunchOp::create(b, group.getLoc(), joinedOf(group, *blocks), operands, rows, work,
                                   /*single=*/UnitAttr(), all, /*phases=*/IntegerAttr(), /*lag=*/IntegerAttr());
    joined->setDiscardableAttrs(attributes.getDictionary(b.getContext()));
    group.erase();
    return success();
  }

  /// What is told about a launch: numbers of operands count those of the members before.
  LogicalResult addAttributes(LaunchOp launch, int64_t firstOperand, NamedAttrList &attributes) {
    Builder b(launch.getContext());
    for (NamedAttribute attribute : launch->getDiscardableAttrs()) {
      Attribute value = attribute.getValue();
      if (auto dictionary = dyn_cast<DictionaryAttr>(value)) {
        NamedAttrList entries(dictionary);
        for (StringRef name : {"offsets", "rows", "each"})
          if (auto number = dictionary.getAs<IntegerAttr>(name))
            entries.set(name, b.getIntegerAttr(number.getType(), number.getInt() + firstOperand));
        value = entries.getDictionary(b.getContext());
      }
      if (Attribute before = attributes.get(attribute.getName()); before && before != value)
        return launch.emitOpError() << "has an attribute '" << attribute.getName().getValue()
                                    << "' of its own, as another member of its group has";
      attributes.set(attribute.getName(), value);
    }
    return success();
  }

  void eraseUnused() {
    llvm::DenseSet<Attribute> used;
    module.walk([&](LaunchOp launch) { used.insert(launch.getKernelAttr().getAttr()); });
    for (StringAttr name : replaced)
      if (!used.contains(name))
        symbols.erase(symbols.lookup(name));
  }

  ModuleOp module;
  SymbolTable symbols;
  int64_t multiprocessors;
  llvm::DenseMap<std::pair<Attribute, int64_t>, FlatSymbolRefAttr> members;
  llvm::DenseMap<Attribute, FlatSymbolRefAttr> kernels; ///< by members and their blocks
  llvm::SetVector<StringAttr> replaced;                 ///< kernels that members are copies of
};

struct KernelJoinGroups : kernel::impl::KernelJoinGroupsBase<KernelJoinGroups> {
  using KernelJoinGroupsBase::KernelJoinGroupsBase;

  void runOnOperation() override {
    auto target = dyn_cast_or_null<cuda::TargetAttr>(targetOf(getOperation()));
    if (!target)
      return markAllAnalysesPreserved();
    if (failed(GroupJoiner(getOperation(), target).run()))
      signalPassFailure();
  }
};
} // namespace
