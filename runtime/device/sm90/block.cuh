//===- block.cuh - the threads of a block -------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// Grids and blocks are one-dimensional.
MOE_DEVICE int threadIndex() { return int(threadIdx.x); }
MOE_DEVICE int threadCount() { return int(blockDim.x); }
MOE_DEVICE int blockIndex() { return int(blockIdx.x); }
MOE_DEVICE int blockCount() { return int(gridDim.x); }

/// All threads of the block that have not ended.
MOE_DEVICE void syncBlock() { __syncthreads(); }

/// `threads` threads (a multiple of 32) meet at barrier `id`, 1 to 15.
MOE_DEVICE void syncNamed(uint32_t id, uint32_t threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// All threads of a warpgroup give registers back to the block, or wait until it has enough: 24 to 256 in steps of 8.
template <int kCount> MOE_DEVICE void decreaseRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount> MOE_DEVICE void increaseRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

} // namespace moe
