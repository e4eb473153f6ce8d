//===- Input.h - the model that is compiled -------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_INPUT_H
#define MOE_MLIR_LIB_DRIVER_INPUT_H

#include "Console.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace moe_mlir {

/// Whether a file name means IR rather than an exported model.
bool isIr(llvm::StringRef path);

/// A module and the level that it is at.
struct Input {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Level level = Level::Graph;
};

/// Reads IR as text; "-" is standard input. The level is `from`, or the one the file names. Returns an exit
/// code; messages have been printed.
int readIr(llvm::StringRef path, std::optional<Level> from, mlir::MLIRContext &context, Console &console, Input &input);

/// Reads a .pt2 file up to `aten.call` ops, one per node of its graph; the passes of `importPipeline` make level graph
/// of them. Returns an exit code; messages have been printed.
int readPt2(llvm::StringRef path, mlir::MLIRContext &context, Console &console, Input &input);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_INPUT_H
