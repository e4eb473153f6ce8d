//===- NpyHeader.cpp - the Python dictionary at the head of an .npy file ------------------------------------------===//

#include "Npy.h"

#include <cstring>

namespace moert {

namespace {

/// Reads the one form of dictionary that NumPy writes: string keys; a string, a bool and a tuple of integers.
class Parser {
public:
  explicit Parser(const std::string &text) : text(text) {}

  Status parse(NpyHeader &header) {
    bool descr = false, order = false, shape = false;
    if (!take('{'))
      return fault("expected '{'");
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':'))
        return fault("expected a key");
      bool *seen = key == "descr" ? &descr : key == "fortran_order" ? &order : key == "shape" ? &shape : nullptr;
      if (!seen || *seen)
        return fault(seen ? "a key appears twice" : "an unknown key");
      *seen = true;
      if (seen == &descr && !string(header.descr))
        return fault("'descr' is not a simple type");
      if (seen == &order && !boolean(header.fortranOrder))
        return fault("'fortran_order' is not True or False");
      if (seen == &shape)
        if (Status s = tuple(header); s.failed())
          return s;
      if (!take(',') && !peek('}'))
        return fault("expected ',' or '}'");
    }
    skip();
    if (at != text.size())
      return fault("text behind the dictionary");
    if (!descr || !order || !shape)
      return fault("a key is missing");
    return {};
  }

private:
  static Status fault(const char *what) { return failure(kUserError, "damaged header: %s", what); }

  void skip() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t'))
      ++at;
  }
  bool peek(char c) {
    skip();
    return at < text.size() && text[at] == c;
  }
  bool take(char c) {
    if (!peek(c))
      return false;
    ++at;
    return true;
  }
  bool string(std::string &value) {
    skip();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
      return false;
    size_t end = text.find(text[at], at + 1);
    if (end == std::string::npos || end - at > 32)
      return false;
    value = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  bool boolean(bool &value) {
    skip();
    value = text.compare(at, 4, "True") == 0;
    if (!value && text.compare(at, 5, "False") != 0)
      return false;
    at += value ? 4 : 5;
    return true;
  }
  bool integer(int64_t &value) {
    skip();
    size_t begin = at;
    value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      if (__builtin_mul_overflow(value, int64_t(10), &value) ||
          __builtin_add_overflow(value, int64_t(text[at] - '0'), &value))
        return false;
    return at != begin;
  }
  Status tuple(NpyHeader &header) {
    if (!take('('))
      return fault("'shape' is not a tuple");
    header.rank = 0;
    while (!take(')')) {
      if (header.rank == MOERT_MAX_RANK)
        return failure(kUserError, "more than %d dimensions", MOERT_MAX_RANK);
      if (!integer(header.sizes[header.rank++]))
        return fault("a size in 'shape' is not a number");
      if (!take(',') && !peek(')'))
        return fault("expected ',' or ')' in 'shape'");
    }
    return {};
  }

  const std::string &text;
  size_t at = 0;
};

} // namespace

Status parseNpyHeader(const std::string &text, NpyHeader &header) { return Parser(text).parse(header); }

} // namespace moert
