//===- shared.h - shared memory -----------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_SHARED_H
#define MOE_EMULATION_PRIMITIVES_SHARED_H

namespace moe {

inline SharedAddress dynamicShared() { return emulation::kSharedBase; }

template <typename T> T loadShared(SharedAddress a, Where where = Where::current()) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "shared memory is read by 4, 8 or 16 bytes");
  T value;
  emulation::readShared(a, &value, sizeof value, where);
  return value;
}

template <typename T> void storeShared(SharedAddress a, T value, Where where = Where::current()) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "shared memory is written by 4, 8 or 16 bytes");
  emulation::writeShared(a, &value, sizeof value, where);
}

inline uint32_t addShared(SharedAddress a, uint32_t value, Where where = Where::current()) {
  return emulation::addShared(a, value, where);
}

} // namespace moe

#endif
