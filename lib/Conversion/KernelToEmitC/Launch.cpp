//===- Launch.cpp - how a kernel is launched ----------------------------------------------------------------------===//
//
// For the program that launches it, in attributes (CudaLaunch.h); for ptxas, in launch bounds, by which as many blocks
// as are planned find room for their registers; for readers of the text, in comments.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

#include "moe-mlir/Conversion/KernelToEmitC/Launch.h"
#include "moe-mlir/Dialect/Cuda/IR/Block.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kernel;
using cuda::CudaLaunch;
using cuda::CudaMap;

static constexpr int64_t kRegistersOfLoop = 16;

/// A guess at the registers of a thread: what a lane loads in an iteration is in flight at once, and needs about as
/// many again for where it comes from and what it is multiplied by.
static int64_t estimateRegisters(FuncOp func) {
  DenseMap<Block *, int64_t> loaded; // bytes
  func.walk([&](vector::LoadOp load) {
    VectorType type = load.getVectorType();
    loaded[load->getBlock()] += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  });
  int64_t most = 0;
  for (auto &[block, bytes] : loaded)
    most = std::max(most, bytes);
  return kRegistersOfLoop + 2 * most / 4;
}

/// The warps of blocks whose rows have warps of their own, or, where warps meet, share an index.
static void planRows(FuncOp func, CudaLaunch &launch) {
  bool isBlockWork = func.walk([](gpu::BarrierOp) { return WalkResult::interrupt(); }).wasInterrupted();
  auto plan = cuda::RowPlanAttr::of(func, isBlockWork);
  launch.threads = plan.getThreads();
  int64_t fitting = cuda::registersOfBlock / (launch.threads * estimateRegisters(func));
  launch.blocksPerSm = std::clamp<int64_t>(fitting, 1, plan.getBlocksPerSm());
}

/// Slots of the first `count` arguments: a memref has one, and one for each of its dynamic dimensions; a window an
/// offset too.
static int64_t slotsBefore(Block::BlockArgListType arguments, unsigned count) {
  int64_t slot = 0;
  for (BlockArgument before : arguments.take_front(count)) {
    auto window = dyn_cast<WindowType>(before.getType());
    auto memref = window ? window.getPart() : dyn_cast<MemRefType>(before.getType());
    slot += (window ? 2 : 1) + (memref ? memref.getNumDynamicDims() : 0);
  }
  return slot;
}

static int64_t slotOf(BlockArgument argument) {
  return slotsBefore(argument.getOwner()->getArguments(), argument.getArgNumber());
}

static CudaMap mapOf(cuda::TensorMapOp op) {
  auto type = cast<MemRefType>(op.getMatrix().getType());
  CudaMap map;
  map.slot = slotOf(cast<BlockArgument>(op.getMatrix()));
  map.element = type.getElementType();
  map.columns = type.getShape().back();
  // Of the matrices with a map, those of dynamic size have two dimensions.
  if (type.hasStaticShape())
    map.rows = type.getNumElements() / std::max<int64_t>(map.columns, 1);
  else
    map.rows = -(1 + map.slot + 1);
  map.boxRows = op.getRows();
  map.boxColumns = 8 * cuda::rowBytes / type.getElementTypeBitWidth();
  map.swizzle = cuda::rowBytes;
  return map;
}

/// One block on each multiprocessor, with what the largest member needs. Rows take as many threads as there are; the
/// roles of a product are all threads.
static CudaLaunch launchOfMembers(FuncOp func) {
  CudaLaunch launch;
  int64_t firstSlot = 0;
  for (FuncOp part : kernel::partsOf(func)) {
    CudaLaunch own = kernel::launchOf(part);
    bool hasRoles = !own.roles.empty(), hadRoles = !launch.roles.empty();
    if (hasRoles == hadRoles)
      launch.threads = std::max(launch.threads, own.threads);
    else if (hasRoles)
      launch.threads = own.threads;
    launch.sharedBytes = std::max(launch.sharedBytes, own.sharedBytes);
    launch.stages = std::max(launch.stages, own.stages);
    if (!hadRoles)
      launch.roles = own.roles;
    for (CudaMap &map : own.maps) {
      map.slot += firstSlot;
      map.rows -= map.rows < 0 ? firstSlot : 0;
      launch.maps.push_back(map);
    }
    firstSlot += slotsBefore(part.getArguments(), part.getNumArguments());
  }
  return launch;
}

CudaLaunch kernel::launchOf(FuncOp func) {
  CudaLaunch launch;
  Block &body = func.getBody().front();
  if (!body.getOps<cuda::MemberOp>().empty())
    return launchOfMembers(func);
  auto all = body.getOps<cuda::WarpRolesOp>();
  if (all.empty()) {
    planRows(func, launch);
    return launch;
  }
  for (auto role : (*all.begin()).getBody().front().getOps<cuda::RoleOp>()) {
    launch.roles.push_back({role.getSymName().str(), static_cast<int64_t>(32 * role.getWarps()),
                            static_cast<int64_t>(role.getRegisters())});
    launch.threads += launch.roles.back().threads;
  }
  for (auto ring : body.getOps<cuda::RingOp>()) {
    launch.stages = ring.getType().getStages();
    launch.sharedBytes = cuda::barrierBytes + launch.stages * ring.getType().getBytes();
  }
  for (auto map : body.getOps<cuda::TensorMapOp>())
    launch.maps.push_back(mapOf(map));
  return launch;
}

void Emitter::setLaunch(emitc::FuncOp func) {
  launch.setOn(func);
  std::string bounds = std::to_string(launch.threads) + ", " + std::to_string(launch.blocksPerSm);
  func.setSpecifiersAttr(b.getStrArrayAttr({"extern \"C\" __global__ __launch_bounds__(" + bounds + ")"}));
}

void Emitter::describeLaunch(emitc::FuncOp func) {
  if (launch.roles.empty())
    return;
  Location loc = func.getLoc();
  line(loc,
       "// Launch: " + Twine(launch.threads) + " threads, " + Twine(launch.sharedBytes) + " bytes of shared memory.");
  for (auto [map, argument] : llvm::zip(launch.maps, func.getArguments().take_back(launch.maps.size()))) {
    std::string size = map.rows >= 0 ? std::to_string(map.rows) : "argument " + std::to_string(-(1 + map.rows));
    line(loc,
         "// Map {}: argument " + Twine(map.slot) + " as " + size + " x " + Twine(map.columns) + ", boxes of " +
             Twine(map.boxRows) + " rows.",
         argument);
  }
}
