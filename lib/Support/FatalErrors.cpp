//===- FatalErrors.cpp - LLVM's fatal errors as messages of a tool ------------------------------------------------===//

#include "moe-mlir/Support/FatalErrors.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <csignal>
#include <string>
#include <unistd.h>

using namespace llvm;

static const char *toolName;
static void (*cleanUp)(const char *internalError);

/// Not by way of errs(), which may be the stream that has failed.
static void say(const std::string &text) { (void)!write(STDERR_FILENO, text.data(), text.size()); }

static void onFatalError(void *, const char *reason, bool) {
  StringRef text(reason);
  const bool isOfStream = text.consume_front("IO failure on output stream: ");
  if (isOfStream)
    say(std::string(toolName) + ": error: cannot write the output: " + text.str() + "\n");
  else if (!cleanUp)
    say(std::string(toolName) + ": internal error: " + text.str() + "\n");
  if (cleanUp)
    cleanUp(isOfStream ? nullptr : reason);
  sys::RunInterruptHandlers(); // removes files that are not complete
  _exit(isOfStream ? 1 : 70);
}

void moe_mlir::handleFatalErrors(const char *tool, void (*atEnd)(const char *internalError)) {
  toolName = tool;
  cleanUp = atEnd;
  install_fatal_error_handler(onFatalError);
  // A file that reaches the limit of sizes is an error of the write, not a signal that ends the process. LLVM registers
  // its handlers when it is given the first one.
  sys::AddSignalHandler([](void *) {}, nullptr);
  signal(SIGXFSZ, SIG_IGN);
}
