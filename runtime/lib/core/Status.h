//===- Status.h - errors as values --------------------------------------------------------------------------------===//
//
// The runtime does not throw. A function that can fail returns a Status; a code is also the exit code of the launcher.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_STATUS_H
#define MOERT_LIB_CORE_STATUS_H

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

/// printf into a string.
std::string format(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace moert

#endif // MOERT_LIB_CORE_STATUS_H
