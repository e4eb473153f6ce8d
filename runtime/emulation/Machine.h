//===- Machine.h - what the primitives ask of the emulated machine ------------------------------------------------===//
//
// Each CUDA thread is a fiber, and each call may switch threads. A call that breaks a rule of the hardware ends the
// launch with a message that names the rule, the line of the kernel, and the thread. Light on purpose: every kernel
// includes it.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_MACHINE_H
#define MOE_EMULATION_MACHINE_H

#include <cstddef>
#include <cstdint>
#include <source_location>

struct CUtensorMap;

namespace moe::emulation {

/// A line of kernel text.
using Where = std::source_location;

/// The running thread, set at every switch.
struct Position {
  int thread, threads, block, blocks;
};
extern Position position;

constexpr uint32_t kSharedBase = 0x400; // sm_90 reserves the first KiB of the shared window

void readShared(uint32_t address, void *to, uint32_t bytes, Where where);
void writeShared(uint32_t address, const void *from, uint32_t bytes, Where where);
uint32_t addShared(uint32_t address, uint32_t value, Where where);

void initBarrier(uint32_t address, uint32_t arrivals, Where where);
void fenceBarrierInit();
void arrive(uint32_t address, uint32_t expectedBytes, Where where);
bool tryWait(uint32_t address, uint32_t parity, Where where);

void syncBlock(Where where);
void syncNamed(uint32_t id, uint32_t threads, Where where);
void setRegisters(int count, bool increase, Where where);

enum class Exchange { Xor, Up, Broadcast, Ballot, Match };
void syncWarp(Where where);
uint32_t exchange(Exchange kind, uint32_t value, int argument, Where where);

void fenceProxyAsync();
void fenceProxyAsyncShared();
void loadTile2d(uint32_t to, const CUtensorMap *map, uint32_t barrier, int x, int y, Where where);
void storeTile2d(const CUtensorMap *map, uint32_t from, int x, int y, Where where);
void commitTileStores();
void waitTileStores(uint32_t pending, bool readOnly, Where where);

void copyAsync(uint32_t to, const void *from, uint32_t bytes, Where where);
void commitCopies();
void waitCopies(uint32_t pending, Where where);
void arriveWhenCopied(uint32_t barrier, Where where);

struct Chain; // the accumulators of a warpgroup while wgmmas on them are in flight

/// The accumulators of one thread.
struct Registers {
  float *values;
  int columns;
  Chain *chain = nullptr;
  uint32_t lastProduct = 0;
  uint64_t touchedAt = 0; // number of fences that the thread had executed at the last access
};
enum class Element { Bf16, F16 };
void touch(Registers &registers, Where where);
void drop(Registers &registers);
void wgmmaFence();
void wgmma(Registers &d, uint64_t a, uint64_t b, Element element, bool accumulate, Where where);
void wgmmaCommit(Where where);
void wgmmaWait(uint32_t pending, Where where);

void checkGlobalLoad(const void *p, size_t bytes, Where where);
void checkGlobalStore(const void *p, size_t bytes, Where where);
void checkStreamedLoad(const void *p, size_t bytes, Where where);
uint32_t addGlobal(uint32_t *p, uint32_t value, bool acquire, bool release, Where where);
uint32_t compareExchange(uint32_t *p, uint32_t expected, uint32_t value, Where where);
uint32_t loadAcquire(const uint32_t *p, Where where);
void storeRelease(uint32_t *p, uint32_t value, Where where);

void backOff(Where where);
/// A flag that the calling thread waits for, from here on, until it has reached `want`; null: it waits for none.
struct AwaitedFlag {
  const uint32_t *flag = nullptr;
  uint32_t want = 0;
  int64_t peer = 0; // who raises it
};
void awaits(const AwaitedFlag &flag);
uint64_t globalTime();

} // namespace moe::emulation

#endif
