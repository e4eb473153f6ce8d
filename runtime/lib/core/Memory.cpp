//===- Memory.cpp - zeroed blocks from the system -----------------------------------------------------------------===//

#include "core/Memory.h"

#include <cstdint>
#include <sys/mman.h>

namespace moert {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t(2) << 20;

static void *map(size_t bytes) {
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return base == MAP_FAILED ? nullptr : base;
}

bool Memory::reserve(size_t bytes) {
  if (base && bytes <= size)
    return true;
  if (bytes > PTRDIFF_MAX - 2 * kHugePage)
    return false;
  bool huge = bytes >= kHugePage;
  size_t unit = huge ? kHugePage : kPage;
  size_t rounded = bytes ? (bytes + unit - 1) / unit * unit : unit;
  release();
  if (!huge) {
    base = map(rounded);
  } else if (auto *raw = static_cast<char *>(map(rounded + kHugePage))) {
    // The system aligns to pages only: map one unit more and give back what lies outside.
    size_t head = (kHugePage - reinterpret_cast<uintptr_t>(raw) % kHugePage) % kHugePage;
    if (head)
      munmap(raw, head);
    if (size_t rest = kHugePage - head)
      munmap(raw + head + rounded, rest);
    base = raw + head;
    madvise(base, rounded, MADV_HUGEPAGE);
  }
  size = base ? rounded : 0;
  return base != nullptr;
}

void Memory::release() {
  if (base)
    munmap(base, size);
  base = nullptr;
  size = 0;
}

} // namespace moert
