//===- Place.h - which files are the same -------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_PLACE_H
#define MOERT_LIB_CORE_PLACE_H

#include "core/OutputFile.h"

#include <string>
#include <sys/stat.h>

namespace moert {

/// Where a path leads, and the place that it names in a folder: a file that is to be made has only that.
struct Place {
  struct stat file = {}, folder = {};
  bool exists = false, hasFolder = false;
  std::string name;

  Place(const std::string &path, OutputFile::Links links);
  explicit Place(int stream) : exists(fstat(stream, &file) == 0) {}
  bool isSameAs(const Place &other) const;
  /// Pipes and devices are in nobody's way.
  bool isInTheWay() const { return !exists || S_ISREG(file.st_mode) || S_ISLNK(file.st_mode); }
};

/// " 'x'", or if the other one is called otherwise: " 'x', which is also 'y',"; nothing for streams, without a path.
std::string bothNames(const std::string &path, const std::string &other);

} // namespace moert

#endif // MOERT_LIB_CORE_PLACE_H
