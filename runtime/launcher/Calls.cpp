//===- Calls.cpp - the lines of a --calls file --------------------------------------------------------------------===//
//
// Words are separated by blanks; a word in double quotes may contain blanks. What begins with # where a word may begin
// is a comment, up to the end of the line.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Options.h"

namespace moert {

static bool splitWords(const std::string &line, std::vector<std::string> &words) {
  for (size_t i = 0; i < line.size();) {
    if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
      ++i;
      continue;
    }
    if (line[i] == '#')
      break;
    std::string word;
    bool quoted = false;
    for (; i < line.size() && (quoted || (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')); ++i) {
      if (line[i] == '"')
        quoted = !quoted;
      else
        word += line[i];
    }
    if (quoted)
      return false;
    words.push_back(word);
  }
  return true;
}

static Status parseCall(const std::vector<std::string> &words, Call &call) {
  if (words.size() == 1 && words[0] == "reset") {
    call.reset = true;
    return {};
  }
  if (words[0] == "reset")
    return failure(kUserError, "reset: expected nothing behind it");
  if (words[0] == "variant") {
    if (words.size() != 2 || words[1].empty())
      return failure(kUserError, "variant: expected one name or number; a name with blanks stands in double quotes");
    call.variant = words[1];
    return {};
  }
  for (size_t i = 0; i < words.size(); i += 2) {
    if (words[i] != "--input" && words[i] != "--output-dir" && words[i] != "--expected-output")
      return failure(kUserError, "unknown word '%s' (known: --input, --output-dir, --expected-output, reset, variant)",
                     words[i].c_str());
    if (i + 1 == words.size())
      return failure(kUserError, "'%s' has no value", words[i].c_str());
    NamedFile file;
    if (words[i] == "--output-dir") {
      if (!call.outputDir.empty())
        return failure(kUserError, "--output-dir is given twice");
      call.outputDir = words[i + 1];
      if (call.outputDir.empty())
        return failure(kUserError, "--output-dir: expected the name of a folder");
      continue;
    }
    if (Status s = parseNamedFile(words[i + 1], file); s.failed())
      return s;
    (words[i] == "--input" ? call.inputs : call.expected).push_back(file);
  }
  return {};
}

Status parseCalls(const std::string &text, const std::string &path, std::vector<Call> &calls) {
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos)
      end = text.size();
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    std::vector<std::string> words;
    bool closed = splitWords(line, words);
    if (closed && words.empty())
      continue;
    calls.emplace_back();
    // The system would take what stands before a zero byte for the name of a file.
    Status s = line.find('\0') != std::string::npos ? failure(kUserError, "the line holds a zero byte")
               : closed                             ? parseCall(words, calls.back())
                                                    : failure(kUserError, "a quote is not closed");
    if (s.failed())
      return failure(s.code, "%s:%d: %s", path.c_str(), number, s.message.c_str());
  }
  return calls.empty() ? failure(kUserError, "'%s' holds no calls", path.c_str()) : Status{};
}

} // namespace moert
