//===- InputFile.h - files whose content is there before it is read -----------------------------------------------===//
#ifndef MOERT_LIB_CORE_INPUTFILE_H
#define MOERT_LIB_CORE_INPUTFILE_H

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace moert {

/// What stands where a file was expected: "a folder", "a pipe", "a device", "a socket"; null for a file.
const char *otherKind(mode_t mode);

/// A file that is open for reading. What is no file is not opened: to open a pipe waits for who writes it, and to open
/// a device may do something.
struct InputFile {
  int fd = -1;
  uint64_t size = 0;
  const char *kind = nullptr; // fd < 0: what is there instead of a file, or null and
  int error = 0;              // the errno

  explicit InputFile(const std::string &path);
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;
  ~InputFile();
};

} // namespace moert

#endif // MOERT_LIB_CORE_INPUTFILE_H
