//===- TextFuzz.cpp - any bytes as what the launcher reads as text ------------------------------------------------===//
//
// A list of calls, a list of token ids, a command line, a dictionary of variants; and the text that a model writes,
// whose pieces together must be the whole up to a stop string.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Fuzz.h"
#include "Modes.h"
#include "TextStream.h"
#include "core/Tuning.h"

#include <algorithm>

using namespace moert;

static void readCalls(const std::string &text) {
  std::vector<Call> calls;
  Status s = parseCalls(text, "calls", calls);
  FUZZ_CHECK(s.failed() ? s.code == kUserError && !s.message.empty() : !calls.empty());
}

static void readIds(const std::string &text) {
  std::vector<int64_t> ids;
  if (parseIds(text, ids).failed())
    return;
  // What was read, written plainly, is the same list.
  std::string plain;
  for (int64_t id : ids)
    plain += std::to_string(id) + ",";
  std::vector<int64_t> again;
  FUZZ_CHECK(!parseIds(plain, again).failed() && again == ids);
}

static void readDictionary(const std::string &text) {
  Tuning tuning, again;
  Status s = tuning.parse(text, "dictionary");
  if (s.failed()) {
    FUZZ_CHECK(s.code == kUserError && s.message.find('\n') == std::string::npos);
    return;
  }
  FUZZ_CHECK(!again.parse(tuning.print(), "dictionary").failed() && again.print() == tuning.print());
  for (const Tuning::Entry &entry : tuning.entries)
    for (const Tuning::Choice &choice : entry.choices)
      FUZZ_CHECK(*tuning.find(entry.name, choice.key * Tuning::kWindow) == choice.variant);
}

static void readCommandLine(const std::string &text) {
  std::vector<std::string> words{"model"};
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::vector<const char *> argv;
  for (const std::string &word : words)
    argv.push_back(word.c_str());
  Options options;
  Status s = parseOptions(static_cast<int>(argv.size()), argv.data(), options);
  FUZZ_CHECK(!s.failed() || (s.code == kUserError && !s.message.empty()));
}

/// The first line holds the stop strings, between bars; the rest is what the model writes.
static void writeText(const std::string &text) {
  size_t line = std::min(text.find('\n'), text.size());
  std::string whole = text.substr(std::min(line + 1, text.size())), shown;
  std::vector<std::string> stops;
  for (size_t begin = 0, end; begin < line; begin = end + 1) {
    end = std::min(text.find('|', begin), line);
    if (end > begin)
      stops.push_back(text.substr(begin, end - begin));
  }
  TextStream stream(stops);
  for (char byte : whole)
    shown += stream.add(byte);
  // The first string to be complete; the longest of those that are complete with the same byte.
  size_t begin = std::string::npos, end = std::string::npos;
  for (const std::string &stop : stops) {
    size_t at = whole.find(stop);
    if (at == std::string::npos || at + stop.size() > end)
      continue;
    begin = at + stop.size() < end ? at : std::min(begin, at);
    end = at + stop.size();
  }
  FUZZ_CHECK(stream.stopped() == (end != std::string::npos));
  shown += stream.finish();
  FUZZ_CHECK(shown == whole.substr(0, begin));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  readCalls(text);
  readIds(text);
  readCommandLine(text);
  readDictionary(text);
  writeText(text);
  return 0;
}
