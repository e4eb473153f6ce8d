//===- CudaDevice.h - an NVIDIA GPU as the device of a session ----------------------------------------------------===//
#ifndef MOERT_LIB_CUDA_CUDADEVICE_H
#define MOERT_LIB_CUDA_CUDADEVICE_H

#include "core/DeviceWindows.h"
#include "cuda/Choose.h"

#include <algorithm>
#include <vector>

namespace moert {

class CudaDevice : public Device {
public:
  explicit CudaDevice(const CudaApi &api) : api(api) {}
  ~CudaDevice() override;

  /// Checks the GPU, makes the stream and loads the code of the program.
  Status open(const Selection &selection, const DeviceOptions &options);

  const char *name() const override { return facts.name.c_str(); }
  int64_t blocks() const override { return std::max(facts.multiprocessors / sharers, 1); }
  uint64_t bytes() const override { return reserved; }
  Status begin() override;
  Status reserve(DeviceBlock &block, uint64_t bytes, const char *what) override;
  Status upload(void *to, const void *from, uint64_t bytes) override;
  Status download(void *to, const void *from, uint64_t bytes) override;
  Status zero(void *to, uint64_t bytes) override;
  Status copy(void *to, const void *from, uint64_t bytes) override;
  Status launch(int32_t index, const void *slots, int64_t blocks, bool timed) override;
  Status finish() override;
  bool isBusy() const override { return isLate; }
  void setWatch(DeviceWatch *asked) override { watch = asked; }
  Status time(size_t number, LaunchTime &time) override;

  // Shared.cpp
  Status pageLocked(DeviceBlock &block, uint64_t bytes, void *&data) override;
  Status share(void *memory, uint64_t bytes, void *&there) override;
  void unshare(void *memory) override;
  Status mirror(void *to, const void *from, uint64_t bytes) override;
  Status offer(const DeviceBlock &block, DeviceHandle &handle) override;
  Status map(const DeviceHandle &handle, void *&base) override;
  Status unmap(void *base) override;

  // NcclWindows.cpp
  Status openNccl(std::string &version) override;
  std::unique_ptr<DeviceWindows> ncclWindows(Job &job) override;

private:
  /// Success, or the failure for an error of `what`. An error that loses the device is remembered.
  Status check(cudaError_t error, const char *what);
  static constexpr const char *kRunning = "running the kernels";
  Status checkKernel(const moert_cuda_kernel &kernel) const;
  Status loadImage(const moert_cuda_image &image);
  Status loadCode();
  Status encode(const moert_cuda_kernel &kernel, const char *name, int32_t number, const uint64_t *slots);
  Status copyByHost(void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind, const char *what);
  Status start(const cudaLaunchConfig_t &config, int32_t index);
  /// Records event `number`; events are made when they are first needed.
  Status record(size_t number);

  // Deadline.cpp
  /// Until all work is done, or the deadline has passed. `what` is for the error, unless it is a kernel's.
  Status wait(const char *what = kRunning);
  /// What to say when it has.
  Status missed();

  const CudaApi &api;
  const moert_program *program = nullptr;
  int32_t ordinal = 0;
  GpuFacts facts;
  Status lost; // after an error that CUDA does not recover from in this process

  cudaStream_t stream = nullptr;
  bool ownsStream = false;
  bool areRanks = false;
  int32_t sharers = 1; // ranks, each of which has its part of the multiprocessors
  std::vector<void *> allocations;
  std::vector<void *> mapped; // blocks of other processes
  std::vector<DeviceBlock> locked; // of the host
  uint64_t reserved = 0;

  std::vector<cudaLibrary_t> libraries; // by image
  std::vector<cudaKernel_t> functions;  // by image
  PFN_cuTensorMapEncodeTiled_v12000 encodeTiled = nullptr;
  // Of the launch that is being made; as large as the program's largest, so that a launch allocates nothing.
  std::vector<void *> arguments;
  std::vector<CUtensorMap> maps;

  // Of timed launches: the beginning of the call, then two for each. If names are wanted only: its end for each.
  std::vector<cudaEvent_t> events;
  struct Launched {
    int32_t kernel;
    size_t end; // number of its event
  };
  std::vector<Launched> launched; // of this call, those with events

  int64_t deadline = 0; // milliseconds
  bool namesLate = false;
  int64_t began = 0;   // the call, in nanoseconds
  bool isLate = false; // a call has missed its deadline, and nobody has seen the end of its work
  DeviceWatch *watch = nullptr;
};

/// openDevice with another table.
Status openCudaDevice(const CudaApi &api, const Selection &selection, const DeviceOptions &options,
                      std::unique_ptr<Device> &device);

} // namespace moert

#endif // MOERT_LIB_CUDA_CUDADEVICE_H
