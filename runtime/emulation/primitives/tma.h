//===- tma.h - bulk copies of tiles between global and shared memory ----------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_TMA_H
#define MOE_EMULATION_PRIMITIVES_TMA_H

namespace moe {

inline void fenceProxyAsync() { emulation::fenceProxyAsync(); }
inline void fenceProxyAsyncShared() { emulation::fenceProxyAsyncShared(); }
inline void loadTile2d(SharedAddress to, const CUtensorMap *map, SharedAddress barrier, int x, int y,
                       Where where = Where::current()) {
  emulation::loadTile2d(to, map, barrier, x, y, where);
}
inline void storeTile2d(const CUtensorMap *map, SharedAddress from, int x, int y, Where where = Where::current()) {
  emulation::storeTile2d(map, from, x, y, where);
}
inline void commitTileStores() { emulation::commitTileStores(); }
template <int kPending> void waitTileStoresRead(Where where = Where::current()) {
  emulation::waitTileStores(kPending, true, where);
}
template <int kPending> void waitTileStores(Where where = Where::current()) {
  emulation::waitTileStores(kPending, false, where);
}

} // namespace moe

#endif
