//===- KnownOfBlock.h - the epochs of a block's slots that are known ----------------------------------------------===//
#ifndef MOE_EMULATION_KNOWNOFBLOCK_H
#define MOE_EMULATION_KNOWNOFBLOCK_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace moe::emulation {

/// An epoch for each slot of a block, which several clocks may share.
using SharedEpochs = std::shared_ptr<uint32_t[]>;

/// Epochs of a block, and of one slot a later one: that of a thread, which alone changes between two meetings.
class KnownOfBlock {
public:
  explicit operator bool() const { return epochs || slot >= 0; }
  uint32_t get(int s) const {
    const uint32_t shared = epochs ? epochs.get()[s] : 0;
    return s == slot ? std::max(shared, epoch) : shared;
  }

  void raise(int s, uint32_t to, int width) {
    if (slot < 0)
      slot = s;
    if (s == slot)
      epoch = std::max(epoch, to);
    else if (!epochs || epochs.get()[s] < to)
      edit(width)[s] = to;
  }

  void join(const KnownOfBlock &other, int width) {
    joinEpochs(other, width);
    if (other.slot >= 0)
      raise(other.slot, other.epoch, width);
  }

  /// Without a look at each slot; false says nothing.
  bool surelyIncludes(const KnownOfBlock &other) const {
    return (!other.epochs || other.epochs == epochs || other.epochs == part) &&
           (other.slot < 0 || get(other.slot) >= other.epoch);
  }

private:
  void joinEpochs(const KnownOfBlock &other, int width) {
    if (!other.epochs || other.epochs == epochs || other.epochs == part)
      return;
    if (!epochs || other.part == epochs)
      return take(other);
    const uint32_t *from = other.epochs.get(), *to = epochs.get();
    uint32_t isLess = 0, isGreater = 0;
    for (int i = 0; i < width; ++i) {
      isLess |= to[i] < from[i];
      isGreater |= to[i] > from[i];
    }
    if (isLess && !isGreater)
      return take(other);
    if (isLess) {
      uint32_t *both = edit(width);
      for (int i = 0; i < width; ++i)
        both[i] = both[i] < from[i] ? from[i] : both[i];
    }
    part = other.epochs;
  }

  void take(const KnownOfBlock &other) {
    part = std::move(epochs);
    epochs = other.epochs;
  }

  uint32_t *edit(int width) {
    if (!epochs) {
      epochs = std::make_shared<uint32_t[]>(width);
    } else if (epochs.use_count() > 1) {
      SharedEpochs copy = std::make_shared<uint32_t[]>(width);
      std::copy_n(epochs.get(), width, copy.get());
      part = std::exchange(epochs, std::move(copy));
    }
    if (slot >= 0)
      epochs.get()[slot] = std::max(epochs.get()[slot], epoch);
    return epochs.get();
  }

  SharedEpochs epochs;
  SharedEpochs part; // that `epochs` includes: there is nothing to learn from it
  int slot = -1;
  uint32_t epoch = 0;
};

} // namespace moe::emulation

#endif
