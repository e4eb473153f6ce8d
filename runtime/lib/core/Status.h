//===- Status.h - errors as values --------------------------------------------------------------------------------===//
//
// The runtime does not throw. A function that can fail returns a Status; a code is also the exit code of the launcher.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_STATUS_H
#define MOERT_LIB_CORE_STATUS_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace moert {

enum Code : int32_t {
  kFine = 0,
  kUserError = 1,
  kUnsupported = 2,
  kMismatch = 3,
  kInternal = 70,
};

/// The outcome of an operation. Success holds no text and costs no allocation.
struct [[nodiscard]] Status {
  int32_t code = kFine;
  std::string message;

  bool failed() const { return code != kFine; }
};

/// A failure with a printf-style message: one line, without a full stop or line feed at the end. What is not printed in
/// it, as a line feed in the name of a file, is escaped.
Status failure(int32_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Text with escapes for what would not be printed, but move the cursor or turn the direction of what follows: a model
/// may name its values anything. Doing it again changes nothing.
std::string printable(const std::string &text);

/// How many bytes of a text fit into `most`, without a part of a character of UTF-8 at their end.
size_t fittingBytes(const std::string &text, size_t most);
/// As much of it as fits, with a terminator behind it, into a place of `bytes` bytes.
void copyText(char *to, size_t bytes, const std::string &text);
/// What such a place says, which another process may have filled with anything.
std::string readText(const char *from, size_t bytes);

/// printf into a string.
std::string format(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace moert

#endif // MOERT_LIB_CORE_STATUS_H
