//===- Arena.cpp - rules of the memory of a host function's temporary buffers -------------------------------------===//
//
// The runtime has one arena per session and gives it to whoever asks. A second allocation of it would be the same
// memory, and one in a loop would be what the iteration before still uses.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Arena.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

LogicalResult kernel::verifyArena(Operation *op, Attribute value) {
  auto alloc = dyn_cast<memref::AllocOp>(op);
  if (!alloc || !isa<UnitAttr>(value))
    return op->emitOpError() << "'" << arenaAttrName << "' is a unit attribute of memref.alloc";
  MemRefType bytes = MemRefType::get({ShapedType::kDynamic}, IntegerType::get(op->getContext(), 8));
  if (alloc.getType() != bytes)
    return op->emitOpError() << "is an arena, which is " << bytes << ", got " << alloc.getType();
  auto function = dyn_cast<FunctionOpInterface>(op->getParentOp());
  if (!function)
    return op->emitOpError("is an arena inside a region; a host function allocates at its top level");
  for (Operation &other : function.getFunctionBody().front())
    if (&other != op && other.hasAttr(arenaAttrName) && other.isBeforeInBlock(op))
      return op->emitOpError("is a second arena of its function; both would be the same memory");
  return success();
}
