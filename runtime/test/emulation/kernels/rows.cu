// Kernels without tiles, as routing needs them: a softmax per row, and counting of experts with offsets.
#include "device.cuh"
using namespace moe;

/// y[r] = softmax(x[r]): a warp per row, f32 inside.
extern "C" __global__ void __launch_bounds__(128) softmax(const Bf16 *x, float *y, long long rows, long long columns) {
  const int lane = threadIndex() % 32, warps = threadCount() / 32;
  for (long long row = blockIndex() * warps + threadIndex() / 32; row < rows; row += blockCount() * warps) {
    const Bf16 *from = x + row * columns;
    float largest = -INFINITY, sum = 0;
    for (long long j = lane; j < columns; j += 32)
      largest = maximum(largest, toFloat(loadGlobal(from + j)));
    for (int mask = 16; mask > 0; mask /= 2)
      largest = maximum(largest, shuffleXor(largest, mask));
    for (long long j = lane; j < columns; j += 32)
      sum += moe::exp(toFloat(loadGlobal(from + j)) - largest);
    for (int mask = 16; mask > 0; mask /= 2)
      sum += shuffleXor(sum, mask);
    for (long long j = lane; j < columns; j += 32)
      storeGlobal(y + row * columns + j, moe::exp(toFloat(loadGlobal(from + j)) - largest) / sum);
  }
}

/// counts[e] = how often e stands in experts[0, n), and offsets[e] = the sum of the counts before; up to 64 experts.
/// Blocks count in shared memory and add to `counts` (zeroed); the last block to finish makes the offsets.
extern "C" __global__ void __launch_bounds__(128)
    countExperts(const int *experts, int n, int count, uint32_t *counts, uint32_t *offsets, uint32_t *finished) {
  const SharedAddress shared = dynamicShared(), last = shared + 64 * 4;
  const int thread = threadIndex();
  if (thread < 64)
    storeShared(shared + thread * 4, 0u);
  syncBlock();
  for (int i = blockIndex() * threadCount() + thread; i < n; i += blockCount() * threadCount())
    addShared(shared + loadGlobal(experts + i) * 4, 1u);
  syncBlock();
  if (thread < count)
    addGlobal(counts + thread, loadShared<uint32_t>(shared + thread * 4));
  syncBlock();
  if (thread == 0)
    storeShared(last, addAcquireRelease(finished, 1u) + 1 == uint32_t(blockCount()) ? 1u : 0u);
  syncBlock();
  if (!loadShared<uint32_t>(last) || thread >= 32)
    return;
  uint32_t before = 0;
  for (int first = 0; first < count; first += 32) {
    const int e = first + thread;
    const uint32_t own = e < count ? loadGlobal(counts + e) : 0u;
    uint32_t sum = own;
    for (int distance = 1; distance < 32; distance *= 2) {
      const uint32_t below = shuffleUp(sum, distance);
      sum += thread >= distance ? below : 0u;
    }
    if (e < count)
      storeGlobal(offsets + e, before + sum - own);
    before += broadcast(sum, 31);
  }
}
