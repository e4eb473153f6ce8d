//===- GpuKernels.cpp - what kernels are on a GPU, and how long they should take ----------------------------------===//

#include "GpuKernels.h"
#include "IndexBounds.h"

#include "moe-mlir/Conversion/KernelToEmitC/Launch.h"
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"
#include "moe-mlir/Dialect/Cuda/IR/Block.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace moe_mlir;

static constexpr int64_t warpThreads = 32;

llvm::StringMap<cuda::CudaLaunch> moe_mlir::launchesOnGpu(ModuleOp module) {
  llvm::StringMap<cuda::CudaLaunch> launches;
  // Whoever compiles the kernels hears what is wrong with them.
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  for (auto kernel : module.getOps<kernel::FuncOp>()) {
    OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
    copy->getOperation()->setDiscardableAttrs(module->getDiscardableAttrDictionary());
    copy->push_back(kernel.clone());
    PassManager pm(module.getContext());
    kernel::buildKernelToThreadsPipeline(pm);
    if (failed(pm.run(*copy)))
      continue;
    cuda::CudaLaunch launch = kernel::launchOf(*copy->getOps<kernel::FuncOp>().begin());
    // Whether each op has a form in CUDA C++, only its conversion knows.
    PassManager conversion(module.getContext());
    conversion.addPass(kernel::createConvertKernelToEmitC());
    if (succeeded(conversion.run(*copy)))
      launches.try_emplace(kernel.getName(), std::move(launch));
  }
  return launches;
}

/// The number that lies within the bounds, if there is one alone.
static SizeExpr exactValue(const Bounds &bounds, SizeTable &table) {
  if (!bounds.upper.empty())
    if (SizeExpr least = table.min(bounds.upper); least == bounds.lower && !table.hasVariables(least))
      return least;
  return table.named("unknown");
}

