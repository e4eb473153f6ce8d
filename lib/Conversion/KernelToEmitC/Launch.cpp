//===- Launch.cpp - how a kernel with products is launched --------------------------------------------------------===//
//
// For the program that launches it, in attributes (CudaLaunch.h); for readers of the text, in comments.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

using namespace mlir;
using namespace mlir::kernel;

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

void Emitter::emitLaunch(emitc::FuncOp func, ArrayRef<Value> weights, ArrayRef<Value> rows) {
  Location loc = func.getLoc();
  for (Value matrix : weights)
    launch.maps.push_back(mapOf(matrix, boxRowsOf(matrix)));
  for (Value matrix : rows)
    launch.maps.push_back(mapOf(matrix, plan->rows));
  launch.threads = kThreads;
  launch.sharedBytes = plan->sharedBytes();
  launch.blocksPerSm = 1;

  line(loc, "// Launch: " + Twine(kThreads) + " threads, " + Twine(launch.sharedBytes) + " bytes of shared memory.");
  for (auto [map, argument] : llvm::zip(launch.maps, func.getArguments().take_back(launch.maps.size()))) {
    std::string size = map.rows >= 0 ? std::to_string(map.rows) : "argument " + std::to_string(-(1 + map.rows));
    line(loc,
         "// Map {}: argument " + Twine(map.slot) + " as " + size + " x " + Twine(map.columns) + ", boxes of " +
             Twine(map.boxRows) + " rows.",
         argument);
  }
}
