//===- Messages.cpp - what a process that serves and its owner say to each other ----------------------------------===//

#include "Messages.h"

#include "Console.h"
#include "Modes.h"
#include "core/OutputFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace moert {

constexpr uint64_t kMaxWordBytes = uint64_t(1) << 20;
constexpr size_t kPipeBytes = size_t(1) << 16; // what a pipe holds

Status MessageReader::fill(void *data, uint64_t size, bool &ended) {
  ended = false;
  for (char *p = static_cast<char *>(data); size;) {
    ssize_t got = ::read(fd, p, std::min<uint64_t>(size, uint64_t(1) << 30));
    if (got < 0 && mayGoOn(fd, errno))
      continue;
    if (got < 0)
      return failure(kUserError, "cannot read a request: %s", strerror(errno));
    ended = got == 0;
    if (ended)
      return p == data ? Status{} : failure(kUserError, "a request is cut off");
    p += got;
    size -= static_cast<uint64_t>(got);
  }
  return {};
}

Status MessageReader::read(void *data, uint64_t size) {
  bool ended;
  if (Status s = fill(data, size, ended); s.failed())
    return s;
  if (ended)
    return failure(kUserError, "a request is cut off");
  dataLeft -= size;
  return {};
}

Status MessageReader::skip() {
  char piece[kPipeBytes];
  while (dataLeft)
    if (Status s = read(piece, std::min<uint64_t>(dataLeft, sizeof piece)); s.failed())
      return s;
  return {};
}

Status MessageReader::next(Words &words) {
  words.clear();
  if (Status s = skip(); s.failed())
    return s;
  uint64_t sizes[2];
  bool ended;
  if (Status s = fill(sizes, sizeof sizes, ended); s.failed() || ended)
    return s;
  if (sizes[0] == 0 || sizes[0] > kMaxWordBytes)
    return failure(kUserError, "what came is no request: its words have %llu bytes, expected 1..%llu",
                   static_cast<unsigned long long>(sizes[0]), static_cast<unsigned long long>(kMaxWordBytes));
  std::string text(sizes[0], '\0');
  if (Status s = fill(&text[0], text.size(), ended); s.failed() || ended)
    return s.failed() ? s : failure(kUserError, "a request is cut off");
  if (text.back() != '\0')
    return failure(kUserError, "what came is no request: its words do not end with a zero byte");
  for (size_t begin = 0; begin < text.size(); begin += words.back().size() + 1)
    words.emplace_back(text.c_str() + begin);
  dataLeft = sizes[1];
  return {};
}

Status MessageReader::readText(std::string &text, uint64_t limit) {
  text.clear();
  if (dataLeft > limit)
    return failure(kUserError, "the text has %llu bytes, expected at most %llu",
                   static_cast<unsigned long long>(dataLeft), static_cast<unsigned long long>(limit));
  char piece[kPipeBytes];
  while (dataLeft) {
    size_t size = std::min<uint64_t>(dataLeft, sizeof piece);
    if (Status s = read(piece, size); s.failed())
      return s;
    text.append(piece, size);
  }
  return {};
}

/// Parses "2 3": decimal numbers with a blank between two of them.
static bool parseSizes(const std::string &text, Tensor &array) {
  array.rank = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (array.rank == MOERT_MAX_RANK)
      return false;
    int64_t size = 0;
    size_t begin = i;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
      if (__builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, text[i] - '0', &size))
        return false;
    bool last = i == text.size();
    if (i == begin || (!last && (text[i] != ' ' || i + 1 == text.size())))
      return false;
    array.sizes[array.rank++] = size;
  }
  return true;
}

static int32_t dtypeNamed(const std::string &name) {
  for (int32_t dtype = 0; dtypeSize(dtype); ++dtype)
    if (name == dtypeName(dtype))
      return dtype;
  return -1;
}

/// Checks what three words say of an array; `bytes` is what its elements take in the message.
static Status describeInput(const std::string *words, const moert_program &program, std::vector<Tensor> &inputs,
                            int32_t &index, int32_t &stored, uint64_t &bytes) {
  const char *name = words[0].c_str();
  for (index = 0; index < program.input_count && words[0] != program.inputs[index].name;)
    ++index;
  if (index == program.input_count)
    return failure(kUserError, "there is no input '%s' (the program has %s)", name,
                   valueNames(program.inputs, program.input_count).c_str());
  const moert_value &declared = program.inputs[index];
  Tensor &input = inputs[static_cast<size_t>(index)];
  if (input.present)
    return failure(kUserError, "input '%s' is given twice", name);
  stored = dtypeNamed(words[1]);
  if (stored < 0 || !parseSizes(words[2], input))
    return failure(kUserError, "input '%s': '%s' of sizes '%s' is no array", name, words[1].c_str(), words[2].c_str());
  bool widened = declared.dtype == MOERT_BF16 && stored == MOERT_F32;
  input.dtype = widened ? declared.dtype : stored;
  if (Status s = checkType(program, declared, input.dtype, input.rank, input.sizes); s.failed())
    return s;
  if (!tensorBytes(stored, input.rank, input.sizes, bytes))
    return failure(kUserError, "input '%s' is too large", name);
  input.present = true;
  return {};
}

