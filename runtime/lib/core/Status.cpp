//===- Status.cpp - printf into strings ---------------------------------------------------------------------------===//

#include "core/Status.h"

#include <cstdarg>
#include <cstdio>

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

Status failure(int32_t code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  Status status{code, formatList(format, list)};
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
