// Timed calls of both sides of an exchange of rows, so that no interpreter stands between them. Libraries are not
// linked: the caller gives their functions.
//
// A call of MPI packs the rows by rank, tells the counts (unless they are known) and exchanges the rows. Behind each
// call a byte of each cache line that came from the other rank is read, and timed by itself: who stores into another
// process's memory leaves the lines in the sender's cache, and the receiver pays when it reads them.

#include <cstdint>
#include <cstring>
#include <ctime>

namespace {

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

/// What came from another rank, and how long it took to read in each call.
struct Came {
  const char *data;
  int64_t bytes;
  int64_t *nanoseconds;
};

void read(const Came &came, int32_t call) {
  constexpr int64_t line = 64;
  int64_t begin = now();
  unsigned sum = 0;
  for (int64_t at = 0; at < came.bytes; at += line)
    sum += static_cast<unsigned char>(came.data[at]);
  asm volatile("" : : "r"(sum) : "memory");
  came.nanoseconds[call] = now() - begin;
}

} // namespace

extern "C" {

void exchange_read(const Came *came, int32_t call) { read(*came, call); }

/// moert_session_set_input, moert_session_run.
using SetInput = int32_t (*)(void *, int32_t, int32_t, int32_t, const int64_t *, const void *);
using Run = int32_t (*)(void *);

struct Input {
  int32_t index, dtype, rank, unused;
  int64_t sizes[2];
  const void *data;
};

/// Runs a session so many times; 0, or the code of its failure.
int32_t exchange_session(SetInput setInput, Run run, void *session, const Input *inputs, int32_t count, int32_t calls,
                         int64_t *nanoseconds, const Came *came) {
  for (int32_t i = 0; i < calls; ++i) {
    int64_t begin = now();
    for (int32_t k = 0; k < count; ++k)
      if (int32_t bad = setInput(session, inputs[k].index, inputs[k].dtype, inputs[k].rank, inputs[k].sizes,
                                 inputs[k].data))
        return bad;
    if (int32_t bad = run(session))
      return bad;
    nanoseconds[i] = now() - begin;
    read(*came, i);
  }
  return 0;
}

/// Rows of `source` in the order of `order`, one after the other.
void exchange_pack(char *to, const char *source, const int32_t *order, int64_t rows, int64_t rowBytes) {
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(to + i * rowBytes, source + order[i] * rowBytes, static_cast<size_t>(rowBytes));
}

/// MPI_Alltoall, MPI_Alltoallv; types and communicators of Open MPI are pointers.
using Alltoall = int (*)(const void *, int, void *, void *, int, void *, void *);
using Alltoallv = int (*)(const void *, const int *, const int *, void *, void *, const int *, const int *, void *,
                          void *);

struct Mpi {
  Alltoall alltoall;
  Alltoallv alltoallv;
  void *bytes, *ints, *world;
  int32_t ranks, countsAreKnown;
};

struct Rows {
  char *packed, *received;
  const char *source;
  const int32_t *order;
  int64_t rows, rowBytes;
  const int32_t *counts;       ///< rows to each rank
  const int32_t *countsToCome; ///< from each rank, where they are known
};

int32_t exchange_mpi(const Mpi *mpi, const Rows *rows, int32_t calls, int64_t *nanoseconds, const Came *came) {
  constexpr int most = 64;
  int told[most], sizes[most], places[most], sizesThere[most], placesThere[most];
  for (int32_t i = 0; i < calls; ++i) {
    int64_t begin = now();
    exchange_pack(rows->packed, rows->source, rows->order, rows->rows, rows->rowBytes);
    const int *come = rows->countsToCome;
    if (!mpi->countsAreKnown) {
      if (int bad = mpi->alltoall(rows->counts, 1, mpi->ints, told, 1, mpi->ints, mpi->world))
        return bad;
      come = told;
    }
    int at = 0, atThere = 0;
    for (int32_t peer = 0; peer < mpi->ranks; ++peer) {
      sizes[peer] = static_cast<int>(rows->counts[peer] * rows->rowBytes);
      sizesThere[peer] = static_cast<int>(come[peer] * rows->rowBytes);
      places[peer] = at;
      placesThere[peer] = atThere;
      at += sizes[peer];
      atThere += sizesThere[peer];
    }
    if (int bad = mpi->alltoallv(rows->packed, sizes, places, mpi->bytes, rows->received, sizesThere, placesThere,
                                 mpi->bytes, mpi->world))
      return bad;
    nanoseconds[i] = now() - begin;
    read(*came, i);
  }
  return 0;
}

} // extern "C"
