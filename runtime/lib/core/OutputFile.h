//===- OutputFile.h - files that appear only when complete --------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_OUTPUTFILE_H
#define MOERT_LIB_CORE_OUTPUTFILE_H

#include "core/Status.h"

#include <vector>

namespace moert {

/// Writes to a temporary name in the target's folder; commit() renames it. Without commit() nothing remains. A target
/// that exists and is no regular file (a device, a pipe) is written directly.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  OutputFile(OutputFile &&other) noexcept;
  ~OutputFile();

  Status open(const std::string &path);
  /// Whether a file could be written there, for work whose result comes late. Devices and pipes are not opened.
  static Status check(const std::string &path);
  Status write(const void *data, size_t size);
  Status write(const std::string &text) { return write(text.data(), text.size()); }
  /// Flushes and closes: all that can fail has failed after this, but nothing is visible under the final name.
  Status close();
  /// close(), then gives the file its final name.
  Status commit();

private:
  Status error(const char *what, int number);
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
