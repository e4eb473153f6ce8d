//===- moe-opt.cpp - runs passes and pipelines on textual IR ------------------------------------------------------===//

#include "moe-mlir/InitAll.h"
#include "moe-mlir/Support/FatalErrors.h"
#include "moe-mlir/Support/InputText.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  moe_mlir::handleFatalErrors("moe-opt");
  mlir::DialectRegistry registry;
  moe_mlir::registerAllDialects(registry);
  moe_mlir::registerAllPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "moe-mlir modular optimizer driver\n", registry);
  if (!moe_mlir::mayBeWritten(output, input, moe_mlir::expandedArguments(argc, argv)) || !moe_mlir::mayBeParsed(input))
    return EXIT_FAILURE;
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
