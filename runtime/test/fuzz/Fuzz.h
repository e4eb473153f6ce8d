//===- Fuzz.h - what the fuzz targets share -----------------------------------------------------------------------===//
#ifndef MOERT_TEST_FUZZ_FUZZ_H
#define MOERT_TEST_FUZZ_FUZZ_H

#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

/// A file in memory, for readers that take a path.
class MemoryFile {
public:
  MemoryFile(const void *data, size_t size) : fd(memfd_create("fuzz", 0)) {
    for (const char *p = static_cast<const char *>(data); size;) {
      ssize_t n = write(fd, p, size);
      if (n <= 0)
        abort();
      p += n;
      size -= static_cast<size_t>(n);
    }
    name = "/proc/self/fd/" + std::to_string(fd);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile() { close(fd); }
  const std::string &path() const { return name; }
  /// The file itself, to be read from its beginning.
  int rewound() const {
    lseek(fd, 0, SEEK_SET);
    return fd;
  }

private:
  int fd;
  std::string name;
};

/// A property that must hold for every input.
#define FUZZ_CHECK(condition)                                                                                          \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      std::fprintf(stderr, "%s:%d: violated: %s\n", __FILE__, __LINE__, #condition);                                   \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

/// Reads every byte, so that the sanitizer sees a range that lies outside.
inline unsigned readAllBytes(const void *data, size_t size) {
  unsigned sum = 0;
  for (size_t i = 0; i < size; ++i)
    sum += static_cast<const volatile unsigned char *>(data)[i];
  return sum;
}

#endif // MOERT_TEST_FUZZ_FUZZ_H
