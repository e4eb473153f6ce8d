//===- FuzzTarget.cpp - what fuzz targets have in common ----------------------------------------------------------===//

#include "FuzzTarget.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace moe_mlir;

/// The LLVM that is linked does not annotate its containers.
extern "C" const char *__asan_default_options() {
  return "detect_container_overflow=0:detect_odr_violation=0:allow_user_poisoning=0";
}

void moe_mlir::check(bool condition, const char *what) {
  if (condition)
    return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

MemoryFile::MemoryFile(llvm::StringRef bytes) : descriptor(memfd_create("fuzz", 0)) {
  check(descriptor >= 0 && write(descriptor, bytes.data(), bytes.size()) == ssize_t(bytes.size()), "a file in memory");
}

MemoryFile::~MemoryFile() { close(descriptor); }
