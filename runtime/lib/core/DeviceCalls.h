//===- DeviceCalls.h - what a call on a device leaves for its end -------------------------------------------------===//
#ifndef MOERT_LIB_CORE_DEVICECALLS_H
#define MOERT_LIB_CORE_DEVICECALLS_H

#include "core/ExpertLoad.h"
#include "core/Inputs.h"
#include "core/Trace.h"

namespace moert {

/// Launches on a device end later than they are asked for. What somebody wants to know of them, and the outputs, are
/// fetched when all of them have ended.
class DeviceCalls {
public:
  /// A launch as a trace has it.
  struct Launch {
    const char *name, *phase;
    int64_t blocks, rows, work;
  };

  /// Copies the inputs to the device, or only makes room for them.
  static Status bring(Device &device, const moert_program &program, std::vector<Tensor> &inputs, bool copies);

  /// Launches a kernel; with a trace, its times are asked for later.
  Status launch(Device &device, const moert_program &program, const moert_kernel *kernel, const void *args,
                const Launch &what, bool traced);

  /// Waits for all launches so far, and copies a value of the device.
  static Status read(Device &device, void *to, const void *from, uint64_t bytes);

  /// Copies the offsets of a layer, which are the device's.
  Status expertLoad(Device &device, const char *layer, const int32_t *offsets, int32_t experts);

  /// Copies the outputs back, or only makes room for them, and waits.
  static Status fetch(Device &device, const moert_program &program, std::vector<Tensor> &outputs, bool copies);

  /// After all has ended: adds the launches to the trace and the rows to the load.
  Status resolve(Device &device, int64_t callBegin, Trace *trace, ExpertLoad *load);

  /// Forgets a call that failed.
  void clear();

private:
  struct Load {
    const char *layer;
    std::vector<int32_t> offsets;
  };
  std::vector<Launch> launches;
  std::vector<Load> loads; // reused from call to call
  size_t loadCount = 0;
};

} // namespace moert

#endif // MOERT_LIB_CORE_DEVICECALLS_H
