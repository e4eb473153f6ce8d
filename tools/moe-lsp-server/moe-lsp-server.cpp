//===- moe-lsp-server.cpp - language server for the project's dialects --------------------------------------------===//

#include "DocumentCheck.h"
#include "OwnName.h"
#include "moe-mlir/InitAll.h"
#include "moe-mlir/Support/FatalErrors.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

int main(int argc, char **argv) {
  moe_mlir::handleFatalErrors("moe-lsp-server");
  moe_mlir::useOwnName();
  // Tests of servers give messages without headers.
  const bool hasHeaders = llvm::none_of(llvm::ArrayRef<char *>(argv, argc), [](llvm::StringRef argument) {
    return argument.contains("input-style") || argument.contains("lit-test");
  });
  if (hasHeaders)
    moe_mlir::checkDocuments();
  mlir::DialectRegistry registry;
  moe_mlir::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
