//===- RankErrors.cpp - what ranks write to the standard error ----------------------------------------------------===//

#include "RankErrors.h"

#include "core/OutputFile.h"

#include <algorithm>
#include <cstdlib>

namespace moert {

void RankErrors::take(Rank &rank) {
  if (rank.line.compare(0, prefix.size(), prefix) == 0)
    rank.failure = rank.line.substr(prefix.size());
  else
    (void)writeAll(2, (rank.line + "\n").data(), rank.line.size() + 1);
  rank.line.clear();
}

void RankErrors::add(int index, const char *text, size_t size) {
  Rank &rank = ranks[static_cast<size_t>(index)];
  for (size_t i = 0; i < size; ++i) {
    if (text[i] == '\n')
      take(rank);
    else
      rank.line += text[i];
  }
}

void RankErrors::finish(int index) {
  Rank &rank = ranks[static_cast<size_t>(index)];
  if (!rank.line.empty())
    take(rank);
}

bool RankErrors::hasFailure() const {
  return std::any_of(ranks.begin(), ranks.end(), [](const Rank &rank) { return !rank.failure.empty(); });
}

bool RankErrors::isRelayed(const std::string &failure) const {
  size_t at = failure.find("rank "); // behind "call 3: ", for example
  if (at == std::string::npos)
    return false;
  char *rest = nullptr;
  // Of ranks that are started elsewhere nothing is written here.
  size_t other = std::strtoul(failure.c_str() + at + 5, &rest, 10) - first;
  std::string what = rest;
  bool tells = what.compare(0, 9, " failed: ") == 0 || what.compare(0, 14, " left the job ") == 0;
  return tells && other < ranks.size() && !ranks[other].failure.empty() && ranks[other].failure != failure;
}

void RankErrors::report() const {
  std::vector<std::string> said;
  for (const Rank &rank : ranks) {
    bool isNew = std::find(said.begin(), said.end(), rank.failure) == said.end();
    if (rank.failure.empty() || !isNew || isRelayed(rank.failure))
      continue;
    said.push_back(rank.failure);
    std::string line = prefix + rank.failure + "\n";
    (void)writeAll(2, line.data(), line.size());
  }
}

} // namespace moert
