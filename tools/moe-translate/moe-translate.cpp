//===- moe-translate.cpp - bridges to and from file formats -------------------------------------------------------===//

#include "moe-mlir/Import/Pt2.h"
#include "moe-mlir/Support/FatalErrors.h"
#include "moe-mlir/Support/InputText.h"
#include "moe-mlir/Target/Cuda.h"
#include "moe-mlir/Target/Object.h"

#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

namespace {
/// What the command line names.
struct Files {
  std::string input = "-";
  llvm::StringRef output = "-";
  int inputAt = 0; ///< the argument; 0 if there is none
  bool isText = true; ///< the input is IR, and not a model or LLVM IR
};
} // namespace

static Files filesOf(llvm::ArrayRef<const char *> arguments) {
  Files files;
  for (size_t i = 1; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if ((argument == "-o" || argument == "--o") && i + 1 < arguments.size())
      files.output = arguments[++i];
    else if (argument.consume_front("-o=") || argument.consume_front("--o="))
      files.output = argument;
    else if (!argument.starts_with("-") || argument == "-")
      files.input = arguments[files.inputAt = i];
    else if (argument.contains("import") || argument.contains("deserialize") || argument.starts_with("--help") ||
             argument.starts_with("--version"))
      files.isText = false;
  }
  return files;
}

int main(int argc, char **argv) {
  moe_mlir::handleFatalErrors("moe-translate");
  Files files = filesOf(llvm::ArrayRef<const char *>(argv, argc));
  if (!moe_mlir::mayBeWritten(files.output, files.input) || (files.isText && !moe_mlir::mayBeParsed(files.input)))
    return EXIT_FAILURE;
  if (files.inputAt)
    argv[files.inputAt] = files.input.data();
  mlir::registerAllTranslations();
  moe_mlir::registerPt2Translation();
  moe_mlir::registerObjectTranslations();
  moe_mlir::registerCudaTranslations();
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "moe-mlir translation driver"));
}
