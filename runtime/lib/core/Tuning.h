//===- Tuning.h - which variant of an entry to take for how many tokens -------------------------------------------===//
//
// A dictionary in a file, as Tutel has it: the key is the largest number of tokens of a rank, in steps of a window. All
// ranks look it up with the same number, so they take the same variant. A number of tokens without an entry runs
// the first variant.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_TUNING_H
#define MOERT_LIB_CORE_TUNING_H

#include "core/Status.h"

#include <vector>

namespace moert {

class Tuning {
public:
  /// Tokens of a rank that share an entry.
  static constexpr int64_t kWindow = 128;
  /// Its key is the last one that a file may have.
  static constexpr int64_t kMaxRoom = 999999999999999 * kWindow;
  static constexpr size_t kMaxBytes = size_t(1) << 20;

  static int64_t keyOf(int64_t room) { return room / kWindow; }

  struct Choice {
    int64_t key;
    std::string variant;
  };
  struct Entry {
    std::string name;
    std::vector<Choice> choices; ///< by key
  };

  /// Reads what print() has written; `name` is that of the file, for messages.
  Status parse(const std::string &text, const std::string &name);
  /// The same of a file. Fine, and empty, if there is none and it may be missing.
  Status read(const std::string &path, bool mayBeMissing);
  std::string print() const;

  /// The name of the variant for a call of an entry; null: none is known.
  const std::string *find(const std::string &entry, int64_t room) const;
  void set(const std::string &entry, int64_t room, const std::string &variant);

  std::string program; ///< whose build it is of
  std::vector<Entry> entries;

private:
  Entry &entry(const std::string &name);
};

} // namespace moert

#endif // MOERT_LIB_CORE_TUNING_H