/// Blocks of a grid that get an index of `forall`, or of a row program without one, each index being the work of a warp
/// or of a block.
static SizeExpr blocksWithWork(scf::ForallOp forall, int64_t threads, IndexBounds &bounds, SizeTable &table) {
  SizeExpr indices = 1;
  for (OpFoldResult size : forall.getMixedUpperBound())
    indices = indices * (isa<Attribute>(size) ? SizeExpr(cast<IntegerAttr>(cast<Attribute>(size)).getInt())
                                              : exactValue(bounds.of(cast<Value>(size)), table));
  if (forall.walk([](scf::ParallelOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return indices;
  const int64_t warps = std::max<int64_t>(threads / warpThreads, 1);
  return table.floorDiv(indices + warps - 1, warps);
}

/// What the region of the kernel's first `kernel.store_tile` asks of a thread for a result.
static CudaEpilogue epilogueOf(kernel::FuncOp kernel) {
  CudaEpilogue epilogue;
  kernel.walk([&](kernel::StoreTileOp store) {
    epilogue.columns = store.getAccs().size();
    epilogue.resultBytes = llvm::divideCeil(getElementTypeOrSelf(store.getDest().getType()).getIntOrFloatBitWidth(), 8);
    epilogue.operations = 1;
    for (Operation &op : store.getBody().front().without_terminator()) {
      // A special function is scaled before or after. In full precision it has further instructions: a division those
      // of its branch for small divisors too.
      const bool isDivision = isa<arith::DivFOp>(op), isSpecial = isDivision || isa<math::MathDialect>(op.getDialect());
      auto math = dyn_cast<arith::ArithFastMathInterface>(op);
      auto flags = math ? math.getFastMathFlagsAttr() : arith::FastMathFlagsAttr(); // an op may leave them out
      const bool isExact = !flags || !bitEnumContainsAny(flags.getValue(), arith::FastMathFlags::afn);
      epilogue.specials += isSpecial;
      epilogue.operations += isa<arith::ConstantOp>(op) ? 0 : !isSpecial ? 1 : !isExact ? 2 : isDivision ? 40 : 14;
    }
    return WalkResult::interrupt();
  });
  return epilogue;
}

GpuWork moe_mlir::gpuWorkOf(kernel::LaunchOp launch, kernel::FuncOp kernel, const cuda::CudaLaunch &shape,
                            HostSizes &host, SizeTable &table) {
  GpuWork work;
  auto target = cast<cuda::TargetAttr>(kernel::targetOf(kernel->getParentOfType<ModuleOp>()));
  llvm::SetVector<Value> weights;
  kernel.walk([&](kernel::MmaOp mma) {
    if (!weights.insert(mma.getB()))
      return;
    // Packed: [groups.., blocks of columns, steps, columns, depth of a step].
    auto type = cast<MemRefType>(mma.getB().getType());
    ArrayRef<int64_t> sizes = type.getShape();
    if (sizes.size() < 4 || !type.hasStaticShape())
      return;
    ArrayRef<int64_t> block = sizes.take_back(4);
    CudaProduct product{ShapedType::getNumElements(sizes.drop_back(4)),
                        block[0] * block[2],
                        block[1] * block[3],
                        0,
                        type.getElementTypeBitWidth() / 8,
                        epilogueOf(kernel)};
    cuda::PlanAttr plan = cuda::PlanAttr::of(kernel, target);
    std::optional<cuda::Strips> strips = cuda::Strips::of(kernel, plan.getFewColumns());
    const int64_t strip = strips ? strips->products * strips->stripColumns : block[2];
    work.products.push_back({product, {mma.getAcc().getType().getRows(), block[2], plan.getFewRows(), strip}});
  });
  work.blocks = 1;
  if (!weights.empty() || launch.getSingle())
    return work;
  IndexBounds bounds(kernel, launch, host, table);
  kernel.walk([&](scf::ForallOp forall) {
    work.blocks = table.max(work.blocks, blocksWithWork(forall, shape.threads, bounds, table));
  });
  return work;
}

GpuKernel moe_mlir::describeGpuKernel(const GpuWork &work, const cuda::CudaLaunch &shape) {
  GpuKernel result;
  for (const GpuWork::Product &product : work.products) {
    result.tileRows = std::max(result.tileRows, product.tile.rows);
    result.tileColumns = std::max(result.tileColumns, product.tile.columns);
  }
  result.stages = shape.stages;
  result.threads = shape.threads;
  result.blocksPerMultiprocessor = shape.blocksPerSm;
  result.sharedBytes = shape.sharedBytes;
  for (const cuda::CudaRole &role : shape.roles)
    result.roles.push_back({role.name, role.threads, role.registers});
  return result;
}

CudaEstimate moe_mlir::timeOnGpu(const CudaDevice &device, const GpuWork &work, int64_t rows, int64_t flops,
                                 int64_t bytes, int64_t blocks) {
  if (work.products.empty())
    return estimateRows(device, {bytes, flops, blocks});
  const bool onTensorCores =
      llvm::all_of(work.products, [](const auto &product) { return product.sizes.elementBytes == 2; });
  const double peak = onTensorCores ? device.flopsPerSecond() : device.vectorFlopsPerSecond();
  const double floor = std::max(double(flops) / peak, double(bytes) / device.memoryBytesPerSecond);
  CudaEstimate result;
  for (GpuWork::Product product : work.products) {
    product.sizes.rows = rows;
    // Bytes are counted for the whole launch: one product has all of them, or each its own.
    CudaEstimate part =
        estimateProduct(device, product.sizes, product.tile, work.products.size() == 1 ? bytes : 0);
    result.seconds += part.seconds;
    if (result.terms.empty())
      result.terms = part.terms;
    else
      for (auto [sum, term] : llvm::zip_equal(result.terms, part.terms))
        sum.seconds += term.seconds;
  }
  result.floor = floor;
  result.seconds = std::max(result.seconds, floor);
  return result;
}
