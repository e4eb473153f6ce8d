//===- moe-translate.cpp - bridges to and from file formats -------------------------------------------------------===//

#include "moe-mlir/Import/Pt2.h"
#include "moe-mlir/Support/FatalErrors.h"
#include "moe-mlir/Support/InputText.h"
#include "moe-mlir/Target/Cuda.h"
#include "moe-mlir/Target/Object.h"

#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

/// The IR that the command line names; none where it names something else (a model, LLVM IR).
static llvm::StringRef inputOf(llvm::ArrayRef<const char *> arguments) {
  llvm::StringRef input = "-";
  for (size_t i = 1; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (argument == "-o" || argument == "--o")
      ++i;
    else if (!argument.starts_with("-") || argument == "-")
      input = argument;
    else if (argument.contains("import") || argument.contains("deserialize") || argument.starts_with("--help") ||
             argument.starts_with("--version"))
      return "";
  }
  return input;
}

int main(int argc, char **argv) {
  moe_mlir::handleFatalErrors("moe-translate");
  llvm::StringRef input = inputOf(llvm::ArrayRef<const char *>(argv, argc));
  if (!input.empty() && !moe_mlir::mayBeParsed(input))
    return EXIT_FAILURE;
  mlir::registerAllTranslations();
  moe_mlir::registerPt2Translation();
  moe_mlir::registerObjectTranslations();
  moe_mlir::registerCudaTranslations();
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "moe-mlir translation driver"));
}
