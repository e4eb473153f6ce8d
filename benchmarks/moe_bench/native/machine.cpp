// machine.cpp - what this machine can do right now: read bandwidth and peak arithmetic of a few pinned threads.
//
// Compiled for the machine at hand when a benchmark starts. Each call starts its threads, lets them begin together and
// stops them after `seconds`; the threads are gone when it returns.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>
#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kAccumulators = 24;
#else
constexpr int kVectorBytes = 32, kAccumulators = 12;
#endif
constexpr size_t kBytesAhead = 1024; // 512 to 3072 are within 5 % on a Xeon, 4096 is useless
typedef float Floats __attribute__((vector_size(kVectorBytes)));
typedef uint64_t Words __attribute__((vector_size(kVectorBytes)));

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Runs body(thread) on each core until it returns, all starting together; body returns its work. Gives work per
/// second.
template <typename Body> double rate(const int32_t *cores, int32_t threads, Body body) {
  std::atomic<int> ready{0};
  std::vector<double> rates(static_cast<size_t>(threads));
  auto run = [&](int t) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cores[t], &set);
    sched_setaffinity(0, sizeof set, &set);
    ++ready;
    while (ready.load() < threads)
      sched_yield();
    auto begin = Clock::now();
    double work = body(t, begin);
    rates[static_cast<size_t>(t)] = work / since(begin);
  };
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back(run, t);
  for (auto &w : workers)
    w.join();
  double sum = 0;
  for (double r : rates)
    sum += r;
  return sum;
}

/// Keeps a value alive without storing it.
template <typename T> void keep(T &value) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(value));
#else
  asm volatile("" : "+x"(value));
#endif
}

template <typename Value, typename Step>
double flops(const Clock::time_point &begin, double seconds, Value one, Step step) {
  Value acc[kAccumulators];
  for (auto &a : acc)
    a = Value{};
  Value x = one, y = one;
  keep(x);
  keep(y);
  double steps = 0;
  do {
    for (int i = 0; i < 4096; ++i)
      for (auto &a : acc)
        a = step(a, x, y);
    steps += 4096.0 * kAccumulators;
  } while (since(begin) < seconds);
  for (auto &a : acc)
    keep(a);
  return steps;
}

#if defined(__AMX_BF16__)
/// Floating-point operations of products on matrix registers: 2 x 2 of them, which wait for nothing but each other.
double matrixFlops(const Clock::time_point &begin, double seconds) {
  struct alignas(64) {
    uint8_t palette = 1, start = 0, reserved[14] = {};
    uint16_t bytesPerRow[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } config;
  _tile_loadconfig(&config);
  double steps = 0;
  do {
    for (int i = 0; i < 4096; ++i) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    steps += 4096.0 * 4;
  } while (since(begin) < seconds);
  _tile_release();
  return steps * 2 * 16 * 16 * 32;
}

/// Whether the system lets this process use matrix registers.
bool allowsMatrixRegisters() {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}
#endif

/// At least `total` bytes in pages of their own (not the shared page of zeros), which live until more are wanted; null
/// if there is no memory.
const unsigned char *pages(size_t total) {
  static unsigned char *data = nullptr;
  static size_t size = 0;
  if (total <= size)
    return data;
  if (data)
    munmap(data, size);
  data = nullptr;
  size = 0;
  void *map = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED)
    return nullptr;
  madvise(map, total, MADV_HUGEPAGE);
  data = static_cast<unsigned char *>(map);
  size = total;
  for (size_t i = 0; i < total; i += 4096)
    data[i] = 1;
  return data;
}

