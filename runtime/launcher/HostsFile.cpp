//===- HostsFile.cpp - which ranks each host of a job starts ------------------------------------------------------===//

#include "HostsFile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace moert {

static std::vector<std::string> wordsOf(std::string line) {
  line.resize(std::min(line.size(), line.find('#')));
  std::vector<std::string> words;
  for (size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string::npos;) {
    size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

Status findShare(const std::string &text, const std::string &path, const std::string &name, int ranks,
                 HostShare &share) {
  std::string file = printable(path);
  int total = 0, number = 0;
  bool isFound = false;
  std::vector<int> firsts;
  std::vector<std::string> names;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::vector<std::string> words = wordsOf(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (words.empty())
      continue;
    char *rest = nullptr;
    long count = words.size() == 2 ? std::strtol(words[1].c_str(), &rest, 10) : 0;
    if (count < 1 || count > ranks || *rest)
      return failure(kUserError, "%s:%d: expected the name of a host and how many of the %d ranks it has", file.c_str(),
                     number, ranks);
    if (std::find(names.begin(), names.end(), words[0]) != names.end())
      return failure(kUserError, "%s:%d: host '%s' stands there twice", file.c_str(), number,
                     printable(words[0]).c_str());
    names.push_back(words[0]);
    if (words[0] == name) {
      isFound = true;
      share = {total, static_cast<int>(count), {}};
    }
    firsts.push_back(total);
    total += static_cast<int>(count);
    if (total > ranks)
      break;
  }
  if (total != ranks)
    return failure(kUserError, "%s has hosts for %s%d ranks, but --ranks is %d", file.c_str(),
                   total > ranks ? "at least " : "", total, ranks);
  if (!isFound)
    return failure(kUserError, "%s has no host '%s': name this one with --host-name", file.c_str(),
                   printable(name).c_str());
  share.firsts = std::move(firsts);
  return {};
}

int findSharedNode(const std::vector<int> &firsts, int each) {
  auto found = std::find_if(firsts.begin(), firsts.end(), [&](int first) { return first % each != 0; });
  return found == firsts.end() ? -1 : *found / each;
}

std::string ownHostName() {
  char name[256] = {};
  (void)gethostname(name, sizeof name - 1);
  return std::string(name, std::strcspn(name, "."));
}

} // namespace moert
