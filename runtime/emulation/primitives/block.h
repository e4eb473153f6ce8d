//===- block.h - the threads of a block ---------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_BLOCK_H
#define MOE_EMULATION_PRIMITIVES_BLOCK_H

namespace moe {

inline int threadIndex() { return emulation::position.thread; }
inline int threadCount() { return emulation::position.threads; }
inline int blockIndex() { return emulation::position.block; }
inline int blockCount() { return emulation::position.blocks; }

inline void syncBlock(Where where = Where::current()) { emulation::syncBlock(where); }
inline void syncNamed(uint32_t id, uint32_t threads, Where where = Where::current()) {
  emulation::syncNamed(id, threads, where);
}

template <int kCount> void decreaseRegisters(Where where = Where::current()) {
  emulation::setRegisters(kCount, false, where);
}
template <int kCount> void increaseRegisters(Where where = Where::current()) {
  emulation::setRegisters(kCount, true, where);
}

} // namespace moe

#endif
