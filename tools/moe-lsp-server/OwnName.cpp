//===- OwnName.cpp - what the language server calls itself --------------------------------------------------------===//

#include "OwnName.h"

#include "Pipe.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>

using namespace llvm;

namespace {
struct Name {
  StringRef builtIn, own;
};
} // namespace

/// Names in messages are as long as the ones that they replace: a header says how long the message is, and JSON does
/// not mind a space.
static constexpr std::array<Name, 2> kNames = {
    {{"MLIR LSP Language Server", "moe-lsp-server: language server for MLIR text with the dialects of moe-mlir"},
     {"\"mlir-lsp-server\"", " \"moe-lsp-server\""}}};

/// The length of the longest end of `text` that may be the beginning of a name.
static size_t undecided(StringRef text) {
  size_t longest = 0;
  for (const Name &name : kNames)
    for (size_t size = 1; size < name.builtIn.size(); ++size)
      if (text.ends_with(name.builtIn.take_front(size)))
        longest = std::max(longest, size);
  return longest;
}

static std::thread copier;
static int writeError = 0;

/// After an error the rest is dropped: the server must not wait for a reader.
static void writeAll(int to, StringRef text) {
  while (!text.empty() && !writeError) {
    ssize_t size = write(to, text.data(), text.size());
    if (size >= 0)
      text = text.drop_front(size);
    else if (errno != EINTR)
      writeError = errno;
  }
}

/// Until the other end is closed.
static void passOn(int from, int to) {
  std::string text;
  moe_mlir::readPieces(from, [&](StringRef piece) {
    text += piece;
    for (const Name &name : kNames)
      for (size_t at = 0; (at = text.find(name.builtIn, at)) != std::string::npos; at += name.own.size())
        text.replace(at, name.builtIn.size(), name.own);
    const size_t ready = text.size() - undecided(text);
    writeAll(to, StringRef(text).take_front(ready));
    text.erase(0, ready);
    return true;
  });
  writeAll(to, text);
  close(from);
}

static void finish() {
  outs().flush();
  close(STDOUT_FILENO);
  copier.join();
  if (!writeError)
    return;
  errs() << "moe-lsp-server: error: cannot write the output: " << sys::StrError(writeError) << "\n";
  _exit(1);
}

void moe_mlir::useOwnName() {
  outs(); // exists before `finish` is registered, and so is destroyed after it
  int ends[2], original = dup(STDOUT_FILENO);
  if (original < 0 || pipe(ends) != 0)
    return;
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  copier = std::thread(passOn, ends[0], original);
  std::atexit(finish);
}
