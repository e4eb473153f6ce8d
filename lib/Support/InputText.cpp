//===- InputText.cpp - a look at a tool's input before a parser has one -------------------------------------------===//

#include "moe-mlir/Support/InputText.h"

#include "moe-mlir/Support/FilePlan.h"
#include "moe-mlir/Support/Places.h"
#include "moe-mlir/Support/TerminalText.h"
#include "moe-mlir/Support/UntrustedIr.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace moe_mlir;

/// A file in memory with that text; none if there is no room.
static std::optional<int> keep(StringRef text) {
  int file = memfd_create("input", MFD_CLOEXEC);
  while (file >= 0 && !text.empty()) {
    ssize_t written = write(file, text.data(), text.size());
    if (written <= 0)
      break;
    text = text.drop_front(written);
  }
  if (file >= 0 && text.empty() && lseek(file, 0, SEEK_SET) == 0)
    return file;
  if (file >= 0)
    close(file);
  return std::nullopt;
}

/// Lets the path of a pipe, which gives its text only once, lead to that text.
static bool putBack(StringRef text, std::string &path) {
  std::optional<int> file = keep(text);
  if (!file)
    return false;
  std::optional<int> descriptor = descriptorOf(path, STDIN_FILENO);
  if (!descriptor) {
    path = "/dev/fd/" + std::to_string(*file);
    return true;
  }
  const bool isDone = dup2(*file, *descriptor) >= 0;
  close(*file);
  return isDone;
}

bool moe_mlir::mayBeParsed(std::string &path) {
  const bool isStandard = path == "-";
  sys::fs::file_status status;
  // Who types sees what happens, and waits for an answer line by line.
  if (isStandard ? isatty(STDIN_FILENO) : static_cast<bool>(sys::fs::status(path, status)))
    return true;
  const bool isPipe = status.type() == sys::fs::file_type::fifo_file;
  if (!isStandard && !isPipe && status.type() != sys::fs::file_type::regular_file)
    return true; // a folder or device, which its reader refuses
  auto buffer = isStandard ? MemoryBuffer::getSTDIN() : MemoryBuffer::getFile(path);
  if (!buffer)
    return true; // said by who reads it
  const std::string name = isStandard ? "<stdin>" : forTerminal(path, /*isName=*/true);
  if ((isStandard || isPipe) && !putBack((*buffer)->getBuffer(), path)) {
    errs() << name << ": error: cannot be kept in memory\n";
    return false;
  }
  if (mlir::isBytecode(**buffer))
    return true;
  unsigned line;
  Error error = checkIrText((*buffer)->getBuffer(), line);
  if (!error)
    return true;
  errs() << name << ":" << line << ": error: " << toString(std::move(error)) << "\n";
  return false;
}

SmallVector<const char *> moe_mlir::expandedArguments(int argc, char **argv) {
  static BumpPtrAllocator memory;
  StringSaver saver(memory);
  SmallVector<const char *> arguments(argv, argv + argc);
  cl::ExpandResponseFiles(saver, cl::TokenizeGNUCommandLine, arguments);
  return arguments;
}

/// The files that an option names: words of a pass's options in part.
static void addFilesOf(StringRef argument, FilePlan &plan) {
  // A quoted name may have blanks and brackets.
  for (const char *separators : {",={}\"'", " ,={}()\"'"}) {
    SmallVector<StringRef> words;
    SplitString(argument, words, separators);
    for (size_t i = 1; i < words.size(); ++i) {
      // Words such as `level=graph` are no names of files.
      if (words[i - 1] != "experts" && words[i].find_first_of("./") == StringRef::npos)
        continue;
      const std::string what = ("the file that '" + argument + "' names").str();
      plan.reads(what, words[i]);
      StringRef behind = words[i].ltrim("0123456789"); // 2xFILE
      if (behind.size() < words[i].size() && behind.consume_front("x"))
        plan.reads(what, behind);
    }
  }
}

bool moe_mlir::mayBeWritten(StringRef output, ArrayRef<std::string> inputs, ArrayRef<const char *> arguments) {
  FilePlan plan;
  for (const std::string &input : inputs)
    plan.reads("the input", input);
  for (size_t i = 1; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (argument == "-o" || argument == "--o")
      ++i;
    else if (!argument.starts_with("-o=") && !argument.starts_with("--o="))
      addFilesOf(argument, plan);
  }
  plan.writes(FilePlan::Kind::Text, "the output", output, "choose another name with -o");
  Error error = plan.checkNames();
  if (!error)
    return true;
  errs() << "error: " << forTerminal(toString(std::move(error)), /*isName=*/true) << "\n";
  return false;
}
