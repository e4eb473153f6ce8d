//===- Clock.h - time that never jumps ----------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_CLOCK_H
#define MOERT_LIB_CORE_CLOCK_H

#include <cstdint>
#include <ctime>

namespace moert {

/// Nanoseconds of a clock that only goes forward, the same for all processes of a host.
inline int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

} // namespace moert

#endif // MOERT_LIB_CORE_CLOCK_H
