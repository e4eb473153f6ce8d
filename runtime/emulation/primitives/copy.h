//===- copy.h - asynchronous copies of 16 bytes by the threads ----------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_COPY_H
#define MOE_EMULATION_PRIMITIVES_COPY_H

namespace moe {

inline void copyAsync(SharedAddress to, const void *from, uint32_t bytes, Where where = Where::current()) {
  emulation::copyAsync(to, from, bytes, where);
}
inline void commitCopies() { emulation::commitCopies(); }
template <int kPending> void waitCopies(Where where = Where::current()) { emulation::waitCopies(kPending, where); }
inline void arriveWhenCopied(SharedAddress barrier, Where where = Where::current()) {
  emulation::arriveWhenCopied(barrier, where);
}

} // namespace moe

#endif
