//===- RequestFuzz.cpp - any bytes as the input of a process that serves ------------------------------------------===//
//
// Sizes in front of words are hard to guess. If the first byte is not zero, each line of the input becomes a request:
// words between bars, and behind the last bar the data.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Fuzz.h"
#include "Messages.h"

#include <algorithm>

using namespace moert;

static const moert_value kInputs[] = {
    {"x", MOERT_BF16, 2, {-1, 2}, 1, 0, -1, 0, 0, nullptr, 0},
    {"n", MOERT_I8, 1, {-1}, 1, 0, -1, 0, 0, nullptr, 0},
};
static const char *const kSymbols[] = {"rows"};

static std::string number(uint64_t value) { return std::string(reinterpret_cast<char *>(&value), sizeof value); }

static std::string framed(const std::string &text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    size_t bar = line.rfind('|');
    if (bar == std::string::npos)
      bar = line.size();
    std::string words = line.substr(0, bar) + '\0', data = line.substr(std::min(bar + 1, line.size()));
    std::replace(words.begin(), words.end(), '|', '\0');
    result += number(words.size()) + number(data.size()) + words + data;
  }
  return result;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  std::string bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  if (data[0])
    bytes = framed(bytes);
  MemoryFile file(bytes.data(), bytes.size());
  moert_program program = {};
  program.name = "fuzz";
  program.inputs = kInputs;
  program.input_count = 2;
  program.symbols = kSymbols;
  program.symbol_count = 1;
  MessageReader reader(file.rewound());
  std::vector<Tensor> inputs;
  Words words;
  for (size_t requests = 0;; ++requests) {
    if (Status s = reader.next(words); s.failed() || words.empty()) {
      FUZZ_CHECK(!s.failed() || (s.code == kUserError && !s.message.empty()));
      return 0;
    }
    FUZZ_CHECK(requests * 17 < bytes.size());
    if (words[0] == "text") {
      uint64_t left = reader.left();
      std::string text;
      Status s = reader.readText(text, 1 << 20);
      FUZZ_CHECK(s.failed() ? s.code == kUserError : text.size() == left && reader.left() == 0);
      continue;
    }
    uint64_t left = reader.left();
    if (Status s = readArrays(reader, words, program, inputs); s.failed()) {
      FUZZ_CHECK(s.code == kUserError && !s.message.empty());
      continue;
    }
    FUZZ_CHECK(reader.left() == 0);
    uint64_t total = 0;
    for (const Tensor &input : inputs) {
      uint64_t elements = 0;
      FUZZ_CHECK(input.present && tensorBytes(input.dtype, input.rank, input.sizes, elements));
      readAllBytes(input.data, elements);
      total += elements;
    }
    // An array of bfloat16 may have come as float32, which is twice as long.
    FUZZ_CHECK(total <= left && left <= 2 * total);
  }
}
