//===- Trace.h - what ran when ------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_TRACE_H
#define MOERT_LIB_CORE_TRACE_H

#include "core/Clock.h"
#include "core/Status.h"
#include "core/WaitLog.h"
#include "moert/moert.h"

#include <memory>
#include <vector>

namespace moert {

/// Records launches and calls; writes them in the JSON form that Perfetto and chrome://tracing read. Times there are
/// microseconds since the trace began.
class Trace {
public:
  Trace() : start(now()) {}

  /// `phase`: what the launch is for, or null.
  void launch(const char *name, int64_t begin, int64_t end, int64_t blocks, int64_t rows, int64_t work,
              const char *phase = nullptr) {
    events.push_back({name, begin, end, blocks, rows, work, phase});
  }
  /// Launches that ran at the same time, as one: "send + multiply"; and what each thread has done, which is taken.
  void group(const moert_member *members, int32_t count, int64_t begin, int64_t end, const char *phase,
             std::vector<std::vector<PhaseSpan>> &threads);
  /// Bytes that this rank has sent to each rank of an axis.
  void sent(const char *axis, int64_t at, const std::vector<int64_t> &bytes, const char *phase) {
    transfers.push_back({axis, phase, at, bytes});
  }
  /// Waits that did not end at once.
  WaitLog waits;
  /// A span around all launches of one call. `sizes`: the call's symbols, "batch=1 tokens=16".
  void call(int64_t begin, int64_t end, const std::string &sizes) { calls.push_back({begin, end, sizes}); }

  Status write(const std::string &path, const char *program) const;

  int64_t begin() const { return start; }
  /// The events as they stand in a file, each behind a comma, of a process of that number and name. Times count from
  /// `origin`. `flush` is given what has come together, from time to time and at the end, and empties it.
  using Flush = Status (*)(void *to, std::string &text);
  Status print(int process, const std::string &name, int64_t origin, Flush flush, void *to) const;
  /// What stands before and behind the events.
  static const char *const head, *const tail;

private:
  struct Event {
    const char *name;
    int64_t begin, end, blocks, rows, work;
    const char *phase;
  };
  struct Span {
    PhaseSpan of;
    int thread;
    const char *phase;
  };
  struct Transfer {
    const char *axis, *phase;
    int64_t at;
    std::vector<int64_t> bytes;
  };
  struct Call {
    int64_t begin, end;
    std::string sizes;
  };
  void printSpan(const Span &span, int process, int64_t origin, std::string &text) const;
  void printWait(const LongWait &wait, int process, int64_t origin, std::string &text) const;

  int64_t start;
  std::vector<std::unique_ptr<std::string>> names; ///< of groups
  std::vector<Event> events;
  std::vector<Span> spans;
  int threads = 0; ///< of groups
  std::vector<Transfer> transfers;
  std::vector<Call> calls;
};

/// Text with the escapes of a JSON string, without the quotes.
std::string jsonEscape(const char *text);

} // namespace moert

#endif // MOERT_LIB_CORE_TRACE_H
