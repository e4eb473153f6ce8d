//===- SharedMemory.h - the shared memory of a block, and who did what to it --------------------------------------===//
#ifndef MOE_EMULATION_SHAREDMEMORY_H
#define MOE_EMULATION_SHAREDMEMORY_H

#include "Clock.h"
#include "Machine.h"

#include <map>
#include <string>
#include <optional>

namespace moe::emulation {

struct Thread;

/// The last write to 4 bytes.
struct SharedWord {
  /// Ordinary: by a thread. Copied: by a thread's asynchronous copy, handed over by an mbarrier. Async: by TMA.
  enum Kind : uint8_t { Never, Ordinary, Copied, Async, Atomic } kind = Never;
  int16_t slot = 0; // of the thread, or of the mbarrier where the load or copy completed
  uint32_t epoch = 0;
  bool operator==(const SharedWord &other) const = default;
};

/// An ordinary load of some words (a mask) of 16 bytes.
struct SharedRead {
  int16_t slot;
  uint8_t words;
  uint32_t epoch;
};

constexpr int kMaxWarpgroups = 8;

/// 16 bytes: what TMA and wgmma move.
struct Granule {
  SharedWord words[4];
  bool barrier = false;                // holds mbarriers
  bool loading = false;                // a TMA load in flight writes it
  bool copying = false;                // an asynchronous copy does that its thread has not waited for
  uint32_t wgmma[kMaxWarpgroups] = {}; // by warpgroup: number + 1 of the last group that reads it
  uint32_t store = 0;                  // number + 1 of the last TMA store that reads it
  std::vector<SharedRead> reads;

  /// What in flight writes here; null if nothing does.
  const char *inFlight() const {
    return loading ? "a TMA load in flight" : copying ? "an asynchronous copy in flight" : nullptr;
  }
};

class SharedMemory {
public:
  /// The bytes are NaN, as f32 and as bf16, until they are written.
  void allocate(uint32_t size) {
    bytes.assign(size, 0xff);
    granules.resize((size + 15) / 16);
  }
  void release() { *this = {}; }
  bool contains(uint32_t address, uint32_t size) const {
    return address >= kSharedBase && uint64_t(address) + size <= uint64_t(kSharedBase) + bytes.size();
  }
  unsigned char *at(uint32_t address) { return bytes.data() + (address - kSharedBase); }
  Granule &granule(uint32_t address) { return granules[(address - kSharedBase) / 16]; }
  /// The first 16 bytes that something in flight writes.
  std::optional<uint32_t> findInFlight() const {
    for (size_t i = 0; i < granules.size(); ++i)
      if (granules[i].inFlight())
        return uint32_t(kSharedBase + i * 16);
    return std::nullopt;
  }

  std::map<uint32_t, Clock> atomics; // by address: who took part in the adds of an Atomic word

private:
  std::vector<unsigned char> bytes;
  std::vector<Granule> granules;
};

void requireShared(uint32_t address, uint32_t bytes, const char *what, Where where);

/// May the calling thread overwrite these words of 16 bytes? Fails if not.
class OverwriteCheck {
public:
  /// `async`: the write is done by the TMA unit.
  OverwriteCheck(bool async, Where where);
  void operator()(Granule &granule, uint32_t address, int words = 0xf);
  /// The same for an atomic update, which need not be ordered after others of its kind.
  void atomic(Granule &granule, uint32_t address);

private:
  [[noreturn]] void refuse(uint32_t address, const std::string &why) const;
  void checkProducts(Granule &granule, uint32_t address);
  void checkStore(Granule &granule, uint32_t address);
  void checkAsyncReaders(Granule &granule, uint32_t address);
  void checkWrites(const Granule &granule, uint32_t address, int words);
  void checkReads(Granule &granule, uint32_t address, int words);

  Thread &thread;
  bool async;
  Where where;
  // The last group found harmless: most granules of a tile have the same.
  int harmlessWarpgroup = -1;
  uint32_t harmlessGroup = 0;
};

} // namespace moe::emulation

#endif
