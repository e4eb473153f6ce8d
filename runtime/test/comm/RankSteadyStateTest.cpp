//===- RankSteadyStateTest.cpp - repeated runs of ranks allocate nothing ------------------------------------------===//
//
// Counts what goes through operator new and mmap while two threads repeat runs of the toy program together, with the
// variants of an entry in turn.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Job.h"
#include "RankSession.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>

static std::atomic<long> allocations{0};

void *operator new(std::size_t size) {
  allocations.fetch_add(1);
  return std::malloc(size);
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
  allocations.fetch_add(1);
  return std::malloc(size);
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }

// Sanitizers bring their own mmap.
#ifndef MOERT_SANITIZED
extern "C" void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  allocations.fetch_add(1);
  return reinterpret_cast<void *>(syscall(SYS_mmap, address, size, protection, flags, fd, offset));
}
#endif

int main() {
  using namespace moert::test;
  int port = freePort();
  // Some runs leave the first rank without a token, and parts begin where copies are needed.
  const RowsCall calls[] = {RowsCall(64, 2), RowsCall(63, 2), RowsCall(1, 2), RowsCall(17, 2)};
  long before = 0, after = 0;
  std::atomic<int> failures{0};
  auto work = [&](int rank) {
    RankSession session;
    int32_t code = session.open("ways", rank, 2, port, 60000, TOY_ROWS_WEIGHTS);
    for (int i = 0; i < 400 && !code; ++i) {
      if (rank == 0 && i == 8)
        before = allocations.load();
      // Once the largest call has been, it does not matter which variant has run it.
      code = moert_session_set_variant(session.session, i < 8 ? 0 : i / 4 % 2);
      code = code ? code : session.run(calls[i % 4]);
    }
    if (rank == 0)
      after = allocations.load();
    if (code)
      std::fprintf(stderr, "%s\n", session.error().c_str());
    failures += code != 0;
  };
  std::thread other(work, 1);
  work(0);
  // The other one may be freeing by now, which is not counted.
  other.join();
  if (!before || after != before)
    std::fprintf(stderr, "%ld allocations before, %ld in 392 runs\n", before, after - before);
  return failures || !before || after != before;
}
