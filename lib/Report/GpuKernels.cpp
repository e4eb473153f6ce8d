//===- GpuKernels.cpp - what kernels are on a GPU, and how long they should take ----------------------------------===//

#include "GpuKernels.h"
#include "IndexBounds.h"

#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace moe_mlir;

static constexpr int64_t warpThreads = 32;

llvm::StringMap<kernel::CudaLaunch> moe_mlir::launchesOnGpu(ModuleOp module) {
  llvm::StringMap<kernel::CudaLaunch> launches;
  // Whoever compiles the kernels hears what is wrong with them.
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  for (auto kernel : module.getOps<kernel::FuncOp>()) {
    OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
    copy->getOperation()->setDiscardableAttrs(module->getDiscardableAttrDictionary());
    copy->push_back(kernel.clone());
    PassManager pm(module.getContext());
    kernel::buildKernelToEmitCPipeline(pm);
    if (failed(pm.run(*copy)))
      continue;
    for (auto function : copy->getOps<emitc::FuncOp>())
      if (FailureOr<kernel::CudaLaunch> launch = kernel::CudaLaunch::get(function); succeeded(launch))
        launches.try_emplace(function.getName(), std::move(*launch));
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

GpuWork moe_mlir::gpuWorkOf(kernel::LaunchOp launch, kernel::FuncOp kernel, const kernel::CudaLaunch &shape,
                            HostSizes &host, SizeTable &table) {
  GpuWork work;
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
    CudaProduct product{ShapedType::getNumElements(sizes.drop_back(4)), block[0] * block[2], block[1] * block[3], 0,
                        type.getElementTypeBitWidth() / 8};
    work.products.push_back({product, mma.getAcc().getType().getRows(), block[2]});
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

GpuKernel moe_mlir::describeGpuKernel(const GpuWork &work, const kernel::CudaLaunch &shape) {
  GpuKernel result;
  for (const GpuWork::Product &product : work.products) {
    result.tileRows = std::max(result.tileRows, product.tileRows);
    result.tileColumns = std::max(result.tileColumns, product.tileColumns);
  }
  result.stages = shape.stages;
  result.threads = shape.threads;
  result.blocksPerMultiprocessor = shape.blocksPerSm;
  result.sharedBytes = shape.sharedBytes;
  for (const kernel::CudaRole &role : shape.roles)
    result.roles.push_back({role.name, role.threads, role.registers});
  return result;
}

GpuTime moe_mlir::timeOnGpu(const CudaDevice &device, const GpuWork &work, int64_t rows, int64_t flops, int64_t bytes,
                            int64_t blocks) {
  if (work.products.empty()) {
    CudaEstimate estimate = estimateRows(device, {bytes, flops, blocks});
    return {estimate.seconds, estimate.floor};
  }
  const bool onTensorCores =
      llvm::all_of(work.products, [](const auto &product) { return product.sizes.elementBytes == 2; });
  const double peak = onTensorCores ? device.flopsPerSecond() : device.vectorFlopsPerSecond();
  const double floor = std::max(double(flops) / peak, double(bytes) / device.memoryBytesPerSecond);
  double seconds = 0;
  for (GpuWork::Product product : work.products) {
    product.sizes.rows = rows;
    seconds += estimateProduct(device, product.sizes, product.tileColumns).seconds;
  }
  return {std::max(seconds, floor), floor};
}
