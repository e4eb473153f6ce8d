//===- Trace.cpp - what ran when ----------------------------------------------------------------------------------===//

#include "core/Trace.h"

#include "core/OutputFile.h"

#include <algorithm>

namespace moert {

std::string jsonEscape(const char *text) {
  std::string escaped;
  for (; *text; ++text) {
    unsigned char c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\')
      (escaped += '\\') += *text;
    else if (c < 0x20)
      escaped += format("\\u%04x", c);
    else
      escaped += *text;
  }
  return escaped;
}

const char *const Trace::head = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
const char *const Trace::tail = "\n]}\n";

/// Microseconds as JSON has numbers, whatever the program's locale makes of a decimal point.
static std::string micros(int64_t ns) {
  auto magnitude = static_cast<unsigned long long>(ns < 0 ? -ns : ns);
  return format("%s%llu.%03llu", ns < 0 ? "-" : "", magnitude / 1000, magnitude % 1000);
}

static std::string phaseText(const char *phase) {
  return phase ? format(",\"phase\":\"%s\"", jsonEscape(phase).c_str()) : "";
}

void Trace::group(const moert_member *members, int32_t count, int64_t begin, int64_t end, const char *phase,
                  std::vector<std::vector<PhaseSpan>> &perThread) {
  std::string name;
  int64_t blocks = 0, rows = 0, work = 0;
  for (int32_t i = 0; i < count; ++i) {
    name += format("%s%s", i ? " + " : "", members[i].kernel->name);
    blocks += members[i].blocks * members[i].phases;
    rows = std::max(rows, members[i].rows);
    work += members[i].work;
  }
  auto known = std::find_if(names.begin(), names.end(), [&](const auto &other) { return *other == name; });
  if (known == names.end())
    known = names.insert(known, std::make_unique<std::string>(name));
  launch((*known)->c_str(), begin, end, blocks, rows, work, phase);
  for (size_t t = 0; t < perThread.size(); ++t) {
    for (PhaseSpan &span : perThread[t])
      spans.push_back({std::move(span), static_cast<int>(t), phase});
    perThread[t].clear();
  }
  threads = std::max(threads, static_cast<int>(perThread.size()));
}

/// Launches have the first row of a process, threads of groups the next ones: what a thread does never overlaps.
static constexpr int kFirstThread = 2;

static std::string eventHead(const std::string &name, const char *kind, int process, int row, int64_t begin,
                             int64_t end) {
  return format(",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%s,\"dur\":%s,"
                "\"args\":{",
                jsonEscape(name.c_str()).c_str(), kind, process, row, micros(begin).c_str(),
                micros(end - begin).c_str());
}

void Trace::printSpan(const Span &span, int process, int64_t origin, std::string &text) const {
  const PhaseSpan &of = span.of;
  std::string ranks;
  for (int rank : of.awaited)
    ranks += format("%s%d", ranks.empty() ? "" : ",", rank);
  text += eventHead(of.kernel, "phase", process, kFirstThread + span.thread, of.begin - origin, of.end - origin);
  text += format("\"number\":%lld,\"of\":%lld,\"blocks\":%lld,\"from\":[%s]%s}}", static_cast<long long>(of.phase),
                 static_cast<long long>(of.phases), static_cast<long long>(of.blocks), ranks.c_str(),
                 phaseText(span.phase).c_str());
}

void Trace::printWait(const LongWait &wait, int process, int64_t origin, std::string &text) const {
  const char *kernel = wait.at.kernel ? wait.at.kernel : wait.launch;
  std::string whom = wait.peer < 0 ? "arrivals" : format("rank %d", wait.peer), args;
  if (kernel)
    args += format("\"kernel\":\"%s\",", jsonEscape(kernel).c_str());
  if (wait.at.kernel)
    args += format("\"number\":%lld,", static_cast<long long>(wait.at.phase));
  if (wait.flag >= 0)
    args += format("\"flag\":%lld,", static_cast<long long>(wait.flag));
  text += eventHead("wait for " + whom, "wait", process, wait.at.kernel ? kFirstThread + wait.at.thread : 1,
                    wait.begin - origin, wait.end - origin);
  text += args + format("\"peer\":%d}}", wait.peer);
}

Status Trace::print(int process, const std::string &name, int64_t origin, Flush flush, void *to) const {
  std::string text =
      format("{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":1,\"args\":{\"name\":\"%s\"}}", process,
             jsonEscape(name.c_str()).c_str());
  auto flushLong = [&] { return text.size() > 1 << 15 ? flush(to, text) : Status(); };
  for (int t = 0; t < threads; ++t)
    text += format(",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"groups, "
                   "thread %d\"}}",
                   process, kFirstThread + t, t);
  for (size_t i = 0; i < calls.size(); ++i)
    text += format(",\n{\"name\":\"call %zu\",\"cat\":\"call\",\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":%s,"
                   "\"dur\":%s,\"args\":{\"sizes\":\"%s\"}}",
                   i, process, micros(calls[i].begin - origin).c_str(), micros(calls[i].end - calls[i].begin).c_str(),
                   jsonEscape(calls[i].sizes.c_str()).c_str());
  for (const Event &e : events) {
    text += format(",\n{\"name\":\"%s\",\"cat\":\"launch\",\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":%s,\"dur\":%s,"
                   "\"args\":{\"rows\":%lld,\"work\":%lld,\"blocks\":%lld%s}}",
                   jsonEscape(e.name).c_str(), process, micros(e.begin - origin).c_str(),
                   micros(e.end - e.begin).c_str(), static_cast<long long>(e.rows), static_cast<long long>(e.work),
                   static_cast<long long>(e.blocks), phaseText(e.phase).c_str());
    if (Status s = flushLong(); s.failed())
      return s;
  }
  for (const Span &span : spans) {
    printSpan(span, process, origin, text);
    if (Status s = flushLong(); s.failed())
      return s;
  }
  for (const LongWait &wait : waits.all()) {
    printWait(wait, process, origin, text);
    if (Status s = flushLong(); s.failed())
      return s;
  }
  for (const Transfer &t : transfers) {
    std::string bytes;
    for (int64_t count : t.bytes)
      bytes += format("%s%lld", bytes.empty() ? "" : ",", static_cast<long long>(count));
    text += format(",\n{\"name\":\"sent on %s\",\"cat\":\"traffic\",\"ph\":\"i\",\"s\":\"t\",\"pid\":%d,\"tid\":1,"
                   "\"ts\":%s,\"args\":{\"bytes\":[%s]%s}}",
                   jsonEscape(t.axis).c_str(), process, micros(t.at - origin).c_str(), bytes.c_str(),
                   phaseText(t.phase).c_str());
    if (Status s = flushLong(); s.failed())
      return s;
  }
  return flush(to, text);
}

Status Trace::write(const std::string &path, const char *program) const {
  OutputFile file;
  if (Status s = file.openStream(path); s.failed())
    return s;
  auto flush = [](void *to, std::string &text) {
    Status s = static_cast<OutputFile *>(to)->write(text);
    text.clear();
    return s;
  };
  if (Status s = file.write(head); s.failed())
    return s;
  if (Status s = print(1, program, start, flush, &file); s.failed())
    return s;
  if (Status s = file.write(tail); s.failed())
    return s;
  return file.commit();
}

} // namespace moert
