//===- ParseIr.cpp - a module of a text that nobody vouches for ---------------------------------------------------===//

#include "moe-mlir/Support/UntrustedIr.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

OwningOpRef<ModuleOp> moe_mlir::parseIr(llvm::SourceMgr &sources, MLIRContext *context) {
  bool sawError = false;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    sawError |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return failure(); // for the next handler, which says it
  });
  // Verified after its types have been looked at.
  ParserConfig config(context, /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, config);
  if (!module || sawError || failed(checkTypeSizes(*module)) || failed(verify(*module)))
    return {};
  return module;
}
