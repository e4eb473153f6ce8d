//===- Trace.cpp - what ran when ----------------------------------------------------------------------------------===//

#include "core/Trace.h"

#include "core/OutputFile.h"

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

Status Trace::write(const std::string &path, const char *program) const {
  OutputFile file;
  if (Status s = file.openStream(path); s.failed())
    return s;
  auto micros = [&](int64_t ns) { return static_cast<double>(ns) / 1e3; };
  std::string text = format("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\","
                            "\"pid\":1,\"tid\":1,\"args\":{\"name\":\"%s\"}}",
                            jsonEscape(program).c_str());
  for (size_t i = 0; i < calls.size(); ++i)
    text += format(",\n{\"name\":\"call %zu\",\"cat\":\"call\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%.3f,"
                   "\"dur\":%.3f,\"args\":{\"sizes\":\"%s\"}}",
                   i, micros(calls[i].begin - start), micros(calls[i].end - calls[i].begin),
                   jsonEscape(calls[i].sizes.c_str()).c_str());
  for (const Event &e : events) {
    text += format(",\n{\"name\":\"%s\",\"cat\":\"launch\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,"
                   "\"args\":{\"rows\":%lld,\"work\":%lld,\"blocks\":%lld}}",
                   jsonEscape(e.name).c_str(), micros(e.begin - start), micros(e.end - e.begin),
                   static_cast<long long>(e.rows), static_cast<long long>(e.work), static_cast<long long>(e.blocks));
    if (text.size() > 1 << 15) {
      if (Status s = file.write(text); s.failed())
        return s;
      text.clear();
    }
  }
  text += "\n]}\n";
  if (Status s = file.write(text); s.failed())
    return s;
  return file.commit();
}

} // namespace moert
