//===- Place.cpp - which files are the same -----------------------------------------------------------------------===//

#include "core/Place.h"

namespace moert {

static bool isSameFile(const struct stat &a, const struct stat &b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

Place::Place(const std::string &path, OutputFile::Links links) {
  exists = (links == OutputFile::Links::Follow ? stat : lstat)(path.c_str(), &file) == 0;
  size_t slash = path.rfind('/');
  std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  hasFolder = stat(parent.c_str(), &folder) == 0;
  name = slash == std::string::npos ? path : path.substr(slash + 1);
}

bool Place::isSameAs(const Place &other) const {
  return (exists && other.exists && isSameFile(file, other.file)) ||
         (hasFolder && other.hasFolder && isSameFile(folder, other.folder) && name == other.name);
}

std::string bothNames(const std::string &path, const std::string &other) {
  std::string quoted = path.empty() ? "" : " '" + path + "'";
  return path == other || other.empty() ? quoted : quoted + ", which is also '" + other + "',";
}

} // namespace moert
