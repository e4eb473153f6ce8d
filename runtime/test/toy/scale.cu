// y[r] = x[r] * w for rows of 8 numbers: a block brings 8 rows by TMA, and each of its threads multiplies one number.
#include "device.cuh"
using namespace moe;

extern "C" __global__ void __launch_bounds__(64)
    scale(const float *, const float *w, float *y, long long rows, const __grid_constant__ CUtensorMap x) {
  const int thread = threadIndex(), columns = 8, bytes = 8 * columns * 4;
  const SharedAddress shared = dynamicShared(), barrier = shared + bytes;
  if (thread == 0) {
    initBarrier(barrier, 1);
    fenceBarrierInit();
  }
  syncBlock();
  const float factor = loadGlobal(w + thread % columns);
  uint32_t parity = 0;
  for (int row = blockIndex() * 8; row < rows; row += blockCount() * 8, parity ^= 1) {
    if (thread == 0) {
      arriveExpect(barrier, bytes);
      loadTile2d(shared, &x, barrier, 0, row);
    }
    wait(barrier, parity);
    const float product = loadShared<float>(shared + thread * 4) * factor;
    if (row + thread / columns < rows)
      storeGlobal(y + (long long)row * columns + thread, product);
    fenceProxyAsync();
    syncBlock(); // the next rows may come
  }
}
