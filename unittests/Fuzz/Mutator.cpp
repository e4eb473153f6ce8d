//===- Mutator.cpp - changes of JSON texts that leave them JSON -------------------------------------------------===//
//
// Changed bytes mostly make a text that is not JSON any more. Half of the changes therefore put one value of the text
// in the place of another, drop a member or repeat one: then the reader meets values where it does not expect them.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {
struct Range {
  size_t begin, end;
};
} // namespace

/// Behind the value that begins at `at`: a string, a bracket with what it holds, or a word.
static size_t endOfValue(llvm::StringRef text, size_t at) {
  size_t depth = 0;
  for (bool quoted = false; at < text.size(); ++at) {
    char c = text[at];
    if (quoted) {
      at += c == '\\';
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth <= 1)
        return depth ? at + 1 : at;
      --depth;
    } else if (c == ',' && depth == 0) {
      return at;
    }
    if (depth == 0 && !quoted && c == '"' && at + 1 < text.size() && text[at + 1] != ':')
      return at + 1;
  }
  return std::min(at, text.size());
}

/// Values and members of the text: what stands behind `:`, `,`, `[` and `{`.
static std::vector<Range> findValues(llvm::StringRef text) {
  std::vector<Range> values;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == ':' || c == ',' || c == '[' || c == '{')) {
      size_t begin = text.find_first_not_of(" \n", i + 1);
      if (begin != llvm::StringRef::npos)
        values.push_back({begin, endOfValue(text, begin)});
    }
  }
  return values;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  std::minstd_rand random(seed);
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  if (text.starts_with("PK") || random() % 4 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::vector<Range> values = findValues(text);
  if (values.empty())
    return LLVMFuzzerMutate(data, size, maxSize);
  Range to = values[random() % values.size()], from = values[random() % values.size()];
  static constexpr llvm::StringLiteral words[] = {"null", "0",  "-1", "9223372036854775807", "1e999", "true",
                                                  "\"\"", "[]", "{}", "4294967296",          "0.5",   "\"None\""};
  std::string replacement;
  switch (random() % 5) {
  case 0:
    break;
  case 1:
    replacement = words[random() % std::size(words)].str();
    break;
  case 2: // once more
    replacement = text.slice(to.begin, to.end).str() + "," + text.slice(to.begin, to.end).str();
    break;
  default:
    replacement = text.slice(from.begin, from.end).str();
  }
  std::string changed = text.take_front(to.begin).str() + replacement + text.drop_front(to.end).str();
  if (changed.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
