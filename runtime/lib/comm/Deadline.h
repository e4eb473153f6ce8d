//===- Deadline.h - until when something may take -----------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_DEADLINE_H
#define MOERT_LIB_COMM_DEADLINE_H

#include "core/Clock.h"

namespace moert {

class Deadline {
public:
  explicit Deadline(int64_t nanoseconds) : end(now() + nanoseconds) {}

  bool isOver() const { return now() >= end; }
  /// What is left, rounded up, at least 0, as poll() takes it.
  int milliseconds() const {
    int64_t left = (end - now() + 999999) / 1000000;
    return left < 0 ? 0 : left > 3600000 ? 3600000 : static_cast<int>(left);
  }

private:
  int64_t end;
};

} // namespace moert

#endif // MOERT_LIB_COMM_DEADLINE_H
