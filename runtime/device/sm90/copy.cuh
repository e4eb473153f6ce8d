//===- copy.cuh - asynchronous copies of 16 bytes by the threads --------------------------------------------------===//
//
// For rows that TMA cannot fetch, because they lie wherever an index says. The copies are ordinary accesses of the
// thread that issues them, made later: wgmma needs fence.proxy.async after the wait, for the copies or for the mbarrier
// that hands them over.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// Starts a copy of the first `bytes` (0 to 16) of 16 bytes; the others become zeros and are not read. It belongs to
/// the thread's next group.
MOE_DEVICE void copyAsync(SharedAddress to, const void *from, uint32_t bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

/// Closes the thread's group of copies.
MOE_DEVICE void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Until at most kPending groups of this thread are unfinished: the others' data are in shared memory.
template <int kPending> MOE_DEVICE void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Arrives when all copies that this thread has issued so far, committed or not, are in shared memory. One of the
/// arrivals that the mbarrier counts. It hands over the copies and nothing else that the thread has written.
MOE_DEVICE void arriveWhenCopied(SharedAddress barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

} // namespace moe
