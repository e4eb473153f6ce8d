//===- Allocate.cpp - operator new and delete over malloc ---------------------------------------------------------===//
//
// Linked into the relocatable objects only. Small objects of the runtime come from here; what a model's size decides
// (states, scratch memory, outputs) comes from Memory, which reports a refusal.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

static void *allocate(std::size_t size, std::size_t alignment) {
  return alignment > alignof(std::max_align_t) ? aligned_alloc(alignment, (size + alignment - 1) & -alignment)
                                               : malloc(size ? size : 1);
}

static void *require(void *p) {
  if (!p) {
    std::fputs("moert: out of memory\n", stderr);
    std::abort();
  }
  return p;
}

void *operator new(std::size_t size) { return require(allocate(size, 0)); }
void *operator new[](std::size_t size) { return require(allocate(size, 0)); }
void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return allocate(size, 0); }
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return allocate(size, 0); }
void *operator new(std::size_t size, std::align_val_t a) { return require(allocate(size, std::size_t(a))); }
void *operator new[](std::size_t size, std::align_val_t a) { return require(allocate(size, std::size_t(a))); }
void *operator new(std::size_t size, std::align_val_t a, const std::nothrow_t &) noexcept {
  return allocate(size, std::size_t(a));
}
void *operator new[](std::size_t size, std::align_val_t a, const std::nothrow_t &) noexcept {
  return allocate(size, std::size_t(a));
}
void operator delete(void *p) noexcept { free(p); }
void operator delete[](void *p) noexcept { free(p); }
void operator delete(void *p, std::size_t) noexcept { free(p); }
void operator delete[](void *p, std::size_t) noexcept { free(p); }
void operator delete(void *p, std::align_val_t) noexcept { free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { free(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { free(p); }
void operator delete[](void *p, std::size_t, std::align_val_t) noexcept { free(p); }
