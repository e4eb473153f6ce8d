//===- ProgramWeights.h - the parameters of a program, and their archive --------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_PROGRAMWEIGHTS_H
#define MOE_MLIR_LIB_DRIVER_PROGRAMWEIGHTS_H

#include "Console.h"
#include "WeightsFile.h"
#include "moe-mlir/Weights/Archive.h"

#include "mlir/IR/BuiltinOps.h"

namespace moe_mlir {

/// The parameters of a module of the runtime level, taken from a file.
class ProgramWeights {
public:
  /// Checks every parameter of `moert.parameters` against the file. Returns an exit code; messages have been printed.
  int open(mlir::ModuleOp module, const WeightsFile &file, Console &console);

  /// Content id of the file; empty if the program has no parameters.
  llvm::StringRef id() const { return contentId; }
  /// Whether the program has parameters and no archive.
  bool areRandom() const { return random; }
  uint64_t bytes() const { return archiveSize(entries); }
  /// Writes the archive to `path`, which messages call `name`; progress goes to the console.
  llvm::Error write(llvm::StringRef path, llvm::StringRef name, Console &console) const;
  /// 32 hex digits, the same for equal parameters of equal files: programs that differ otherwise share an archive, as
  /// those for different numbers of ranks.
  llvm::StringRef archiveId() const { return ownId; }

private:
  int plan(mlir::DictionaryAttr parameter, const WeightSource *source, Console &console);

  std::string contentId, ownId;
  bool random = false;
  std::vector<ArchiveEntryPlan> entries;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_PROGRAMWEIGHTS_H
