/* Times a compiled linear kernel (see tile.py): the kernel alone, one thread, weights that stay or do not stay in
 * cache. Prints one line per number of rows: GFLOP/s, GB/s of weights, and the ratio to a loop that only reads the
 * weights. */
#include "moert/moert_model.h"

#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

void *moert_input(moert_context *ctx, int32_t index) { return NULL; }
int64_t moert_input_size(moert_context *ctx, int32_t index, int32_t dim) { return 0; }
void *moert_output(moert_context *ctx, int32_t index, int32_t rank, const int64_t *sizes) { return NULL; }
const void *moert_parameter(moert_context *ctx, int32_t index) { return NULL; }
int64_t moert_blocks(moert_context *ctx) { return 1; }
void moert_launch(moert_context *ctx, const moert_kernel *kernel, const void *args, int64_t blocks, int64_t rows,
                  int64_t work) {}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* not the time that others take */
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

__attribute__((target("avx2"))) static void readAll(const char *data, size_t bytes) {
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  for (size_t i = 0; i + 128 <= bytes; i += 128) {
    a = _mm256_add_epi32(a, _mm256_loadu_si256((const __m256i *)(data + i)));
    b = _mm256_add_epi32(b, _mm256_loadu_si256((const __m256i *)(data + i + 32)));
    c = _mm256_add_epi32(c, _mm256_loadu_si256((const __m256i *)(data + i + 64)));
    d = _mm256_add_epi32(d, _mm256_loadu_si256((const __m256i *)(data + i + 96)));
  }
  volatile int sink = _mm256_extract_epi32(_mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d)), 0);
  (void)sink;
}

static void *allocate(size_t bytes) {
  char *p = mmap(NULL, bytes + (4 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  p = (char *)(((uintptr_t)p + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
  madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  long k = atol(argv[1]), n = atol(argv[2]), element = atol(argv[3]), copies = atol(argv[4]);
  size_t weight = (size_t)((n + 63) / 64 * 64) * ((k + 1) / 2 * 2) * element;
  char *weights = allocate(weight * copies);
  /* bf16 1.0 = 0x3f80, so are f32 numbers of this pattern harmless */
  for (size_t i = 0; i < weight * copies / 2; ++i)
    ((unsigned short *)weights)[i] = 0x3f80 + (i & 7);
  moert_kernel_fn kernel = moert_model_programs.programs[0]->kernels[0].fn;
  printf("%6s %10s %10s %10s\n", "rows", "GFLOP/s", "GB/s", "read ratio");
  static const long rows[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 48, 96, 192, 384};
  for (unsigned r = 0; r < sizeof rows / sizeof *rows; ++r) {
    long m = rows[r];
    char *x = aligned_alloc(64, (m * k * element + 127) / 64 * 64);
    float *y = aligned_alloc(64, (m * n * 4 + 127) / 64 * 64);
    for (long i = 0; i < m * k * element / 2; ++i)
      ((unsigned short *)x)[i] = 0x3f80 + (i & 3);
    long calls = 1 + (long)(4e9 / (2.0 * m * n * k) / copies);
    double times[9], ratios[9];
    for (int round = 0; round < 9; ++round) {
      double t0 = now();
      readAll(weights, weight * copies);
      double t1 = now();
      for (long call = 0; call < calls; ++call)
        for (long copy = 0; copy < copies; ++copy) {
          const void *slots[] = {x, (void *)m, weights + copy * weight, y, (void *)m};
          kernel(slots, 0, 1);
        }
      double t2 = now();
      readAll(weights, weight * copies);
      double t3 = now();
      times[round] = (t2 - t1) / calls / copies;
      ratios[round] = ((t1 - t0) + (t3 - t2)) / 2 / copies / times[round];
    }
    qsort(times, 9, sizeof *times, compare);
    qsort(ratios, 9, sizeof *ratios, compare);
    printf("%6ld %10.1f %10.1f %10.2f\n", m, 2e-9 * m * n * k / times[4], 1e-9 * weight / times[4], ratios[4]);
    free(x);
    free(y);
  }
}
