//===- SteadyStateTest.cpp - repeated calls allocate nothing ------------------------------------------------------===//
//
// Counts what goes through operator new and mmap while a session repeats a call on the toy layer. Argument: the
// archive.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moert/session.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static std::atomic<long> allocations{0};

void *operator new(std::size_t size) {
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

int main(int argc, char **argv) {
  if (argc != 2)
    return 1;
  moert_session_options options = {};
  options.weights = argv[1];
  options.threads = 3;
  moert_session *session = nullptr;
  int32_t code = moert_session_open(moert_session_programs(), &options, &session);
  alignas(64) uint16_t x[64 * 8] = {};
  float scale[65] = {};
  long before = 0;
  for (int call = 0; call < 1000 && !code; ++call) {
    if (call == 2)
      before = allocations.load();
    // One input lies where the caller put it, the other one is copied; the number of rows changes.
    int64_t sizes[2] = {call < 2 ? 64 : call % 64, 8};
    code = moert_session_set_input(session, 0, MOERT_BF16, 2, sizes, x);
    if (!code)
      code = moert_session_set_input(session, 1, MOERT_F32, 1, sizes, scale + 1);
    if (!code)
      code = moert_session_run(session);
    if (call % 100 == 0)
      moert_session_reset(session);
  }
  long made = allocations.load() - before;
  if (code)
    std::fprintf(stderr, "%s\n", moert_session_error(session));
  else if (!before)
    std::fprintf(stderr, "opening a session was not counted\n");
  else if (made)
    std::fprintf(stderr, "%ld allocations in 998 calls\n", made);
  moert_session_close(session);
  return code || made || !before;
}
