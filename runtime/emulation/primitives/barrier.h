//===- barrier.h - mbarriers --------------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_BARRIER_H
#define MOE_EMULATION_PRIMITIVES_BARRIER_H

namespace moe {

inline void initBarrier(SharedAddress barrier, uint32_t arrivals, Where where = Where::current()) {
  emulation::initBarrier(barrier, arrivals, where);
}
inline void fenceBarrierInit() { emulation::fenceBarrierInit(); }
inline void arrive(SharedAddress barrier, Where where = Where::current()) { emulation::arrive(barrier, 0, where); }
inline void arriveExpect(SharedAddress barrier, uint32_t bytes, Where where = Where::current()) {
  emulation::arrive(barrier, bytes, where);
}
inline bool tryWait(SharedAddress barrier, uint32_t parity, Where where = Where::current()) {
  return emulation::tryWait(barrier, parity, where);
}

} // namespace moe

#endif
