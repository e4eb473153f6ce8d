//===- Executable.h - links a program's object with the runtime -----------------------------------------*- C++ -*-===//
//
// The runtime and the launcher are linked ahead and shipped beside the compiler, so that linking a program takes LLVM's
// lld and the C library that is running already: no compiler, no headers, no libc6-dev.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_TARGET_EXECUTABLE_H
#define MOE_MLIR_TARGET_EXECUTABLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace moe_mlir {

/// What is made: a program with a launcher, a shared object with the C API of `moert/session.h`, or the object that
/// either is linked of.
enum class Emit { Executable, Library, Object };

/// Path of an `ld.lld` of the LLVM version in use: beside that LLVM, else `ld.lld-<major>` or `ld.lld` on the path.
llvm::Expected<std::string> findLinker();

/// Folder with the runtime's prelinked objects, found relative to the running tool (installed or in a build folder).
llvm::Expected<std::string> findRuntime(llvm::StringRef toolPath);

struct LinkJob {
  Emit emit = Emit::Executable;
  bool cuda = false;   ///< With the CUDA runtime.
  std::string linker;  ///< From `findLinker`.
  std::string runtime; ///< From `findRuntime`.
  std::vector<std::string> objects; ///< The program.
  std::string output;  ///< Created or overwritten.
  std::string soname;  ///< For a library: the name it is loaded by.
};

/// Whether the runtime was built with CUDA; the error says what to install.
llvm::Error checkCudaRuntime(const LinkJob &job);

/// A program needs functions that neither the runtime nor the C library has: whoever made its object is at fault.
struct UndefinedSymbols : llvm::ErrorInfo<UndefinedSymbols> {
  static char ID;
  explicit UndefinedSymbols(std::vector<std::string> names) : names(std::move(names)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::vector<std::string> names; ///< Each once.
};

/// Links. Errors carry the linker's own output; `UndefinedSymbols` names the symbols.
llvm::Error link(const LinkJob &job);

} // namespace moe_mlir

#endif // MOE_MLIR_TARGET_EXECUTABLE_H
