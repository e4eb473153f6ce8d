//===- Trace.h - what ran when ------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_TRACE_H
#define MOERT_LIB_CORE_TRACE_H

#include "core/Status.h"

#include <ctime>
#include <vector>

namespace moert {

/// Time that never jumps, in nanoseconds.
inline int64_t now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

/// Records launches and calls; writes them in the JSON form that Perfetto and chrome://tracing read. Times there are
/// microseconds since the trace began.
class Trace {
public:
  Trace() : start(now()) {}

  void launch(const char *name, int64_t begin, int64_t end, int64_t blocks, int64_t rows, int64_t work) {
    events.push_back({name, begin, end, blocks, rows, work});
  }
  /// A span around all launches of one call. `sizes`: the call's symbols, "batch=1 tokens=16".
  void call(int64_t begin, int64_t end, const std::string &sizes) { calls.push_back({begin, end, sizes}); }

  Status write(const std::string &path, const char *program) const;

private:
  struct Event {
    const char *name;
    int64_t begin, end, blocks, rows, work;
  };
  struct Call {
    int64_t begin, end;
    std::string sizes;
  };
  int64_t start;
  std::vector<Event> events;
  std::vector<Call> calls;
};

/// Text with the escapes of a JSON string, without the quotes.
std::string jsonEscape(const char *text);

} // namespace moert

#endif // MOERT_LIB_CORE_TRACE_H
