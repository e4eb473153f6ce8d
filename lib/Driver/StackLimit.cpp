//===- StackLimit.cpp - enough stack for the compiler, whatever the shell says ------------------------------------===//

#include "moe-mlir/Driver/Driver.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <pthread.h>
#include <sys/resource.h>

using namespace llvm;

/// What LLVM's recursions are used to: Linux gives a process as much.
static constexpr rlim_t kUsualBytes = rlim_t(8) << 20;
/// With an eighth of it everything that we have compiled compiles; a small program takes 128 KiB.
static constexpr rlim_t kLeastBytes = rlim_t(1) << 20;

bool moe_mlir::takeStack() {
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0)
    return true;
  // The main thread's stack grows up to the limit of the moment. RLIM_INFINITY is the largest number.
  if (limit.rlim_cur < kUsualBytes && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = std::min(kUsualBytes, limit.rlim_max);
    (void)setrlimit(RLIMIT_STACK, &limit);
  }
  if (limit.rlim_cur < kLeastBytes) {
    errs() << "moe-compile: error: the stack is limited to " << limit.rlim_cur / 1024 << " KiB, which is too little: allow "
           << kLeastBytes / 1024 << " KiB or more (ulimit -s)\n";
    return false;
  }
  // Those of threads have the size that the limit had when the process started.
  pthread_attr_t attributes;
  size_t size = 0;
  if (pthread_getattr_default_np(&attributes) != 0)
    return true;
  if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < limit.rlim_cur && size < kUsualBytes &&
      pthread_attr_setstacksize(&attributes, std::min(kUsualBytes, limit.rlim_cur)) == 0)
    (void)pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  return true;
}
