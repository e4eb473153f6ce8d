//===- Control.h - what the ranks of a job know of each other while a program runs --------------------------------===//
//
// Each rank has a page that all others see (Windows.h): the word by which they end its waits, how it left the job, and
// places for what they tell it. So ranks agree on a size in about a microsecond, and a rank that fails can say why.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_CONTROL_H
#define MOERT_LIB_COMM_CONTROL_H

#include "comm/Group.h"
#include "comm/Peers.h"
#include "comm/Windows.h"

#include <vector>

namespace moert {

/// How a rank has left its job.
enum Goodbye : uint32_t { kStays = 0, kLeft = 1, kFailed = 2 };

/// What stands at the beginning of a rank's page. Words are read and written atomically.
struct alignas(64) ControlPage {
  uint32_t abort;   ///< not 0: its waits end; the number of the rank that is lost, plus one
  uint32_t run;     ///< number of the run that it began last
  uint32_t goodbye; ///< Goodbye; kFailed is set after code and text
  int32_t code;
  uint32_t isWhole; ///< the text says which rank it is about
  static constexpr size_t kGroups = 24; ///< the axes of all variants, and more
  uint32_t waits[kGroups]; ///< by group, the first ones alone: 1 + the rank on it that this one waits for
  char text[396];
};

/// What one rank tells another one in one exchange. Two of them take turns: who writes the same one again has heard
/// that all have read it.
struct alignas(64) ControlSlot {
  static constexpr size_t kBytes = 56;
  char bytes[kBytes];
  uint32_t number; ///< of the exchange
};

/// Ranks of a job, all or those of an axis, which exchange a few bytes through their pages.
class ControlGroup final : public Group {
public:
  /// `members` are ranks of the job.
  ControlGroup(std::vector<int> members, int rank) : members(std::move(members)), own(rank) {}

  int rank() const override { return own; }
  int ranks() const override { return static_cast<int>(members.size()); }
  Status gather(const void *mine, void *all, size_t bytes) override;

  /// The same without memory for the results; null if a wait failed, else to be asked by take().
  bool tell(const void *mine, size_t bytes);
  const void *take(int peer) const;

  int member(int peer) const { return members[static_cast<size_t>(peer)]; }
  size_t slotBytes() const { return 2 * members.size() * sizeof(ControlSlot); }
  /// The slots of this group begin so many bytes behind the beginning of a page.
  void place(Windows &pages, size_t offset, const moert_peers &waits);

  moert_peers peers{};   ///< of programs; its windows are opened when they ask for them
  moert_notes notes;
  uint32_t epoch = 0;    ///< of programs
  uint32_t status = 0;   ///< of all waits for this group's ranks

private:
  ControlSlot *slot(int owner, int sender) const;

  std::vector<int> members;
  int own;
  Windows *pages = nullptr; ///< by rank of the job
  size_t offset = 0;
  uint32_t exchange = 0;
};

} // namespace moert

#endif // MOERT_LIB_COMM_CONTROL_H
