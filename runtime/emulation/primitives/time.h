//===- time.h - virtual time --------------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_TIME_H
#define MOE_EMULATION_PRIMITIVES_TIME_H

namespace moe {

inline void backOff(Where where = Where::current()) { emulation::backOff(where); }
inline uint64_t globalTime() { return emulation::globalTime(); }
inline uint64_t cycleCount() { return emulation::globalTime(); }

} // namespace moe

#endif
