//===- warp.h - the threads of a warp -----------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_WARP_H
#define MOE_EMULATION_PRIMITIVES_WARP_H

namespace moe::emulation {
template <typename T> T exchangeBits(Exchange kind, T value, int argument, Where where) {
  static_assert(sizeof(T) == 4, "shuffles exchange 4 bytes");
  uint32_t bits;
  memcpy(&bits, &value, 4);
  bits = exchange(kind, bits, argument, where);
  memcpy(&value, &bits, 4);
  return value;
}
} // namespace moe::emulation

namespace moe {

inline void syncWarp(Where where = Where::current()) { emulation::syncWarp(where); }

template <typename T> T shuffleXor(T value, int mask, Where where = Where::current()) {
  return emulation::exchangeBits(emulation::Exchange::Xor, value, mask, where);
}
template <typename T> T shuffleUp(T value, int distance, Where where = Where::current()) {
  return emulation::exchangeBits(emulation::Exchange::Up, value, distance, where);
}
template <typename T> T broadcast(T value, int lane, Where where = Where::current()) {
  return emulation::exchangeBits(emulation::Exchange::Broadcast, value, lane, where);
}
inline uint32_t ballotWarp(bool condition, Where where = Where::current()) {
  return emulation::exchange(emulation::Exchange::Ballot, condition, 0, where);
}
template <typename T> uint32_t matchWarp(T value, Where where = Where::current()) {
  static_assert(sizeof(T) == 4, "lanes are matched by 4 bytes");
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return emulation::exchange(emulation::Exchange::Match, bits, 0, where);
}
inline int countBits(uint32_t mask) { return __builtin_popcount(mask); }

} // namespace moe

#endif
