//===- Outputs.h - files that appear complete or not at all ---------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_OUTPUTS_H
#define MOE_MLIR_LIB_DRIVER_OUTPUTS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace moe_mlir {

/// Output files are made in hidden folders beside their final places and moved there together, when all are complete.
/// Text for what is no ordinary file is kept and printed then. Without `commit` nothing remains.
class Outputs {
public:
  Outputs() = default;
  Outputs(const Outputs &) = delete;
  Outputs &operator=(const Outputs &) = delete;
  ~Outputs();

  /// A path to write to, for a file that `commit` will move to `final`, whose folder must exist and be writable; an
  /// error if something is there that is no ordinary file.
  llvm::Expected<std::string> add(llvm::StringRef final);
  /// Text for a file, for standard output ("-") or for another stream or device.
  llvm::Error addText(llvm::StringRef final, llvm::function_ref<void(llvm::raw_ostream &)> print);
  /// A path beside `final` for a file that is thrown away.
  llvm::Expected<std::string> scratch(llvm::StringRef final, llvm::StringRef name);
  /// Prints the texts, then moves the files. If any of it fails, files that stood there before stand there again.
  /// No signal ends the process any more once the last ones are in their places.
  llvm::Error commit(bool isLast = false);

private:
  struct Move {
    std::string from, to;
  };
  llvm::Expected<std::string> folderBeside(llvm::StringRef final);
  llvm::Error place(const Move &move, std::vector<Move> &undo);
  llvm::Error placeAll();

  llvm::StringMap<std::string> folders; ///< by the folder that they lie in
  std::vector<Move> moves;
  std::vector<std::pair<std::string, std::string>> texts;
};

/// Writes text to a file by way of a temporary one, or to what is no ordinary file.
llvm::Error writeText(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> print);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_OUTPUTS_H
