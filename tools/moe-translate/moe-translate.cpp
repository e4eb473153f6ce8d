//===- moe-translate.cpp - bridges to and from file formats -------------------------------------------------------===//

#include "moe-mlir/Import/Pt2.h"
#include "moe-mlir/Support/FatalErrors.h"
#include "moe-mlir/Support/InputText.h"
#include "moe-mlir/Target/Cuda.h"
#include "moe-mlir/Target/Object.h"

#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

#include <string>
#include <vector>

namespace {
/// What the command line names.
struct Files {
  std::vector<std::string> inputs; ///< the input is among them, beside values of options
  std::vector<int> inputsAt;       ///< the arguments; none is standard input
  llvm::StringRef output = "-";
  bool isText = true; ///< the input is IR, and not a model or LLVM IR
};
} // namespace

static Files filesOf(llvm::ArrayRef<const char *> arguments) {
  Files files;
  bool isThere = false;
  for (size_t i = 1; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if ((argument == "-o" || argument == "--o") && i + 1 < arguments.size()) {
      files.output = arguments[++i];
    } else if (argument.consume_front("-o=") || argument.consume_front("--o=")) {
      files.output = argument;
    } else if (!argument.starts_with("-") || argument == "-") {
      files.inputs.push_back(argument.str());
      files.inputsAt.push_back(i);
      isThere |= argument == "-" || llvm::sys::fs::exists(argument);
    } else if (argument.contains("import") || argument.contains("deserialize") || argument.starts_with("--help") ||
               argument.starts_with("--version")) {
      files.isText = false;
    }
  }
  if (!isThere)
    files.inputs.push_back("-");
  return files;
}

int main(int argc, char **argv) {
  moe_mlir::handleFatalErrors("moe-translate");
  llvm::SmallVector<const char *> arguments = moe_mlir::expandedArguments(argc, argv);
  Files files = filesOf(arguments);
  if (!moe_mlir::mayBeWritten(files.output, files.inputs, arguments))
    return EXIT_FAILURE;
  if (files.isText && !llvm::all_of(files.inputs, moe_mlir::mayBeParsed))
    return EXIT_FAILURE;
  for (auto [at, input] : llvm::zip(files.inputsAt, files.inputs))
    arguments[at] = input.data();
  mlir::registerAllTranslations();
  moe_mlir::registerPt2Translation();
  moe_mlir::registerObjectTranslations();
  moe_mlir::registerCudaTranslations();
  return mlir::failed(
      mlir::mlirTranslateMain(arguments.size(), const_cast<char **>(arguments.data()), "moe-mlir translation driver"));
}
