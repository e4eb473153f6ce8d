//===- InputText.cpp - a look at a tool's input before a parser has one -------------------------------------------===//

#include "moe-mlir/Support/InputText.h"

#include "moe-mlir/Support/TerminalText.h"
#include "moe-mlir/Support/UntrustedIr.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;

/// Puts what has been read from the standard input there again. A pipe gives it only once.
static bool putBack(StringRef text) {
  int file = memfd_create("input", MFD_CLOEXEC);
  while (file >= 0 && !text.empty()) {
    ssize_t written = write(file, text.data(), text.size());
    if (written <= 0)
      break;
    text = text.drop_front(written);
  }
  const bool isDone = file >= 0 && text.empty() && lseek(file, 0, SEEK_SET) == 0 && dup2(file, STDIN_FILENO) >= 0;
  if (file >= 0)
    close(file);
  return isDone;
}

bool moe_mlir::mayBeParsed(StringRef path) {
  const bool isStandard = path == "-";
  // Who types sees what happens, and waits for an answer line by line.
  if (isStandard ? isatty(STDIN_FILENO) : !sys::fs::is_regular_file(path))
    return true;
  auto buffer = isStandard ? MemoryBuffer::getSTDIN() : MemoryBuffer::getFile(path);
  if (!buffer)
    return true; // said by who reads it
  if (isStandard && !putBack((*buffer)->getBuffer())) {
    errs() << "<stdin>: error: cannot be kept in memory\n";
    return false;
  }
  if (mlir::isBytecode(**buffer))
    return true;
  unsigned line;
  Error error = checkIrText((*buffer)->getBuffer(), line);
  if (!error)
    return true;
  errs() << (isStandard ? "<stdin>" : forTerminal(path, /*isName=*/true)) << ":" << line
         << ": error: " << toString(std::move(error)) << "\n";
  return false;
}

bool moe_mlir::mayBeWritten(StringRef output, StringRef input) {
  if (!sys::fs::is_regular_file(output) || !sys::fs::equivalent(output, input))
    return true;
  errs() << "error: '" << forTerminal(output, /*isName=*/true) << "' would replace the input '"
         << forTerminal(input, /*isName=*/true) << "': give it another name\n";
  return false;
}