static Status readElements(MessageReader &reader, int32_t stored, uint64_t bytes, Tensor &input) {
  uint64_t size = 0;
  tensorBytes(input.dtype, input.rank, input.sizes, size);
  if (!input.memory.reserve(size))
    return failure(kUserError, "out of memory: an input needs %llu bytes", static_cast<unsigned long long>(size));
  input.data = input.memory.data();
  if (stored == input.dtype) {
    if (Status s = bytes ? reader.read(input.data, bytes) : Status{}; s.failed())
      return s;
    // Compiled code relies on bools being 0 or 1.
    auto *elements = static_cast<uint8_t *>(input.data);
    if (stored == MOERT_BOOL)
      std::transform(elements, elements + bytes, elements, [](uint8_t b) { return b != 0; });
    return {};
  }
  float piece[kPipeBytes / sizeof(float)];
  auto *target = static_cast<uint16_t *>(input.data);
  while (bytes) {
    uint64_t part = std::min<uint64_t>(bytes, sizeof piece);
    if (Status s = reader.read(piece, part); s.failed())
      return s;
    target = std::transform(piece, piece + part / sizeof(float), target, toBf16);
    bytes -= part;
  }
  return {};
}

Status readArrays(MessageReader &reader, const Words &words, const moert_program &program,
                  std::vector<Tensor> &inputs) {
  struct Stored {
    int32_t index, dtype;
    uint64_t bytes;
  };
  std::vector<Stored> given;
  inputs.resize(static_cast<size_t>(program.input_count));
  for (Tensor &input : inputs)
    input.present = false;
  if (words.size() % 3 != 1)
    return failure(kUserError, "an array is described by three words: name, type, sizes");
  uint64_t total = 0;
  for (size_t i = 1; i < words.size(); i += 3) {
    Stored stored;
    if (Status s = describeInput(&words[i], program, inputs, stored.index, stored.dtype, stored.bytes); s.failed())
      return s;
    if (__builtin_add_overflow(total, stored.bytes, &total))
      return failure(kUserError, "the inputs are too large");
    given.push_back(stored);
  }
  for (int32_t i = 0; i < program.input_count; ++i)
    if (!inputs[static_cast<size_t>(i)].present)
      return failure(kUserError, "input '%s' is missing (%s)", program.inputs[i].name,
                     describe(program, program.inputs[i]).c_str());
  if (total != reader.left())
    return failure(kUserError, "the data have %llu bytes, the arrays %llu",
                   static_cast<unsigned long long>(reader.left()), static_cast<unsigned long long>(total));
  for (const Stored &stored : given)
    if (Status s = readElements(reader, stored.dtype, stored.bytes, inputs[static_cast<size_t>(stored.index)]);
        s.failed())
      return s;
  return {};
}

void describeArray(const char *name, const moert_tensor &array, Words &words) {
  std::string sizes;
  for (int32_t i = 0; i < array.rank; ++i)
    sizes += format(i ? " %lld" : "%lld", static_cast<long long>(array.sizes[i]));
  words.insert(words.end(), {name, dtypeName(array.dtype), sizes});
}

Status writeMessage(int fd, const Words &words, const std::string &text, const std::vector<moert_tensor> &arrays) {
  uint64_t sizes[2] = {0, text.size()};
  for (const std::string &word : words)
    sizes[0] += word.size() + 1;
  auto bytesOf = [](const moert_tensor &array) {
    uint64_t bytes = 0;
    tensorBytes(array.dtype, array.rank, array.sizes, bytes);
    return bytes;
  };
  for (const moert_tensor &array : arrays)
    sizes[1] += bytesOf(array);
  // What is small goes out in one piece, so that the reader wakes up once.
  std::string piece(reinterpret_cast<const char *>(sizes), sizeof sizes);
  for (const std::string &word : words)
    piece.append(word.c_str(), word.size() + 1);
  piece += text;
  int number = 0;
  for (const moert_tensor &array : arrays) {
    uint64_t bytes = bytesOf(array);
    if (piece.size() + bytes <= kPipeBytes) {
      piece.append(static_cast<const char *>(array.data), bytes);
      continue;
    }
    if (!number)
      number = writeAll(fd, piece.data(), piece.size());
    if (!number)
      number = writeAll(fd, array.data, bytes);
    piece.clear();
  }
  if (!number)
    number = writeAll(fd, piece.data(), piece.size());
  return number ? failure(kUserError, "cannot write an answer: %s", strerror(number)) : Status{};
}

} // namespace moert
