//===- TerminalText.cpp - text that a terminal shows and does not obey --------------------------------------------===//

#include "moe-mlir/Support/TerminalText.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

/// The control characters of Unicode above ASCII that terminals obey: C1, and marks of direction.
static bool isControl(unsigned code) {
  return (code >= 0x80 && code < 0xa0) || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string moe_mlir::forTerminal(StringRef text, bool isName) {
  std::string result;
  raw_string_ostream os(result);
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
    auto continues = [&](size_t at) { return (byte(at) & 0xc0) == 0x80; };
    const unsigned c = byte(i);
    // Those of two and three bytes in UTF-8 are all that there are.
    const bool isTwo = (c & 0xe0) == 0xc0 && continues(i + 1),
               isThree = (c & 0xf0) == 0xe0 && continues(i + 1) && continues(i + 2);
    const unsigned code = isTwo     ? (c & 0x1f) << 6 | (byte(i + 1) & 0x3f)
                          : isThree ? (c & 0xf) << 12 | (byte(i + 1) & 0x3f) << 6 | (byte(i + 2) & 0x3f)
                                    : 0;
    if (isControl(code)) {
      os << format("\\u%04x", code);
      i += isTwo ? 1 : 2;
    } else if ((c < 0x20 && c != '\t' && (c != '\n' || isName)) || c == 0x7f) {
      os << format("\\x%02x", c);
    } else {
      os << text[i];
    }
  }
  return result;
}
