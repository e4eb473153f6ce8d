//===- OutputFile.h - files that appear only when complete --------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_OUTPUTFILE_H
#define MOERT_LIB_CORE_OUTPUTFILE_H

#include "core/Status.h"

#include <sys/types.h>
#include <vector>

namespace moert {

/// Writes to a temporary name in the target's folder; commit() renames it. Without commit() nothing remains.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  OutputFile(OutputFile &&other) noexcept;
  ~OutputFile();

  enum class Links { Follow, Replace };

  /// A target that is no file is refused. A name that the user gave may be a link to the file that is meant; a name
  /// that the program itself gives to a file in a folder is replaced, whatever it leads to.
  Status open(const std::string &path, Links links = Links::Follow);
  /// A target that is a pipe or a device is written directly: to a pipe, if somebody reads it.
  Status openStream(const std::string &path);
  /// Whether openStream() could work, for work whose result comes late. Pipes and devices are not opened.
  static Status checkStream(const std::string &path);
  /// Whether openStream() would write directly.
  static bool isStream(const std::string &path);
  Status write(const void *data, size_t size);
  Status write(const std::string &text) { return write(text.data(), text.size()); }
  /// Flushes and closes: all that can fail has failed after this, but nothing is visible under the final name.
  Status close();
  /// close(), then gives the file its final name.
  Status commit();

private:
  Status error(int number);
  Status refuse(const char *kind);
  Status openPipe();
  int openTemporary(mode_t mode);
  Status flush();

  std::string path;
  std::string temporary; // empty if the target is written directly
  std::vector<char> buffer;
  int fd = -1;
};

/// Writes all bytes, however many calls that takes. Returns 0 or the errno.
int writeAll(int fd, const void *data, size_t size);

} // namespace moert

#endif // MOERT_LIB_CORE_OUTPUTFILE_H
