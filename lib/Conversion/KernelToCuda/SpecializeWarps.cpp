//===- SpecializeWarps.cpp - kernel-specialize-warps --------------------------------------------------------------===//
//
// A kernel with tiles of accumulators becomes roles that walk the same loops. One loads: rows of `a`, wherever they
// are, and weights (Loads.cpp). The other multiplies, one step behind (Products.cpp), and applies the epilogue to its
// registers (Epilogue.cpp). A ring of stages with "full" and "empty" barriers connects them; it runs on across tiles,
// so the loads of a tile overlap the epilogue of the one before.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "RoleBuilder.h"

#include "moe-mlir/Conversion/KernelToCuda/Passes.h"
#include "moe-mlir/Support/FixedStrides.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELSPECIALIZEWARPS
#include "moe-mlir/Conversion/KernelToCuda/Passes.h.inc"
} // namespace mlir::kernel

/// A role: its name, its share of the block, and who writes its program.
namespace {
struct Role {
  StringRef name;
  int64_t warps, registers;
  std::unique_ptr<RoleBuilder> builder;
};
} // namespace

static SmallVector<Role> rolesOf(OpBuilder &b, const SharedParts &parts) {
  cuda::PlanAttr plan = parts.plan.plan;
  SmallVector<Role> roles;
  roles.push_back({"load", kLoadingWarps, plan.getLoadRegisters(), std::make_unique<LoadBuilder>(b, parts, 0)});
  roles.push_back({"multiply", kMultiplyingWarps, plan.getMultiplyRegisters(),
                   std::make_unique<MultiplyBuilder>(b, parts, kLoadingWarps)});
  return roles;
}

/// What comes by TMA is known to it by maps.
static DenseMap<Value, Value> makeMaps(FuncOp func, Code &code, const TilePlan &plan) {
  llvm::SetVector<Value> weights, rows;
  func.walk([&](MmaOp mma) {
    weights.insert(mma.getB());
    if (rowSource(mma, plan.rows) == RowSource::Tile)
      rows.insert(mma.getA());
  });
  DenseMap<Value, Value> maps;
  Type type = cuda::TensorMapType::get(func.getContext());
  for (Value matrix : weights)
    maps[matrix] = code.make<cuda::TensorMapOp>(type, matrix, boxRowsOf(matrix));
  for (Value matrix : rows)
    maps[matrix] = code.make<cuda::TensorMapOp>(type, matrix, plan.rows);
  return maps;
}

static LogicalResult specialize(FuncOp func, cuda::TargetAttr target) {
  FailureOr<TilePlan> plan = TilePlan::get(func, target);
  if (failed(plan))
    return failure();
  Block &body = func.getBody().front();
  SmallVector<Operation *> program =
      llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
  // Without a loop over tiles there is nothing that blocks could share.
  bool isShared = func.walk([](scf::ForallOp) { return WalkResult::interrupt(); }).wasInterrupted();

  OpBuilder b(body.getTerminator());
  Code code(b, func.getLoc());
  SharedParts parts{*plan, {}, makeMaps(func, code, *plan)};
  parts.ring = code.make<cuda::RingOp>(cuda::RingType::get(b.getContext(), plan->stages(), plan->stageBytes()),
                                       plan->fullArrivals(), kMultiplyingWarps);
  auto roles = code.make<cuda::WarpRolesOp>();
  b.createBlock(&roles.getBody());
  for (Role &each : rolesOf(b, parts)) {
    b.setInsertionPointToEnd(&roles.getBody().front());
    auto role = code.make<cuda::RoleOp>(each.name, each.warps, each.registers);
    b.createBlock(&role.getBody());
    LogicalResult written = success();
    auto write = [&] { written = each.builder->write(program); };
    if (isShared) {
      write();
    } else {
      Value block = code.make<cuda::BlockIndexOp>(b.getI32Type());
      code.ifThen(code.compare(arith::CmpIPredicate::eq, block, code.i32(0)), write);
    }
    if (failed(written))
      return failure();
    each.builder->finish(func.getLoc());
  }
  for (Operation *op : llvm::reverse(program))
    op->erase();
  func->removeAttr(planAttrName); // all of it stands in the ops
  return success();
}

/// Slices of weights of variants have gaps, which code for a CPU steps over. Here places follow from sizes alone.
static LogicalResult checkStrides(FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType()); type && !moe_mlir::isContiguousFrom(type, 0))
      return func.emitOpError() << "has argument " << argument.getArgNumber() << " with gaps, " << type
                                << "; kernels for a GPU take rows one behind the other";
  return success();
}

namespace {
struct KernelSpecializeWarps : kernel::impl::KernelSpecializeWarpsBase<KernelSpecializeWarps> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (failed(checkStrides(func)))
      return signalPassFailure();
    bool hasProducts = func.walk([](MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (!hasProducts || !func.getBody().hasOneBlock())
      return markAllAnalysesPreserved();
    FailureOr<cuda::TargetAttr> target = cuda::TargetAttr::get(func->getParentOfType<ModuleOp>());
    if (failed(target) || failed(specialize(func, *target)))
      signalPassFailure();
  }
};
} // namespace
