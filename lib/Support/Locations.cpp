//===- Locations.cpp - locations for people -----------------------------------------------------------------------===//

#include "moe-mlir/Support/Locations.h"

using namespace llvm;
using namespace moe_mlir;

static void collect(mlir::Location location, LocationParts &parts) {
  if (auto file = dyn_cast<mlir::FileLineColLoc>(location)) {
    if (parts.place.empty())
      parts.place = file.getFilename().str() + ":" + std::to_string(file.getLine());
  } else if (auto name = dyn_cast<mlir::NameLoc>(location)) {
    parts.names.insert(name.getName().getValue());
    collect(name.getChildLoc(), parts);
  } else if (auto call = dyn_cast<mlir::CallSiteLoc>(location)) {
    collect(call.getCallee(), parts);
    collect(call.getCaller(), parts);
  } else if (auto fused = dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations())
      collect(part, parts);
  }
}

LocationParts moe_mlir::partsOf(mlir::Location location) {
  LocationParts parts;
  collect(location, parts);
  return parts;
}
