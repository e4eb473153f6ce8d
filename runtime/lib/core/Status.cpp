//===- Status.cpp - printf into strings ---------------------------------------------------------------------------===//

#include "core/Status.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace moert {

static std::string formatList(const char *format, va_list list) {
  va_list again;
  va_copy(again, list);
  int size = std::vsnprintf(nullptr, 0, format, list);
  std::string text(size > 0 ? size : 0, '\0');
  if (size > 0)
    std::vsnprintf(&text[0], static_cast<size_t>(size) + 1, format, again);
  va_end(again);
  return text;
}

/// The control characters of Unicode above ASCII that terminals obey: C1, and marks of direction.
static bool isControl(unsigned code) {
  return (code >= 0x80 && code < 0xa0) || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string printable(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
    auto continues = [&](size_t at) { return (byte(at) & 0xc0) == 0x80; };
    unsigned c = byte(i);
    // Those of two and three bytes in UTF-8 are all that there are.
    bool two = (c & 0xe0) == 0xc0 && continues(i + 1),
         three = (c & 0xf0) == 0xe0 && continues(i + 1) && continues(i + 2);
    unsigned code = two     ? (c & 0x1f) << 6 | (byte(i + 1) & 0x3f)
                    : three ? (c & 0xf) << 12 | (byte(i + 1) & 0x3f) << 6 | (byte(i + 2) & 0x3f)
                            : 0;
    if (c == '\n')
      result += "\\n";
    else if (c < 0x20 || c == 0x7f)
      result += format("\\x%02x", c);
    else if (!isControl(code))
      result += text[i];
    else {
      result += format("\\u%04x", code);
      i += two ? 1 : 2;
    }
  }
  return result;
}

size_t fittingBytes(const std::string &text, size_t most) {
  if (text.size() <= most)
    return text.size();
  size_t bytes = most;
  while (bytes > 0 && most - bytes < 4 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80)
    --bytes;
  return bytes;
}

void copyText(char *to, size_t bytes, const std::string &text) {
  size_t fitting = fittingBytes(text, bytes - 1);
  std::memcpy(to, text.data(), fitting);
  to[fitting] = 0;
}

std::string readText(const char *from, size_t bytes) { return std::string(from, strnlen(from, bytes)); }

Status failure(int32_t code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  Status status{code, printable(formatList(format, list))};
  va_end(list);
  return status;
}

std::string format(const char *format, ...) {
  va_list list;
  va_start(list, format);
  std::string text = formatList(format, list);
  va_end(list);
  return text;
}

} // namespace moert
