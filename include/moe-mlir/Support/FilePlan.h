//===- FilePlan.h - the files that a run reads and writes -----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_FILEPLAN_H
#define MOE_MLIR_SUPPORT_FILEPLAN_H

#include "moe-mlir/Support/Places.h"

#include "llvm/Support/Error.h"

#include <vector>

namespace moe_mlir {

/// All files of a run, known before it writes the first one: no output may replace an input or another output.
class FilePlan {
public:
  enum class Kind {
    File,  ///< replaced by a new one
    Text,  ///< the same, or a stream or a device that is printed to
    Folder ///< made, with the folders above it
  };

  /// `what` is how messages call the file: "the input".
  void reads(llvm::StringRef what, llvm::StringRef path);
  /// `remedy` is what to do if the name is taken: "choose another name with -o"; `orIfInput` is what else can be done
  /// if it is an input's.
  void writes(Kind kind, llvm::StringRef what, llvm::StringRef path, llvm::StringRef remedy,
              llvm::StringRef orIfInput = "");
  /// Says what is wrong with the first output that is in the way of another file, or that cannot stand where it should.
  llvm::Error check() const;
  /// Only whether an output would replace an input or another output.
  llvm::Error checkNames() const;

private:
  struct File {
    std::string what, path;
    Place place;
  };
  struct Output : File {
    Kind kind;
    std::string remedy, orIfInput;
  };
  static llvm::Error checkKind(const Output &output);
  llvm::Error checkFolder(const Output &output) const;

  std::vector<File> inputs;
  std::vector<Output> outputs;
};

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_FILEPLAN_H
