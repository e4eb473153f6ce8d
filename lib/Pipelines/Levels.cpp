//===- Levels.cpp - the levels of IR and their names --------------------------------------------------------------===//

#include "moe-mlir/Pipelines/Levels.h"

using namespace moe_mlir;

llvm::StringRef moe_mlir::levelName(Level level) {
  static constexpr llvm::StringLiteral names[] = {"graph", "spmd", "scheduled", "kernel", "runtime"};
  return names[static_cast<int>(level)];
}

std::optional<Level> moe_mlir::parseLevel(llvm::StringRef name) {
  for (Level level : kLevels)
    if (levelName(level) == name)
      return level;
  return std::nullopt;
}

std::string moe_mlir::unknownLevel(llvm::StringRef name) {
  return ("unknown level '" + name + "'; one of graph, spmd, scheduled, kernel, runtime").str();
}
