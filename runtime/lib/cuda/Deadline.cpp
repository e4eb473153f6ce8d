//===- Deadline.cpp - waits that end
//-------------------------------------------------------------------------------===//
//
// CUDA's own waits have no end if a kernel has none, and there is no way to stop a kernel but to end the process. So
// the runtime asks again and again, until the work is done or the deadline has passed. The context stays usable then:
// the GPU may finish the work later.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "cuda/CudaDevice.h"

#include "core/Program.h"
#include "core/Trace.h"
#include "cuda/Errors.h"

#include <ctime>

namespace moert {

// A short call is waited for as closely as cudaStreamSynchronize does; of a long one, 50 us do not matter.
constexpr int64_t kClosely = 2000000, kPause = 50000;

/// "250 ms", "5 s".
static std::string durationText(int64_t milliseconds) {
  const bool whole = milliseconds % 1000 == 0;
  return format("%lld %s", static_cast<long long>(whole ? milliseconds / 1000 : milliseconds), whole ? "s" : "ms");
}

Status CudaDevice::wait(const char *what) {
  for (int64_t first = now();;) {
    const cudaError_t error = api.streamQuery(stream);
    if (error != cudaErrorNotReady)
      return check(error, losesDevice(error) ? kRunning : what);
    (void)api.getLastError(); // "not ready" counts as an error there
    const int64_t time = now();
    const bool isOver = isLate || time - began > deadline * 1000000;
    if (watch && (isOver || time - first > kClosely))
      watch->watch(isOver);
    if (isOver)
      return missed();
    if (time - first > kClosely) {
      const timespec pause = {0, kPause};
      nanosleep(&pause, nullptr);
    }
  }
}

Status CudaDevice::missed() {
  const std::string limit = durationText(deadline);
  if (isLate)
    return failure(kUserError, "%s: the run that missed its deadline of %s has still not ended", name(), limit.c_str());
  isLate = true;
  const char *entry = program->entry;
  for (const Launched &launch : launched) {
    const cudaError_t error = api.eventQuery(events[launch.end]);
    if (error == cudaErrorNotReady) {
      (void)api.getLastError();
      return failure(kUserError, "%s: missed deadline: kernel '%s' of entry '%s' has not ended after %s", name(),
                     program->kernels[launch.kernel].name, entry, limit.c_str());
    }
    if (Status s = check(error, kRunning); s.failed())
      return s;
  }
  return failure(kUserError, "%s: missed deadline: entry '%s' has not ended after %s%s", name(), entry, limit.c_str(),
                 namesLate ? "" : " (with a deadline of its own, --deadline, a run names the kernel)");
}

} // namespace moert
