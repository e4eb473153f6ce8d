//===- tma.cuh - bulk copies of tiles between global and shared memory --------------------------------------------===//
//
// x counts elements along the inner dimension of the tensor, y rows. What of a box lies outside the tensor is loaded as
// zeros and not stored.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// Between ordinary accesses and those of TMA or wgmma to the same memory, on either side of the synchronisation.
MOE_DEVICE void fenceProxyAsync() { asm volatile("fence.proxy.async;" ::: "memory"); }

/// The same for the shared memory of the block alone: what the thread has on its way in global memory is not waited
/// for.
MOE_DEVICE void fenceProxyAsyncShared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Starts a load. The whole box counts for the barrier, also the part outside the tensor.
MOE_DEVICE void loadTile2d(SharedAddress to, const CUtensorMap *map, SharedAddress barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          to),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

/// Starts a store. It belongs to the thread's next group.
MOE_DEVICE void storeTile2d(const CUtensorMap *map, SharedAddress from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(from),
               "r"(x), "r"(y)
               : "memory");
}

/// Closes the thread's group of stores.
MOE_DEVICE void commitTileStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// Until at most kPending groups of this thread have still to read shared memory.
template <int kPending> MOE_DEVICE void waitTileStoresRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

/// Until at most kPending groups of this thread are unfinished: the others' data are in global memory.
template <int kPending> MOE_DEVICE void waitTileStores() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

} // namespace moe
