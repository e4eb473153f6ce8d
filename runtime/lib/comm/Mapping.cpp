//===- Mapping.cpp - memory that ranks share, once in a process ---------------------------------------------------===//

#include "comm/Mapping.h"

#include <new>
#include <pthread.h>
#include <sys/mman.h>

namespace moert {

namespace {

struct Mapped {
  uint64_t file; // 0: none
  char *base;
  size_t bytes;
  int users;
  Mapped *next;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Mapped *mappings = nullptr;

} // namespace

static char *findOrMap(int fd, uint64_t file, size_t bytes) {
  for (Mapped *known = mappings; known; known = known->next)
    if (file && known->file == file && known->bytes == bytes) {
      ++known->users;
      return known->base;
    }
  Mapped *made = new (std::nothrow) Mapped{file, nullptr, bytes, 1, mappings};
  // As for a file, pages are taken now and not by a kernel.
  int flags = file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  void *base = made ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0) : MAP_FAILED;
  if (base == MAP_FAILED) {
    delete made;
    return nullptr;
  }
  made->base = static_cast<char *>(base);
  mappings = made;
  return made->base;
}

char *mapShared(int fd, uint64_t file, size_t bytes) {
  pthread_mutex_lock(&lock);
  char *base = findOrMap(fd, file, bytes);
  pthread_mutex_unlock(&lock);
  return base;
}

char *mapLocal(size_t bytes) { return mapShared(-1, 0, bytes); }

bool shareLocal(char *base) {
  bool isThere = false;
  pthread_mutex_lock(&lock);
  for (Mapped *known = mappings; known; known = known->next)
    if (known->base == base) {
      ++known->users;
      isThere = true;
    }
  pthread_mutex_unlock(&lock);
  return isThere;
}

void unmapShared(char *base) {
  pthread_mutex_lock(&lock);
  for (Mapped **link = &mappings; *link; link = &(*link)->next) {
    Mapped *known = *link;
    if (known->base != base)
      continue;
    if (--known->users == 0) {
      *link = known->next;
      munmap(known->base, known->bytes);
      delete known;
    }
    break;
  }
  pthread_mutex_unlock(&lock);
}

} // namespace moert
