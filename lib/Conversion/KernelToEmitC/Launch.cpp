//===- Launch.cpp - how a kernel is launched ----------------------------------------------------------------------===//
//
// For the program that launches it, in attributes (CudaLaunch.h); for ptxas, in launch bounds, by which as many blocks
// as are planned find room for their registers; for readers of the text, in comments.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kernel;

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

void Emitter::planRows(FuncOp func, bool isBlockWork) {
  auto rowPlan = cuda::RowPlanAttr::of(func, isBlockWork);
  launch.threads = rowPlan.getThreads();
  int64_t fitting = cuda::registersOfBlock / (launch.threads * estimateRegisters(func));
  launch.blocksPerSm = std::clamp<int64_t>(fitting, 1, rowPlan.getBlocksPerSm());
}

CudaMap Emitter::mapOf(Value matrix, int64_t boxRows) {
  auto type = cast<MemRefType>(matrix.getType());
  const Buffer &buffer = buffers.at(matrix);
  CudaMap map;
  map.slot = cast<BlockArgument>(buffer.pointer).getArgNumber();
  map.element = type.getElementType();
  map.columns = type.getShape().back();
  // Of the matrices with a map, those of dynamic size have two dimensions.
  if (auto size = dyn_cast<BlockArgument>(buffer.sizes[0]))
    map.rows = -(1 + static_cast<int64_t>(size.getArgNumber()));
  else
    map.rows = type.getNumElements() / std::max<int64_t>(map.columns, 1);
  map.boxRows = boxRows;
  map.boxColumns = 8 * kRowBytes / type.getElementTypeBitWidth();
  map.swizzle = kRowBytes;
  return map;
}

void Emitter::setLaunch(emitc::FuncOp func) {
  launch.setOn(func);
  std::string bounds = std::to_string(launch.threads) + ", " + std::to_string(launch.blocksPerSm);
  func.setSpecifiersAttr(b.getStrArrayAttr({"extern \"C\" __global__ __launch_bounds__(" + bounds + ")"}));
}

void Emitter::emitLaunch(emitc::FuncOp func, ArrayRef<Value> weights, ArrayRef<Value> rows) {
  Location loc = func.getLoc();
  for (Value matrix : weights)
    launch.maps.push_back(mapOf(matrix, boxRowsOf(matrix)));
  for (Value matrix : rows)
    launch.maps.push_back(mapOf(matrix, plan->rows));
  launch.threads = kThreads;
  launch.sharedBytes = plan->sharedBytes();
  launch.blocksPerSm = 1;
  launch.stages = plan->stages();
  launch.roles = {{"load", kLoadingThreads, plan->plan.getLoadRegisters()},
                  {"multiply", kThreads - kLoadingThreads, plan->plan.getMultiplyRegisters()}};

  line(loc, "// Launch: " + Twine(kThreads) + " threads, " + Twine(launch.sharedBytes) + " bytes of shared memory.");
  for (auto [map, argument] : llvm::zip(launch.maps, func.getArguments().take_back(launch.maps.size()))) {
    std::string size = map.rows >= 0 ? std::to_string(map.rows) : "argument " + std::to_string(-(1 + map.rows));
    line(loc,
         "// Map {}: argument " + Twine(map.slot) + " as " + size + " x " + Twine(map.columns) + ", boxes of " +
             Twine(map.boxRows) + " rows.",
         argument);
  }
}
