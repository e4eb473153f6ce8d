// Results of products on their way from registers to memory, as an epilogue stores them: pairs of neighbours of each
// row of a fragment.
#include "device.cuh"
using namespace moe;

/// 256 threads store tiles of 128 rows and `kColumns` columns of a matrix of `columns` columns: block after block,
/// columns first. Every element becomes `value`, in `times` four numbers per block: cycles at the start and at the end,
/// then nanoseconds.
template <typename T, int kColumns>
MOE_DEVICE void storeTiles(T *to, uint64_t *times, int64_t tiles, int64_t rounds, int64_t columns, T value) {
  const int64_t across = columns / kColumns;
  syncBlock();
  if (threadIndex() == 0) {
    storeGlobal(times + 4 * blockIndex(), cycleCount());
    storeGlobal(times + 4 * blockIndex() + 2, globalTime());
  }
  for (int64_t turn = blockIndex(); turn < rounds * tiles; turn += blockCount()) {
    const int64_t tile = turn % tiles;
    T *from = to + tile / across * 128 * columns + tile % across * kColumns;
#pragma unroll
    for (int i = 0; i < kColumns / 2; i += 2) {
      const int row = fragmentRow(threadIndex(), i) + threadIndex() / 128 * 64;
      storePair(from + row * columns + fragmentColumn(threadIndex(), i), value, value);
    }
  }
  syncBlock();
  if (threadIndex() == 0) {
    storeGlobal(times + 4 * blockIndex() + 1, cycleCount());
    storeGlobal(times + 4 * blockIndex() + 3, globalTime());
  }
}

/// Results of a second product.
extern "C" __global__ void __launch_bounds__(256, 1)
    storeF32(float *to, uint64_t *times, int64_t tiles, int64_t rounds, int64_t columns, int64_t value) {
  storeTiles<float, 256>(to, times, tiles, rounds, columns, float(value));
}

/// Results of a first product, of gate and up.
extern "C" __global__ void __launch_bounds__(256, 1)
    storeBf16(Bf16 *to, uint64_t *times, int64_t tiles, int64_t rounds, int64_t columns, int64_t value) {
  storeTiles<Bf16, 128>(to, times, tiles, rounds, columns, fromFloat<Bf16>(float(value)));
}
