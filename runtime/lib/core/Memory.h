//===- Memory.h - zeroed blocks from the system -------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_MEMORY_H
#define MOERT_LIB_CORE_MEMORY_H

#include <cstddef>

namespace moert {

/// A block of memory that only grows. Blocks of 2 MB and more are aligned to 2 MB and ask for huge pages, smaller ones
/// are aligned to a page.
class Memory {
public:
  Memory() = default;
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  Memory(Memory &&other) noexcept : base(other.base), size(other.size) { other.base = nullptr, other.size = 0; }
  ~Memory() { release(); }

  /// Makes room for at least `bytes` bytes; data() is not null afterwards, even for 0 bytes. If the block has to grow,
  /// it moves, and all of it is zero. Returns false if the system refuses.
  bool reserve(size_t bytes);

  void release();

  void *data() const { return base; }
  size_t capacity() const { return size; }

private:
  void *base = nullptr;
  size_t size = 0;
};

} // namespace moert

#endif // MOERT_LIB_CORE_MEMORY_H
