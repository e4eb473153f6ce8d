//===- Places.cpp - what a file name means to the file system -----------------------------------------------------===//

#include "moe-mlir/Support/Places.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#include <unistd.h>

using namespace llvm;
using namespace moe_mlir;

/// /dev/stdout is a link to /proc/self/fd/1, and that one leads to whatever the descriptor was opened for. A file that
/// standard output was redirected to must not be taken for one that the link's name may be given to.
std::optional<int> moe_mlir::descriptorOf(StringRef path, int dash) {
  if (path == "-")
    return dash;
  SmallString<128> own, current(path), folder;
  if (sys::fs::real_path("/proc/self/fd", own))
    return std::nullopt;
  for (int link = 0; link < 40; ++link) {
    StringRef parent = sys::path::parent_path(current), name = sys::path::filename(current);
    if (sys::fs::real_path(parent.empty() ? "." : parent, folder))
      return std::nullopt;
    int number;
    if (folder == own && !name.getAsInteger(10, number))
      return number;
    char target[4096];
    ssize_t size = readlink(current.c_str(), target, sizeof target);
    if (size <= 0)
      return std::nullopt;
    StringRef next(target, size);
    if (sys::path::is_relative(next))
      sys::path::append(folder, next);
    else
      folder = next;
    current = folder;
  }
  return std::nullopt;
}

/// The nearest folder above that exists, and what is missing below it.
static std::optional<std::pair<sys::fs::UniqueID, std::string>> entryOf(StringRef path) {
  SmallString<128> absolute(path);
  if (sys::fs::make_absolute(absolute))
    return std::nullopt;
  // Dots behind a folder that exists are the file system's to follow; those in the missing part have nothing to follow.
  StringRef above = sys::path::parent_path(absolute);
  sys::fs::UniqueID id;
  while (!above.empty() && sys::fs::getUniqueID(above, id))
    above = sys::path::parent_path(above);
  SmallString<128> rest(StringRef(absolute).drop_front(above.size()));
  sys::path::remove_dots(rest, /*remove_dot_dot=*/true);
  return std::make_pair(id, StringRef(rest).ltrim('/').str());
}

Place Place::of(StringRef path, int dash) {
  Place place;
  sys::fs::file_status status;
  std::error_code error;
  if (std::optional<int> descriptor = descriptorOf(path, dash)) {
    place.isDescriptor = true;
    error = sys::fs::status(*descriptor, status);
  } else {
    place.entry = entryOf(path);
    error = sys::fs::status(path, status);
  }
  if (!error) {
    place.file = status.getUniqueID();
    place.type = status.type();
  }
  return place;
}

bool Place::liesIn(const Place &other) const {
  if (!entry || !other.entry || entry->first != other.entry->first)
    return false;
  StringRef folder = sys::path::parent_path(entry->second), made = other.entry->second;
  return folder == made || made.starts_with((folder + "/").str());
}
