//===- Job.h - the ranks of a program -----------------------------------------------------------------------------===//
//
// A job has as many ranks as the product of its program's axes; the last axis varies fastest. Its ranks open their
// sessions together, and then each run together. In between they need nothing of each other.
//
// Whatever happens to a rank, the others find out at once, or by the deadline: a process that ends is seen by the
// watch, a rank that fails or leaves says so in its page, and one that stands still is waited for no longer than
// patience. Ranks of other hosts are heard of through their connection (Link.h). After a failure in a run the job is
// over: ranks may be at different places, and all later runs fail with the first reason.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_JOB_H
#define MOERT_LIB_COMM_JOB_H

#include "comm/Bootstrap.h"
#include "comm/Control.h"
#include "comm/LocalMeeting.h"
#include "comm/Watch.h"
#include "comm/Windows.h"
#include "moert/moert_model.h"

#include <memory>

namespace moert {

/// The number of ranks that a program needs, and "ep = 2" or "dp = 2, ep = 4" for messages: of its own axes.
int64_t rankCount(const moert_program &program);
std::string axesText(const moert_program &program);
/// Whether those who were started are as many as the program needs.
Status checkRankCount(const moert_program &program, const Ranks &ranks);

class Job final : Link::Listener {
public:
  Job() = default;
  Job(const Job &) = delete;
  Job &operator=(const Job &) = delete;
  ~Job() { leave(); }

  /// Meets the other ranks of the program, which is given with its variants, if it has some. A wait for them may take
  /// `nanoseconds`, here and in all that follows.
  Status join(const std::vector<const moert_program *> &variants, const Ranks &ranks, int64_t nanoseconds);
  /// To be called when the session has opened all that it needs, or could not: `opened` becomes the failure of each
  /// rank. `weights` tells archives apart; `library` is what all must have alike beside them, or empty: "NCCL 2.29.7".
  Status start(const Status &opened, uint64_t weights, const std::string &library = "");
  /// Tells the others that this rank needs nothing of them any more. They may still be in the run that it has done.
  void leave();

  int rank() const { return meeting->rank(); }
  int ranks() const { return meeting->ranks(); }
  int64_t nanoseconds() const { return patience; }
  /// Of the ranks on this host: how many they are, the place of this one among them, and the first one.
  int ranksHere() const { return hosts.areMany() ? hosts.count() : ranks(); }
  int indexHere() const { return hosts.areMany() ? hosts.before(rank()) : rank(); }
  int firstHere() const { return hosts.areMany() ? hosts.first() : 0; }
  bool areThreads() const { return meeting == &local; }
  ControlGroup &axis(int32_t index) { return *groups[static_cast<size_t>(index)]; }
  /// The ranks that differ from this one on these axes only (by bit), in their order in the job. For the axes of an
  /// input or output.
  ControlGroup &along(uint32_t axes);
  ControlGroup &all() { return *groups.back(); }

  /// Whether no run is possible any more.
  bool isOver() const { return over.failed(); }
  /// Begins a run, or whatever else all ranks do together.
  Status begin();
  /// Ends the job by a failure of this rank, which the others are told unless they know.
  Status fail(Status status);
  /// From here on waits are noted; without a log, no longer.
  void traceWaits(WaitLog *log);
  /// What the ranks are doing, for messages; the text stays.
  void setPhase(const char *text) { phase = text; }
  const char *presentPhase() const { return phase; }

  /// What the flags count for which the next launch waits (moert_flags).
  struct Flags {
    int64_t each = 0, slices = 0, stride = 1;
  };
  void setFlags(const Flags &counted) { flags = counted; }
  const Flags &presentFlags() const { return flags; }

  /// Whether a wait has failed or a rank is lost: two loads.
  bool isDisturbed() const {
    uint32_t word = __atomic_load_n(&page(rank()).abort, __ATOMIC_RELAXED);
    for (const auto &group : groups)
      word |= __atomic_load_n(&group->status, __ATOMIC_RELAXED);
    return word;
  }
  /// Which rank waited for which, in which phase, and why in vain; behind a launch of `kernel`, or null.
  Status why(const char *kernel = nullptr) const;

  /// The largest value of the axis's ranks.
  Status agree(int32_t axis, int64_t value, int64_t &largest);
  /// Windows of so many bytes for the axis.
  Status openWindows(int32_t axis, size_t bytes);
  /// From here on flags are reset. They are compared by signed differences, and a program may go on for long.
  static constexpr uint32_t kLastEpoch = 1u << 30;
  /// A failure of what ranks share, and whose it is.
  Status explain(const Status &status) const;
  /// The page of this rank, at whose beginning stands the word that ends its waits.
  char *ownPage() const { return pages.bases()[rank()]; }
  size_t pageBytes() const { return pages.bytes(); }
  /// Collects data of any size: `sizes` bytes of each rank of the group, one after the other.
  /// Without `to` this rank only gives.
  Status collect(ControlGroup &group, const void *mine, const std::vector<uint64_t> &sizes, char *to);

private:
  /// As axes: all ranks of the job, on whatever axes they stand.
  static constexpr uint32_t kEverybody = ~0u;
  static constexpr size_t kPiece = size_t(1) << 20;

  ControlPage &page(int rank) const { return *reinterpret_cast<ControlPage *>(pages.bases()[rank]); }
  /// A copy, of a rank on another host as a whole that it has sent.
  ControlPage readPage(int rank) const;
  void makeGroups(const std::vector<const moert_program *> &variants, Provider provider);
  void makeGroup(uint32_t axes);
  std::vector<int> membersOf(int rank, uint32_t axes) const;
  bool isEverybody(uint32_t axes) const;
  void abortOthers(bool onlyLater);
  int waitedFor(int rank) const;
  int endOfWaits(int waited) const;
  Status shareOutcome(const Status &opened, uint64_t weights, const std::string &library);
  // JobHosts.cpp: ranks of other hosts.
  Status connectHosts(const Ranks &ranks);
  void publishPage();
  void setAbort(uint32_t word);
  void heard(int rank) override;
  void aborted(int rank, uint32_t word) override;
  void lost(int rank) override;
  void tick() override;
  bool isEnding() const override { return isDisturbed(); }

  Bootstrap bootstrap; ///< of processes
  LocalMeeting local;  ///< of threads of this process
  Group *meeting = &bootstrap;
  Hosts hosts;
  Link link; ///< windows need it as long as they live
  uint32_t shownWaits[ControlPage::kGroups] = {};
  int64_t patience = 0;
  uint64_t memory = 0; ///< bytes of this machine
  std::vector<moert_axis> axes;                      ///< of all variants
  std::vector<std::unique_ptr<ControlGroup>> groups; ///< by axis; of inputs and outputs; all ranks
  std::vector<uint32_t> axesOfGroups;                ///< by bit
  std::vector<std::unique_ptr<Windows>> windows;     ///< by axis
  Windows pages, pieces;
  Watch watch;
  const char *phase = "";
  Flags flags;
  uint32_t runs = 0;
  bool isStarted = false, collects = false;
  Status over; ///< why no run is possible any more
};

} // namespace moert

#endif // MOERT_LIB_COMM_JOB_H
