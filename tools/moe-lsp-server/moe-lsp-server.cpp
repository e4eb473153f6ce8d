//===- moe-lsp-server.cpp - language server for the project's dialects --------------------------------------------===//

#include "OwnName.h"
#include "moe-mlir/InitAll.h"
#include "moe-mlir/Support/FatalErrors.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  moe_mlir::handleFatalErrors("moe-lsp-server");
  moe_mlir::useOwnName();
  mlir::DialectRegistry registry;
  moe_mlir::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
