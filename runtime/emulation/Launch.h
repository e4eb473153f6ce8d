//===- Launch.h - the host's side of the emulated GPU -------------------------------------------------------------===//
//
// Deterministic: one OS thread, and every choice comes from Options::seed. Not for several OS threads at a time.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_LAUNCH_H
#define MOE_EMULATION_LAUNCH_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

struct CUtensorMap;

namespace moe::emulation {

/// When asynchronous work (TMA, wgmma) happens, within what the hardware allows: at once, only when nothing else can
/// run, or at any time in between.
enum class Timing { Eager, Lazy, Random };

struct Options {
  int blocks = 1;
  int threads = 128;        // of a block: a multiple of 32 up to 1024
  uint32_t sharedBytes = 0; // dynamic shared memory of a block
  uint64_t seed = 1;
  Timing timing = Timing::Random;
  bool skewed = false;        // some warps run far ahead of others
  bool strict = false;        // memory that wgmma reads is free only when every warp of the warpgroup has said so
  int residentBlocks = 132;   // the others start when one ends
  int firstBlocks = 0;        // of the grid only these run, for a sample of a large one; 0: all
  int registersPerThread = 0; // for setmaxnreg; 0: as many as fit
  // Given if others use the memory at the same time, as launches of ranks in other threads and processes: it is called
  // where nothing can run until they have done something. Threads take turns by it, one at a time. Time is real then.
  std::function<void()> pause{};
};

struct Report {
  std::string fault; // empty if the launch broke no rule
  uint64_t switches = 0, wgmmas = 0, tileLoads = 0, tileStores = 0;
  bool ok() const { return fault.empty(); }
};

Report launch(const Options &options, const std::function<void()> &kernel);

/// A launch of a rank; `name` appears in messages.
struct Launch {
  Options options; // seed, timing, skewed and strict are those of all
  std::function<void()> kernel;
  std::string name;
};

/// Ranks side by side, each a GPU with a stream: a launch begins when the one before it on its rank has ended, and sees
/// what that has written. Nothing orders two ranks but the flags that they release and acquire. `schedule` has seed,
/// timing, skewed and strict; skewed lets some ranks run ahead too.
Report launchRanks(const Options &schedule, const std::vector<std::vector<Launch>> &ranks);

/// Kernels may access only registered memory. `name` appears in messages. Of a window, which ranks write to, reads are
/// recorded too: a store onto what another thread may still have to read is a fault.
void registerGlobal(const void *base, size_t bytes, std::string name, bool writable, bool isWindow = false);
void clearGlobals();

/// What cuTensorMapEncodeTiled makes of a row-major tensor of `height` rows of `width` elements, `rowBytes` apart.
/// Returns what is wrong with the arguments, or an empty string.
std::string encodeTile2d(CUtensorMap &map, const void *base, uint32_t elementBytes, uint64_t width, uint64_t height,
                         uint64_t rowBytes, uint32_t boxWidth, uint32_t boxHeight, uint32_t swizzle);

} // namespace moe::emulation

#endif
