//===- Levels.h - the levels of IR and their names ------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_PIPELINES_LEVELS_H
#define MOE_MLIR_PIPELINES_LEVELS_H

#include "llvm/ADT/StringRef.h"

#include <array>
#include <optional>
#include <string>

namespace moe_mlir {

/// In the order in which a program passes through them. docs/Architecture.md says what each one knows.
enum class Level { Graph, Spmd, Scheduled, Kernel, Runtime };

constexpr std::array<Level, 5> kLevels = {Level::Graph, Level::Spmd, Level::Scheduled, Level::Kernel, Level::Runtime};

/// The level's name: "graph", "spmd", "scheduled", "kernel", "runtime".
llvm::StringRef levelName(Level level);
std::optional<Level> parseLevel(llvm::StringRef name);
/// "unknown level 'name'; one of ..."
std::string unknownLevel(llvm::StringRef name);

/// Module attribute that tells the level of a module. Pipelines that reach a level set it (moe-set-level).
constexpr llvm::StringLiteral kLevelAttr = "moe.level";

} // namespace moe_mlir

#endif // MOE_MLIR_PIPELINES_LEVELS_H
