//===- global.h - global memory -----------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_GLOBAL_H
#define MOE_EMULATION_PRIMITIVES_GLOBAL_H

namespace moe {

template <typename T> T loadGlobal(const T *p, Where where = Where::current()) {
  emulation::checkGlobalLoad(p, sizeof(T), where);
  return *p;
}
template <typename T> void storeGlobal(T *p, T value, Where where = Where::current()) {
  emulation::checkGlobalStore(p, sizeof(T), where);
  *p = value;
}
inline uint4 loadStreamed(const uint4 *p, Where where = Where::current()) {
  emulation::checkStreamedLoad(p, sizeof(uint4), where);
  return *p;
}

inline uint32_t addGlobal(uint32_t *p, uint32_t value, Where where = Where::current()) {
  return emulation::addGlobal(p, value, false, false, where);
}
inline uint32_t loadAcquire(const uint32_t *p, Where where = Where::current()) {
  return emulation::loadAcquire(p, where);
}
inline void addRelease(uint32_t *p, uint32_t value, Where where = Where::current()) {
  emulation::addGlobal(p, value, false, true, where);
}
inline void addReleaseDevice(uint32_t *p, uint32_t value, Where where = Where::current()) {
  emulation::addGlobal(p, value, false, true, where);
}
inline void storeRelease(uint32_t *p, uint32_t value, Where where = Where::current()) {
  emulation::storeRelease(p, value, where);
}
inline uint32_t addAcquireRelease(uint32_t *p, uint32_t value, Where where = Where::current()) {
  return emulation::addGlobal(p, value, true, true, where);
}
inline uint32_t compareExchangeRelease(uint32_t *p, uint32_t expected, uint32_t value, Where where = Where::current()) {
  return emulation::compareExchange(p, expected, value, where);
}

} // namespace moe

#endif
