//===- FatalErrors.cpp - LLVM's fatal errors as messages of a tool ------------------------------------------------===//

#include "moe-mlir/Support/FatalErrors.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <sys/uio.h>
#include <typeinfo>
#include <unistd.h>
#include <utility>

using namespace llvm;

static const char *toolName;
static void (*cleanUp)(const char *internalError);

/// Not by way of errs(), which may be the stream that has failed.
static void say(const std::string &text) { (void)!write(STDERR_FILENO, text.data(), text.size()); }

static constexpr const char *kNoMemory = "out of memory";
static constexpr const char *kNoThreads = "the system gives no more threads, or no memory for their stacks";

/// To remove files takes memory, when there is no other.
static constexpr size_t kSpareBytes = size_t(4) << 20;
static void *spare;

/// No memory, or no thread, where a system limits them: nothing is wrong with the tool.
[[noreturn]] static void endForLackOf(const char *what) {
  static std::atomic_flag isEnding = ATOMIC_FLAG_INIT;
  static thread_local bool isHere = false;
  if (isHere)
    _exit(1); // what is done at the end needs memory, too
  isHere = true;
  if (isEnding.test_and_set())
    while (true)
      pause(); // another thread ends the process
  const auto piece = [](const char *text) { return iovec{const_cast<char *>(text), std::strlen(text)}; };
  const iovec line[] = {piece(toolName), piece(": error: "), piece(what), piece("\n")};
  (void)!writev(STDERR_FILENO, line, std::size(line));
  free(std::exchange(spare, nullptr));
  if (cleanUp)
    cleanUp(nullptr);
  sys::RunInterruptHandlers();
  _exit(1);
}

static void onFatalError(void *, const char *reason, bool) {
  StringRef text(reason);
  if (text.starts_with("pthread_create failed"))
    endForLackOf(kNoThreads);
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

/// Exceptions are the C++ library's alone, and caught by nobody.
static void onTerminate() {
  const std::type_info *type = abi::__cxa_current_exception_type();
  StringRef name = type ? type->name() : "";
  if (name == "St12system_error")
    endForLackOf(kNoThreads);
  abort(); // a crash
}

void moe_mlir::handleFatalErrors(const char *tool, void (*atEnd)(const char *internalError)) {
  toolName = tool;
  cleanUp = atEnd;
  install_fatal_error_handler(onFatalError);
  if (!spare)
    spare = malloc(kSpareBytes);
  std::set_new_handler([] { endForLackOf(kNoMemory); });
  install_bad_alloc_error_handler([](void *, const char *, bool) { endForLackOf(kNoMemory); });
  std::set_terminate(onTerminate);
  // A file that reaches the limit of sizes is an error of the write, not a signal that ends the process. LLVM registers
  // its handlers when it is given the first one.
  sys::AddSignalHandler([](void *) {}, nullptr);
  signal(SIGXFSZ, SIG_IGN);
}
