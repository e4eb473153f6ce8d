//===- Device.h - what a session needs of a device with memory of its own -----------------------------------------===//
//
// The CPU is not one of these: its launches are calls of the thread pool, and its values lie where the caller put them.
// A session without a Device runs on the CPU, so that a launch there costs no more than a test of a pointer.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_DEVICE_H
#define MOERT_LIB_CORE_DEVICE_H

#include "core/Select.h"

#include <memory>

namespace moert {

class DeviceWindows;
class Job;

/// Memory of the device. It belongs to the device, which frees it when it goes.
struct DeviceBlock {
  void *base = nullptr;
  uint64_t size = 0;
};

/// By which another process finds a block.
struct DeviceHandle {
  char bytes[64];
};

/// Where a launch stands in time, in nanoseconds since the call began.
struct LaunchTime {
  int64_t begin, end;
};

/// Who is asked now and then while the device is waited for, and may end what it waits for.
class DeviceWatch {
public:
  /// `isLate`: the deadline has passed.
  virtual void watch(bool isLate) = 0;

protected:
  ~DeviceWatch() = default;
};

/// All work is done in the order in which it was asked for. Copies may wait for what was asked for before, and finish
/// does; no wait is longer than the deadline.
class Device {
public:
  virtual ~Device() = default;

  /// "cuda:0 (NVIDIA H200)".
  virtual const char *name() const = 0;
  /// Blocks of a launch: one per multiprocessor.
  virtual int64_t blocks() const = 0;
  /// Bytes of all blocks that were reserved.
  virtual uint64_t bytes() const = 0;

  /// To be called first in each call, from the thread that makes the others. Fails if the device is lost, or still
  /// works for a call that missed its deadline.
  virtual Status begin() = 0;
  /// Makes a block at least `bytes` large; if it has to grow, it moves and its content is lost. `what` is for the
  /// error.
  virtual Status reserve(DeviceBlock &block, uint64_t bytes, const char *what) = 0;
  /// Copies; the host's memory has to stay until the device has done it (see finish).
  virtual Status upload(void *to, const void *from, uint64_t bytes) = 0;
  virtual Status download(void *to, const void *from, uint64_t bytes) = 0;
  /// Memory of the host, at least `bytes` large, where copies from the device arrive without a stop on the way; if it has
  /// to grow, it moves and its content is lost. It belongs to the device. `data` is null if there is none, or so few bytes
  /// do not need it.
  virtual Status pageLocked(DeviceBlock &block, uint64_t bytes, void *&data) = 0;
  virtual Status zero(void *to, uint64_t bytes) = 0;
  /// Copies within the device's memory.
  virtual Status copy(void *to, const void *from, uint64_t bytes) = 0;
  /// Starts kernel `index` of the program; `slots` are read now. With `timed`, its times can be asked for after
  /// finish(): they are numbered as the timed launches of the call are.
  virtual Status launch(int32_t index, const void *slots, int64_t blocks, bool timed) = 0;
  /// Waits until all work is done, at most until the deadline. An error of a launch is found here at the latest.
  virtual Status finish() = 0;
  /// Whether a call has missed its deadline, and may still be at work.
  virtual bool isBusy() const = 0;
  /// Null: nobody.
  virtual void setWatch(DeviceWatch *watch) = 0;
  /// The times of timed launch `number` since begin().
  virtual Status time(size_t number, LaunchTime &time) = 0;

  /// Lets kernels read memory of the host, which begins at a page, at `there`.
  virtual Status share(void *memory, uint64_t bytes, void *&there) = 0;
  virtual void unshare(void *memory) = 0;
  /// Copies into shared memory, in order with all else, and does not wait.
  virtual Status mirror(void *to, const void *from, uint64_t bytes) = 0;
  /// What another process needs to find a block, which is then mapped there, and may be written.
  virtual Status offer(const DeviceBlock &block, DeviceHandle &handle) = 0;
  virtual Status map(const DeviceHandle &handle, void *&base) = 0;
  /// Gives up what map() gave; nothing uses it any more.
  virtual Status unmap(void *base) = 0;
  /// Finds NCCL, for the ranks of a job; and windows that it gives, of one axis.
  virtual Status openNccl(std::string &version) = 0;
  virtual std::unique_ptr<DeviceWindows> ncclWindows(Job &job) = 0;
};

struct DeviceOptions {
  void *stream = nullptr;    // the caller's stream; null: one of the device's own
  int64_t deadline = 600000; // milliseconds from the beginning of a call in which its work has to end
  bool namesLate = false;    // who misses the deadline is told by the name of the kernel, which takes events
  // Of a program of several ranks, whose launches wait for each other: the rank, and how many of them share the GPU.
  // Without a number of its own each of those that do not has the next GPU.
  int rank = -1, sharers = 1;
};

/// Opens the GPU of a selection for its program. What is linked into a file decides whether there can be one.
Status openDevice(const Selection &selection, const DeviceOptions &options, std::unique_ptr<Device> &device);

} // namespace moert

#endif // MOERT_LIB_CORE_DEVICE_H
