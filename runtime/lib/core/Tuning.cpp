//===- Tuning.cpp - which variant of an entry to take for how many tokens -----------------------------------------===//

#include "core/Tuning.h"

#include "core/InputFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace moert {

namespace {
/// The part of JSON that a dictionary is made of: objects whose values are objects, texts and one number.
class Reader {
public:
  Reader(const std::string &text, const std::string &name) : text(text), name(name) {}

  Status run(Tuning &tuning);

private:
  Status fail(const char *what) {
    size_t line = 1 + static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
    return failure(kUserError, "'%s', line %zu: %s; --tune writes such a file", name.c_str(), line, what);
  }
  void skip() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r'))
      ++at;
  }
  bool take(char wanted) {
    skip();
    if (at >= text.size() || text[at] != wanted)
      return false;
    ++at;
    return true;
  }
  Status string(std::string &value);
  Status number(int64_t &value);
  /// `member` reads what stands behind each key.
  template <typename Member> Status object(Member member);
  Status entry(Tuning &tuning, const std::string &key);

  const std::string &text, &name;
  size_t at = 0;
};
} // namespace

/// Names can be printed, so of the escapes two are enough.
Status Reader::string(std::string &value) {
  if (!take('"'))
    return fail("expected a text in quotes");
  value.clear();
  for (; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\' && ++at < text.size() && text[at] != '"' && text[at] != '\\')
      return fail("an escape that no name needs");
    if (at == text.size())
      break;
    if (text[at] < ' ' || text[at] > '~')
      return fail("a text with a character that cannot be printed");
    value += text[at];
  }
  return take('"') ? Status() : fail("a text without an end");
}

static bool parseKey(const std::string &digits, int64_t &value) {
  value = 0;
  // As it is printed: no other text is the same key.
  if (digits.empty() || digits.size() > 15 || (digits.size() > 1 && digits[0] == '0'))
    return false;
  for (char digit : digits) {
    if (digit < '0' || digit > '9')
      return false;
    value = value * 10 + (digit - '0');
  }
  return true;
}

Status Reader::number(int64_t &value) {
  skip();
  size_t begin = at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9')
    ++at;
  return parseKey(text.substr(begin, at - begin), value) ? Status() : fail("expected a number");
}

template <typename Member> Status Reader::object(Member member) {
  if (!take('{'))
    return fail("expected an object");
  if (take('}'))
    return {};
  do {
    std::string key;
    if (Status s = string(key); s.failed())
      return s;
    if (!take(':'))
      return fail("expected a colon");
    if (Status s = member(key); s.failed())
      return s;
  } while (take(','));
  return take('}') ? Status() : fail("expected a comma or the end of an object");
}

Status Reader::entry(Tuning &tuning, const std::string &entryName) {
  for (const Tuning::Entry &other : tuning.entries)
    if (other.name == entryName)
      return fail("an entry stands twice");
  Tuning::Entry entry{entryName, {}};
  Status status = object([&](const std::string &key) {
    Tuning::Choice choice{};
    if (!parseKey(key, choice.key))
      return fail("a key that is no number of windows");
    // print() sorts them, and what is looked up is found by halves.
    if (!entry.choices.empty() && entry.choices.back().key >= choice.key)
      return fail("keys that do not grow");
    Status s = string(choice.variant);
    entry.choices.push_back(std::move(choice));
    return s;
  });
  tuning.entries.push_back(std::move(entry));
  return status;
}

Status Reader::run(Tuning &tuning) {
  bool hasProgram = false, hasWindow = false, hasEntries = false;
  Status status = object([&](const std::string &key) {
    bool *seen = key == "program"   ? &hasProgram
                 : key == "window"  ? &hasWindow
                 : key == "entries" ? &hasEntries
                                    : nullptr;
    if (!seen || *seen)
      return fail("expected program, window and entries, each once");
    *seen = true;
    if (key == "program")
      return string(tuning.program);
    if (key == "entries")
      return object([&](const std::string &entryName) { return entry(tuning, entryName); });
    int64_t window = 0;
    if (Status s = number(window); s.failed())
      return s;
    return window == Tuning::kWindow ? Status() : fail("a window of another size than 128 tokens");
  });
  if (status.failed())
    return status;
  skip();
  if (at != text.size())
    return fail("something behind the dictionary");
  return hasProgram && hasWindow && hasEntries ? Status() : fail("expected program, window and entries");
}

Status Tuning::parse(const std::string &text, const std::string &name) {
  *this = Tuning();
  return Reader(text, name).run(*this);
}

Status Tuning::read(const std::string &path, bool mayBeMissing) {
  *this = Tuning();
  InputFile file(path);
  if (file.fd < 0 && mayBeMissing && !file.kind && file.error == ENOENT)
    return {};
  if (file.fd < 0)
    return failure(kUserError, "cannot read '%s': %s", path.c_str(), file.kind ? file.kind : std::strerror(file.error));
  if (file.size > kMaxBytes)
    return failure(kUserError, "cannot read '%s': more than %zu bytes", path.c_str(), kMaxBytes);
  std::string text(static_cast<size_t>(file.size), '\0');
  for (size_t done = 0; done < text.size();) {
    ssize_t got = ::read(file.fd, &text[done], text.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return failure(kUserError, "cannot read '%s': %s", path.c_str(),
                     got ? std::strerror(errno) : "it became shorter");
    done += static_cast<size_t>(got);
  }
  return parse(text, path);
}

static std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + '"';
}

std::string Tuning::print() const {
  std::string text = format("{\n  \"program\": %s,\n  \"window\": %lld,\n  \"entries\": {", quoted(program).c_str(),
                            static_cast<long long>(kWindow));
  const char *before = "\n";
  for (const Entry &entry : entries) {
    text += before + ("    " + quoted(entry.name) + ": {");
    before = ",\n";
    const char *comma = "\n";
    for (const Choice &choice : entry.choices) {
      text += comma + format("      \"%lld\": %s", static_cast<long long>(choice.key), quoted(choice.variant).c_str());
      comma = ",\n";
    }
    text += entry.choices.empty() ? "}" : "\n    }";
  }
  return text + (entries.empty() ? "}\n}\n" : "\n  }\n}\n");
}

static bool isBelow(const Tuning::Choice &choice, int64_t key) { return choice.key < key; }

const std::string *Tuning::find(const std::string &entryName, int64_t room) const {
  for (const Entry &entry : entries) {
    if (entry.name != entryName)
      continue;
    auto found = std::lower_bound(entry.choices.begin(), entry.choices.end(), keyOf(room), isBelow);
    return found != entry.choices.end() && found->key == keyOf(room) ? &found->variant : nullptr;
  }
  return nullptr;
}

Tuning::Entry &Tuning::entry(const std::string &name) {
  for (Entry &entry : entries)
    if (entry.name == name)
      return entry;
  entries.push_back({name, {}});
  return entries.back();
}

void Tuning::set(const std::string &entryName, int64_t room, const std::string &variant) {
  std::vector<Choice> &choices = entry(entryName).choices;
  auto place = std::lower_bound(choices.begin(), choices.end(), keyOf(room), isBelow);
  if (place != choices.end() && place->key == keyOf(room))
    place->variant = variant;
  else
    choices.insert(place, {keyOf(room), variant});
}

} // namespace moert
