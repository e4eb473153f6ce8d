//===- Outputs.cpp - files that appear complete or not at all -----------------------------------------------------===//

#include "Outputs.h"
#include "Interrupt.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace moe_mlir;

static Error cannotWrite(StringRef path, const Twine &why) {
  return createStringError("cannot write '" + path + "': " + why);
}

/// Only an ordinary file is replaced by a new one.
static Error checkReplaceable(StringRef final) {
  sys::fs::file_status status;
  if (sys::fs::status(final, status) || status.type() == sys::fs::file_type::regular_file)
    return Error::success();
  return cannotWrite(final, status.type() == sys::fs::file_type::directory_file ? "it is a folder"
                                                                                : "it is not an ordinary file");
}

Expected<std::unique_ptr<Outputs>> Outputs::create(StringRef final) {
  // Before the folder is touched: beside a device there is seldom a place to write.
  if (Error error = checkReplaceable(final))
    return std::move(error);
  StringRef parent = sys::path::parent_path(final);
  SmallString<128> folder(parent.empty() ? "." : parent);
  if (!sys::fs::is_directory(folder))
    return cannotWrite(final, "there is no folder '" + folder + "'");
  // A name that nobody has: what a killed compiler left behind is in nobody's way.
  sys::path::append(folder, ".moe-compile-XXXXXX");
  (void)folder.c_str(); // ends it with a zero
  // It is its owner's alone, whatever the umask says; what is made in it is moved, not the folder.
  if (!makeScratchFolder(folder.data()))
    return cannotWrite(final, sys::StrError(errno));
  return std::unique_ptr<Outputs>(new Outputs(folder.str().str()));
}

Outputs::~Outputs() { removeScratchFolder(folder); }

std::string Outputs::scratch(StringRef name) const { return folder + "/" + name.str(); }

Expected<std::string> Outputs::add(StringRef final) {
  if (Error error = checkReplaceable(final))
    return std::move(error);
  std::string temporary = scratch(sys::path::filename(final));
  moves.emplace_back(temporary, final.str());
  return temporary;
}

namespace {
/// Holds back other compilers that move files into the folder, so that a program and its weights stay together. The
/// lock belongs to the open folder and leaves no file. Whoever holds it for longer is no compiler: then, and where a
/// file system has no locks, the files are moved without.
class FolderLock {
public:
  explicit FolderLock(StringRef folder) : fd(open(folder.str().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (int attempt = 0; fd >= 0 && attempt < 200; ++attempt) {
      if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ~FolderLock() {
    if (fd >= 0)
      close(fd);
  }

private:
  int fd;
};
} // namespace

Error Outputs::commit() {
  InterruptsHeld held;
  FolderLock lock(sys::path::parent_path(folder));
  for (auto &[from, to] : moves)
    if (std::error_code error = sys::fs::rename(from, to))
      return cannotWrite(to, error.message());
  moves.clear();
  return Error::success();
}

/// Prints to an open stream; errors of the disk come up at the latest when it is closed. A reader that has seen enough
/// and closes the pipe, as `head` does, is no error.
static Error printTo(raw_fd_ostream &os, StringRef path, function_ref<void(raw_ostream &)> print) {
  print(os);
  os.flush();
  if (!os.has_error())
    return Error::success();
  std::error_code error = os.error();
  os.clear_error();
  return error == std::errc::broken_pipe ? Error::success() : cannotWrite(path, error.message());
}

/// Whether text is printed to what stands at `path`, rather than put in its place.
static bool isStream(StringRef path) {
  sys::fs::file_status status;
  return path == "-" || (!sys::fs::status(path, status) && status.type() != sys::fs::file_type::regular_file &&
                         status.type() != sys::fs::file_type::directory_file);
}

Expected<PendingText> PendingText::create(StringRef path, function_ref<void(raw_ostream &)> print) {
  PendingText pending;
  pending.path = path.str();
  if (isStream(path)) {
    raw_string_ostream os(pending.text);
    print(os);
    return std::move(pending);
  }
  Expected<std::unique_ptr<Outputs>> outputs = Outputs::create(path);
  if (!outputs)
    return outputs.takeError();
  pending.outputs = std::move(*outputs);
  Expected<std::string> temporary = pending.outputs->add(path);
  if (!temporary)
    return temporary.takeError();
  std::error_code error;
  raw_fd_ostream os(*temporary, error);
  if (error)
    return cannotWrite(path, error.message());
  if (Error failure = printTo(os, path, print))
    return std::move(failure);
  os.close();
  if (os.has_error()) {
    std::string why = os.error().message();
    os.clear_error();
    return cannotWrite(path, why);
  }
  return std::move(pending);
}

Error PendingText::commit() {
  if (outputs)
    return outputs->commit();
  auto print = [&](raw_ostream &os) { os << text; };
  if (path == "-")
    return printTo(outs(), "standard output", print);
  std::error_code error;
  raw_fd_ostream os(path, error);
  return error ? cannotWrite(path, error.message()) : printTo(os, path, print);
}

Error moe_mlir::writeText(StringRef path, function_ref<void(raw_ostream &)> print) {
  Expected<PendingText> pending = PendingText::create(path, print);
  return pending ? pending->commit() : pending.takeError();
}
