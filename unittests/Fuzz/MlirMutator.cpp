//===- MlirMutator.cpp - changes of IR that leave most of it IR -------------------------------------------------===//
//
// Changed bytes mostly make a text that no parser takes. Most changes therefore put one token or one line in the place
// of another, leave one out or repeat it, so that ops meet types, attributes and operands that they do not expect.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// Words and numbers with the sign in front of them, strings, and single other characters.
static std::vector<llvm::StringRef> tokensOf(llvm::StringRef text) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; };
  std::vector<llvm::StringRef> tokens;
  for (size_t i = 0, end; i < text.size(); i = end) {
    end = i + 1;
    if (text[i] == '"')
      end = std::min(text.find('"', end), text.size() - 1) + 1;
    else if (isWord(text[i]) || llvm::StringRef("%#!@^").contains(text[i]))
      while (end < text.size() && isWord(text[end]))
        ++end;
    if (!llvm::isSpace(text[i]))
      tokens.push_back(text.slice(i, end));
  }
  return tokens;
}

static std::vector<llvm::StringRef> linesOf(llvm::StringRef text) {
  std::vector<llvm::StringRef> lines;
  for (size_t i = 0; i < text.size();) {
    size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    lines.push_back(text.slice(i, end));
    i = end;
  }
  return lines;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  std::minstd_rand random(seed);
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  std::vector<llvm::StringRef> parts = random() % 3 ? tokensOf(text) : linesOf(text);
  if (parts.empty() || random() % 8 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  llvm::StringRef to = parts[random() % parts.size()], from = parts[random() % parts.size()];
  static constexpr llvm::StringLiteral words[] = {
      "0",     "-1",     "9223372036854775807", "4294967296", "?",     "f32",           "i64",    "index",     "[]",
      "false", "tensor", "tensor<0x?xf32>",     "<>",         "array", "dense<[1, 2]>", "memref", "0xFFC00000"};
  std::string replacement;
  switch (random() % 6) {
  case 0:
    break;
  case 1:
    replacement = words[random() % std::size(words)].str();
    break;
  case 2:
    replacement = (to + " " + to).str();
    break;
  default:
    replacement = from.str();
  }
  size_t begin = to.data() - text.data();
  std::string changed = text.take_front(begin).str() + replacement + text.drop_front(begin + to.size()).str();
  if (changed.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
