//===- RankErrors.h - what ranks write to the standard error ------------------------------------------------------===//
#ifndef MOERT_LAUNCHER_RANKERRORS_H
#define MOERT_LAUNCHER_RANKERRORS_H

#include <string>
#include <vector>

namespace moert {

/// Passes on what the processes of ranks write, line by line, but keeps back the line with which each of them fails:
/// often they say the same, or that another one has failed.
class RankErrors {
public:
  /// Of `count` ranks, whose numbers begin with `first`.
  RankErrors(int count, const std::string &executable, int first = 0)
      : ranks(count), prefix(executable + ": error: "), first(static_cast<size_t>(first)) {}

  void add(int rank, const char *text, size_t size);
  /// What was written without a line feed at the end.
  void finish(int rank);
  bool hasFailure() const;
  /// Writes the failures, each once.
  void report() const;

private:
  struct Rank {
    std::string line, failure;
  };
  void take(Rank &rank);
  /// Whether this is the failure of another rank, which has written it.
  bool isRelayed(const std::string &failure) const;

  std::vector<Rank> ranks;
  std::string prefix;
  size_t first;
};

} // namespace moert

#endif // MOERT_LAUNCHER_RANKERRORS_H
