//===- Outputs.cpp - files that appear complete or not at all -----------------------------------------------------===//

#include "Outputs.h"
#include "Interrupt.h"

#include "moe-mlir/Support/Places.h"

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
  return createStringError("cannot write " + (path == "-" ? "standard output" : "'" + path.str() + "'") + ": " + why);
}

/// Only an ordinary file is replaced by a new one.
static Error checkReplaceable(StringRef final) {
  sys::fs::file_status status;
  if (sys::fs::status(final, status) || status.type() == sys::fs::file_type::regular_file)
    return Error::success();
  return cannotWrite(final, status.type() == sys::fs::file_type::directory_file ? "it is a folder"
                                                                                : "it is not an ordinary file");
}

static StringRef folderOf(StringRef path) {
  StringRef parent = sys::path::parent_path(path);
  return parent.empty() ? "." : parent;
}

Expected<std::string> Outputs::folderBeside(StringRef final) {
  SmallString<128> folder(folderOf(final));
  std::string &made = folders[folder];
  if (!made.empty())
    return made;
  if (!sys::fs::is_directory(folder))
    return cannotWrite(final, "there is no folder '" + folder + "'");
  // A name that nobody has: what a killed compiler left behind is in nobody's way.
  sys::path::append(folder, ".moe-compile-XXXXXX");
  (void)folder.c_str(); // ends it with a zero
  // It is its owner's alone, whatever the umask says; what is made in it is moved, not the folder.
  if (!makeScratchFolder(folder.data()))
    return cannotWrite(final, sys::StrError(errno));
  return made = folder.str().str();
}

Outputs::~Outputs() {
  for (const auto &folder : folders)
    if (!folder.second.empty())
      removeScratchFolder(folder.second);
}

Expected<std::string> Outputs::scratch(StringRef final, StringRef name) {
  Expected<std::string> folder = folderBeside(final);
  if (!folder)
    return folder.takeError();
  return *folder + "/" + name.str();
}

Expected<std::string> Outputs::add(StringRef final) {
  // Before the folder is touched: beside a device there is seldom a place to write.
  if (Error error = checkReplaceable(final))
    return std::move(error);
  // A number, so that no name of an output is that of a scratch file.
  Expected<std::string> temporary = scratch(final, std::to_string(moves.size()));
  if (temporary)
    moves.push_back({*temporary, final.str()});
  return temporary;
}

/// Prints to an open stream; errors of the disk come up at the latest when it is closed.
static std::error_code printTo(raw_fd_ostream &os, function_ref<void(raw_ostream &)> print, bool close) {
  print(os);
  close ? os.close() : os.flush();
  std::error_code error = os.error();
  os.clear_error(); // else the destructor ends the process
  return error;
}

/// A reader that has seen enough and closes the pipe, as `head` does, is no error.
static Error printToStream(StringRef path, StringRef text) {
  auto print = [&](raw_ostream &os) { os << text; };
  std::error_code error;
  if (std::optional<int> descriptor = descriptorOf(path, STDOUT_FILENO)) {
    raw_fd_ostream os(*descriptor, /*shouldClose=*/false);
    error = printTo(os, print, /*close=*/false);
  } else {
    raw_fd_ostream os(path, error);
    error = error ? error : printTo(os, print, /*close=*/true);
  }
  return !error || error == std::errc::broken_pipe ? Error::success() : cannotWrite(path, error.message());
}

/// Whether text is printed to what stands at `path`, rather than put in its place.
static bool isStream(StringRef path) {
  Place place = Place::of(path, STDOUT_FILENO);
  return place.isDescriptor || (place.exists() && !place.isRegular() && !place.isFolder());
}

Error Outputs::addText(StringRef final, function_ref<void(raw_ostream &)> print) {
  if (isStream(final)) {
    raw_string_ostream os(texts.emplace_back(final.str(), "").second);
    print(os);
    return Error::success();
  }
  Expected<std::string> temporary = add(final);
  if (!temporary)
    return temporary.takeError();
  std::error_code error;
  raw_fd_ostream os(*temporary, error);
  error = error ? error : printTo(os, print, /*close=*/true);
  return error ? cannotWrite(final, error.message()) : Error::success();
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

/// What stood there keeps a name beside the new file until all are in their places. A link, unlike a swap, cannot
/// take a folder for a file; where there are no links, the file is replaced without a way back.
Error Outputs::place(const Move &move, std::vector<Move> &undo) {
  const std::string old = move.from + ".old";
  const bool isNew = access(move.to.c_str(), F_OK) != 0 && !sys::fs::is_symlink_file(move.to);
  const bool isKept = !isNew && linkat(AT_FDCWD, move.to.c_str(), AT_FDCWD, old.c_str(), 0) == 0;
  if (std::error_code error = sys::fs::rename(move.from, move.to))
    return cannotWrite(move.to, error.message());
  if (isNew || isKept)
    undo.push_back({isKept ? old : "", move.to});
  return Error::success();
}

Error Outputs::commit(bool isLast) {
  for (const auto &[path, text] : texts)
    if (Error error = printToStream(path, text))
      return error;
  InterruptsHeld held;
  if (Error error = placeAll())
    return error;
  if (isLast)
    held.workIsDone();
  return Error::success();
}

Error Outputs::placeAll() {
  if (moves.empty())
    return Error::success();
  FolderLock lock(folderOf(moves.front().to));
  std::vector<Move> undo;
  for (const Move &move : moves)
    if (Error error = place(move, undo)) {
      for (const Move &back : llvm::reverse(undo))
        (void)(back.from.empty() ? sys::fs::remove(back.to) : sys::fs::rename(back.from, back.to));
      return error;
    }
  moves.clear();
  return Error::success();
}

Error moe_mlir::writeText(StringRef path, function_ref<void(raw_ostream &)> print) {
  Outputs outputs;
  if (Error error = outputs.addText(path, print))
    return error;
  return outputs.commit();
}
