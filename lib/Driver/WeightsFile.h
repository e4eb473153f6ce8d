//===- WeightsFile.h - the file of weights that a run reads ---------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_WEIGHTSFILE_H
#define MOE_MLIR_LIB_DRIVER_WEIGHTSFILE_H

#include "Console.h"
#include "moe-mlir/Weights/Source.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace moe_mlir {

/// What a dictionary says of weights under that name; empty if it is no text.
llvm::StringRef stringIn(mlir::DictionaryAttr dictionary, llvm::StringRef name);

/// The file that the weights of a module lie in: the one that `moe.weights` names, or --weights. It is opened before
/// the compiler begins to work, so that what is wrong with it is said at once.
class WeightsFile {
public:
  /// Chooses the file, opens it if it was chosen by `flag` or if a program is made of the module, and records it in the
  /// module: every level that is written from here on names it. Returns an exit code; messages have been printed.
  int open(mlir::ModuleOp module, llvm::StringRef flag, bool makesProgram, Console &console);

  /// As given, and what the module named before; empty if there is none.
  llvm::StringRef path() const { return chosen; }
  llvm::StringRef named() const { return recorded; }
  /// There are to be no weights: the program makes random ones when it runs.
  bool isNone() const { return none; }
  /// Null if no file has been chosen, or none was needed.
  const WeightSource *get() const { return source.get(); }
  llvm::StringRef id() const { return contentId; }

private:
  int openSource(bool isFlag, llvm::StringRef expectedId, Console &console);

  std::string chosen, recorded, contentId;
  bool none = false;
  std::unique_ptr<WeightSource> source;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_WEIGHTSFILE_H
