//===- Clock.h - vector clocks ------------------------------------------------------------------------------------===//
//
// Clocks decide whether an access is legal, not luck: a missing wait is found even when the data happened to be there.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_CLOCK_H
#define MOE_EMULATION_CLOCK_H

#include "KnownOfBlock.h"

#include <vector>

namespace moe::emulation {

/// Where a block stands among the launches of ranks.
struct LaunchNumber {
  int rank;
  uint32_t number;
};

/// For every slot of every block the last epoch known, and for every rank how many of its launches are known to have
/// ended: all that they did is known then. A block's slots are its threads, then its mbarriers (asynchronous loads that
/// complete there, and copies of threads apart from them), then the threads that store tiles. Blocks from which nothing
/// was learnt take no memory.
///
/// Threads that have met know the same but for what each has done since: they share the epochs, and each has one of its
/// own beside them. So a meeting of N threads costs about N steps, not N times the slots of all blocks.
class Clock {
public:
  /// Slots of a block, set by each launch.
  static inline int width = 0;
  /// Of each block that has begun.
  static inline std::vector<LaunchNumber> launches;

  uint32_t get(int block, int slot) const {
    if (size_t(block) < blocks.size() && blocks[block])
      return blocks[block].get(slot);
    return hasEnded(size_t(block)) ? ~0u : 0;
  }
  /// The first `count` launches of `rank` have ended.
  void end(int rank, uint32_t count) {
    if (ended.size() <= size_t(rank))
      ended.resize(rank + 1);
    if (ended[rank] >= count)
      return;
    ended[rank] = count;
    for (size_t b = 0; b < blocks.size(); ++b)
      if (blocks[b] && hasEnded(b))
        blocks[b] = {};
  }
  void raise(int block, int slot, uint32_t epoch) { known(size_t(block)).raise(slot, epoch, width); }
  void join(const Clock &other) {
    for (size_t rank = 0; rank < other.ended.size(); ++rank)
      end(int(rank), other.ended[rank]);
    for (size_t b = 0; b < other.blocks.size(); ++b)
      if (other.blocks[b] && !hasEnded(b))
        known(b).join(other.blocks[b], width);
  }
  /// Is everything in `other` known here?
  bool includes(const Clock &other) const {
    for (size_t rank = 0; rank < other.ended.size(); ++rank)
      if (other.ended[rank] > (rank < ended.size() ? ended[rank] : 0))
        return false;
    for (size_t b = 0; b < other.blocks.size(); ++b)
      if (other.blocks[b] && !(b < blocks.size() && blocks[b].surelyIncludes(other.blocks[b])))
        for (int i = 0; i < width; ++i)
          if (other.blocks[b].get(i) > get(int(b), i))
            return false;
    return true;
  }
  void clear() {
    ended.clear();
    blocks.clear();
  }

private:
  bool hasEnded(size_t block) const {
    return !ended.empty() && size_t(launches[block].rank) < ended.size() &&
           ended[launches[block].rank] > launches[block].number;
  }
  KnownOfBlock &known(size_t block) {
    if (blocks.size() <= block)
      blocks.resize(block + 1);
    return blocks[block];
  }
  std::vector<KnownOfBlock> blocks;
  std::vector<uint32_t> ended; // by rank
};

/// What a synchronisation hands over: the writes that ordinary accesses may see, and those of them that the async proxy
/// may see too, because a proxy fence for their kind of memory lies in between.
struct Knowledge {
  Clock seen, asyncShared, asyncGlobal;

  void join(const Knowledge &other) {
    seen.join(other.seen);
    asyncShared.join(other.asyncShared);
    asyncGlobal.join(other.asyncGlobal);
  }
  void clear() {
    seen.clear();
    asyncShared.clear();
    asyncGlobal.clear();
  }
};

} // namespace moe::emulation

#endif
