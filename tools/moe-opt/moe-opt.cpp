//===- moe-opt.cpp - runs passes and pipelines on textual IR ------------------------------------------------------===//

#include "moe-mlir/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  moe_mlir::registerAllDialects(registry);
  moe_mlir::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "moe-mlir modular optimizer driver\n", registry));
}