/// Reads `share` bytes, a multiple of a page, again and again until `seconds` have passed. A step is four cache lines,
/// which are asked for `ahead` bytes before they are read; 0: never. Gives the bytes read.
template <size_t ahead>
double readAgain(const unsigned char *data, size_t share, const Clock::time_point &begin, double seconds) {
  constexpr size_t lineBytes = 64, stepBytes = 4 * lineBytes;
  Words sum[stepBytes / sizeof(Words)] = {};
  double passes = 0;
  do {
    for (size_t i = 0; i < share; i += stepBytes) {
      for (size_t j = 0; ahead && j < stepBytes; j += lineBytes)
        __builtin_prefetch(data + i + j + ahead, /*rw=*/0, /*locality=*/2);
      for (size_t j = 0; j < stepBytes / sizeof(Words); ++j)
        sum[j] += reinterpret_cast<const Words *>(data + i)[j];
    }
    passes += 1;
  } while (since(begin) < seconds);
  for (auto &s : sum)
    keep(s);
  return passes * static_cast<double>(share);
}

/// Bytes per second of threads that each read a share of `data`. Of two loops, each for half of the time, the faster
/// one counts: some processors read a stream best alone, others if each line is asked for a few ahead.
double fastestRead(const int32_t *cores, int32_t threads, const unsigned char *data, size_t share, double seconds) {
  auto begin = [&](int t) { return data + share * static_cast<size_t>(t); };
  double alone = rate(cores, threads, [&](int t, Clock::time_point start) {
    return readAgain<0>(begin(t), share, start, seconds / 2);
  });
  double ahead = rate(cores, threads, [&](int t, Clock::time_point start) {
    return readAgain<kBytesAhead>(begin(t), share, start, seconds / 2);
  });
  return std::max(alone, ahead);
}

} // namespace

extern "C" {

/// Bytes per second of reading `bytes` bytes over and over for at least `seconds`; each thread reads its own share. The
/// memory is kept for the next call. Negative if there is none.
double machine_read(const int32_t *cores, int32_t threads, int64_t bytes, double seconds) {
  size_t share = (static_cast<size_t>(bytes) / static_cast<size_t>(threads) + 4095) / 4096 * 4096;
  const unsigned char *data = pages(share * static_cast<size_t>(threads));
  if (!data)
    return -1;
  return fastestRead(cores, threads, data, share, seconds);
}

/// The same of a file in the page cache, whose bytes are in memory that somebody else chose. Negative if it cannot be
/// mapped.
double machine_read_file(const int32_t *cores, int32_t threads, const char *path, double seconds) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info{};
  bool isOpen = file >= 0 && fstat(file, &info) == 0;
  size_t size = isOpen ? static_cast<size_t>(info.st_size) : 0;
  size_t share = size / static_cast<size_t>(threads) / 4096 * 4096;
  void *map = share ? mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  if (file >= 0)
    close(file);
  if (map == MAP_FAILED)
    return -1;
  madvise(map, size, MADV_HUGEPAGE);
  auto data = static_cast<const unsigned char *>(map);
  volatile unsigned char byte = 0;
  for (size_t i = 0; i < size; i += 4096)
    byte = data[i];
  (void)byte;
  double result = fastestRead(cores, threads, data, share, seconds);
  munmap(map, size);
  return result;
}

/// Floating-point operations per second of fused multiply-adds in f32 registers.
double machine_peak_f32(const int32_t *cores, int32_t threads, double seconds) {
  return rate(cores, threads, [&](int, Clock::time_point begin) {
    Floats one = Floats{} + 1e-30f;
    auto step = [](Floats a, Floats x, Floats y) { return x * y + a; };
    return flops(begin, seconds, one, step) * 2 * (kVectorBytes / 4);
  });
}

/// The same for products of bf16 summed in f32; where the machine has no such instruction, f32 is its peak.
double machine_peak_bf16(const int32_t *cores, int32_t threads, double seconds) {
#if defined(__AMX_BF16__)
  if (allowsMatrixRegisters())
    return rate(cores, threads, [&](int, Clock::time_point begin) { return matrixFlops(begin, seconds); });
#endif
#if defined(__AVX512BF16__)
  return rate(cores, threads, [&](int, Clock::time_point begin) {
    auto step = [](__m512 a, __m512 x, __m512 y) { return _mm512_dpbf16_ps(a, (__m512bh)x, (__m512bh)y); };
    return flops(begin, seconds, _mm512_set1_ps(1e-30f), step) * 64;
  });
#else
  return machine_peak_f32(cores, threads, seconds);
#endif
}
}
