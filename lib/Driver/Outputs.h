//===- Outputs.h - files that appear complete or not at all ---------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_OUTPUTS_H
#define MOE_MLIR_LIB_DRIVER_OUTPUTS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace moe_mlir {

/// Output files are made in a hidden folder beside their final place and moved there together, when all are complete.
/// Without `commit` nothing remains.
class Outputs {
public:
  /// `final` names the main output; its folder must exist and be writable.
  static llvm::Expected<std::unique_ptr<Outputs>> create(llvm::StringRef final);
  ~Outputs();

  /// A path to write to, for a file that `commit` will move to `final`; an error if something is there that is no
  /// ordinary file.
  llvm::Expected<std::string> add(llvm::StringRef final);
  /// A path for a file that is thrown away.
  std::string scratch(llvm::StringRef name) const;
  llvm::Error commit();

private:
  explicit Outputs(std::string folder) : folder(std::move(folder)) {}

  std::string folder;
  std::vector<std::pair<std::string, std::string>> moves;
};

/// A text on its way to a file: complete beside its place until `commit` moves it there. Text for standard output ("-")
/// or for what is no ordinary file is kept and printed by `commit`. Without `commit` nothing remains.
class PendingText {
public:
  static llvm::Expected<PendingText> create(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> print);
  llvm::Error commit();

private:
  std::string path, text;
  std::unique_ptr<Outputs> outputs;
};

/// Writes text to a file by way of a temporary one, or straight to standard output ("-") or what is no ordinary file.
llvm::Error writeText(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> print);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_OUTPUTS_H
