//===- ProgramWeights.h - the weights that a module names, and their archive ----------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_PROGRAMWEIGHTS_H
#define MOE_MLIR_LIB_DRIVER_PROGRAMWEIGHTS_H

#include "Console.h"
#include "moe-mlir/Weights/Archive.h"

#include "mlir/IR/BuiltinOps.h"

namespace moe_mlir {

/// The parameters of a module of the runtime level and the file they come from.
class ProgramWeights {
public:
  /// Opens the weights that `moe.weights` names, or the file `other` if it is not empty, and checks every parameter of
  /// `moert.parameters` against it. With "none" as `other` there are none: the program makes random ones when it runs.
  /// Returns an exit code; messages have been printed.
  int open(mlir::ModuleOp module, llvm::StringRef other, Console &console);

  /// Content id of the source; empty if the program has no parameters and names no source.
  llvm::StringRef id() const { return contentId; }
  /// Whether the program has parameters and no archive.
  bool areRandom() const { return random; }
  uint64_t bytes() const { return archiveSize(entries); }
  /// Writes the archive to `path`, which messages call `name`; progress goes to the console.
  llvm::Error write(llvm::StringRef path, llvm::StringRef name, llvm::StringRef buildId, Console &console) const;

private:
  int openSource(mlir::ModuleOp module, llvm::StringRef other, Console &console);
  int plan(mlir::DictionaryAttr parameter, Console &console);

  std::unique_ptr<WeightSource> source;
  std::string contentId;
  bool random = false;
  std::vector<ArchiveEntryPlan> entries;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_PROGRAMWEIGHTS_H
