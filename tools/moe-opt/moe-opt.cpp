//===- moe-opt.cpp - runs passes and pipelines on textual IR ------------------------------------------------------===//

#include "moe-mlir/InitAll.h"
#include "moe-mlir/Support/FatalErrors.h"
#include "moe-mlir/Support/UntrustedIr.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

/// Looks at a file before the parser does, which recurses. A pipe can be read only once, and bytecode is as good as the
/// tool that wrote it.
static bool mayBeParsed(llvm::StringRef path) {
  if (path == "-" || !llvm::sys::fs::is_regular_file(path))
    return true;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer || mlir::isBytecode(**buffer))
    return true;
  unsigned line;
  llvm::Error error = moe_mlir::checkIrText((*buffer)->getBuffer(), line);
  if (!error)
    return true;
  llvm::errs() << path << ":" << line << ": error: " << llvm::toString(std::move(error)) << "\n";
  return false;
}

int main(int argc, char **argv) {
  moe_mlir::handleFatalErrors("moe-opt");
  mlir::DialectRegistry registry;
  moe_mlir::registerAllDialects(registry);
  moe_mlir::registerAllPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "moe-mlir modular optimizer driver\n", registry);
  if (!mayBeParsed(input))
    return EXIT_FAILURE;
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
