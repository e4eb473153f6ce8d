//===- OneRank.cpp - NCCL on a GPU, as far as one rank can tell ---------------------------------------------------===//
//
// The real library and a real GPU, for scripts/gpu-check: a communicator of one rank that never blocks, windows that
// are registered, found and given back, sums of mirrors, and such a sum in a CUDA graph. Prints a line for each.
// Exit code 0: all did what they should; 3: something did not; 1: there is no GPU or no NCCL.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "cuda/CudaDevice.h"
#include "cuda/NcclWindows.h"

#include <cstdio>
#include <cstring>
#include <numeric>

using namespace moert;

namespace {

class Alone final : public Group {
public:
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  Status gather(const void *mine, void *all, size_t bytes) override {
    std::memcpy(all, mine, bytes);
    return {};
  }
};

constexpr size_t kBytes = size_t(1) << 20;
int failures = 0;

void report(const char *what, const Status &status) {
  std::printf("%s: %s\n", what, status.failed() ? status.message.c_str() : "ok");
  failures += status.failed();
}

/// Words that differ from those of another `seed` everywhere.
std::vector<uint64_t> words(size_t bytes, uint64_t seed) {
  std::vector<uint64_t> values(bytes / sizeof(uint64_t));
  std::iota(values.begin(), values.end(), (seed << 32) + 1);
  return values;
}

Status put(Device &device, char *there, const std::vector<uint64_t> &values) {
  if (Status s = device.upload(there, values.data(), values.size() * sizeof(uint64_t)); s.failed())
    return s;
  return device.finish();
}

Status expect(Device &device, const char *there, const std::vector<uint64_t> &expected) {
  std::vector<uint64_t> values(expected.size());
  if (Status s = device.download(values.data(), there, values.size() * sizeof(uint64_t)); s.failed())
    return s;
  if (Status s = device.finish(); s.failed())
    return s;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != expected[i])
      return failure(kUserError, "word %zu is %llx, not %llx", i, static_cast<unsigned long long>(values[i]),
                     static_cast<unsigned long long>(expected[i]));
  return {};
}

/// Windows that are zero, keep what is stored to them, and are zero again when they have grown.
Status tryWindows(Device &device, NcclWindows &windows, Group &alone) {
  for (size_t bytes : {kBytes, 4 * kBytes}) {
    if (Status s = windows.open(alone, bytes); s.failed())
      return s;
    if (windows.bytes() != bytes || !windows.bases()[0])
      return failure(kUserError, "windows of %llu bytes", static_cast<unsigned long long>(windows.bytes()));
    if (Status s = expect(device, windows.bases()[0], std::vector<uint64_t>(bytes / sizeof(uint64_t))); s.failed())
      return s;
    if (Status s = put(device, windows.bases()[0], words(bytes, bytes)); s.failed())
      return s;
    if (Status s = expect(device, windows.bases()[0], words(bytes, bytes)); s.failed())
      return s;
  }
  return windows.check();
}

/// The sum of one rank's mirror is what it was.
Status trySum(Device &device, NcclWindows &windows, Group &alone) {
  if (Status s = windows.open(alone, kBytes); s.failed())
    return s;
  if (!windows.areMirrors())
    return failure(kUserError, "no mirrors");
  if (Status s = put(device, windows.bases()[0], words(kBytes, 5)); s.failed())
    return s;
  if (Status s = windows.deliver({{0, kBytes / 2}, {kBytes / 2, kBytes}}); s.failed())
    return s;
  if (Status s = expect(device, windows.bases()[0], words(kBytes, 5)); s.failed())
    return s;
  return windows.check();
}

Status cuda(cudaError_t error, const char *what) {
  return error == cudaSuccess ? Status() : failure(kUserError, "%s: %s", what, cudaGetErrorString(error));
}

/// A sum that is captured once and replayed.
Status tryGraph(Device &device, NcclWindows &windows, cudaStream_t stream) {
  if (Status s = cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture"); s.failed())
    return s;
  Status captured = windows.deliver({{0, kBytes}});
  cudaGraph_t graph = nullptr;
  Status ended = cuda(cudaStreamEndCapture(stream, &graph), "ending a capture");
  if (captured.failed() || ended.failed())
    return captured.failed() ? captured : ended;
  cudaGraphExec_t executable = nullptr;
  if (Status s = cuda(cudaGraphInstantiate(&executable, graph, 0), "instantiating a graph"); s.failed())
    return s;
  for (uint64_t replay = 1; replay <= 20; ++replay) {
    if (Status s = put(device, windows.bases()[0], words(kBytes, replay)); s.failed())
      return s;
    if (Status s = cuda(cudaGraphLaunch(executable, stream), "launching a graph"); s.failed())
      return s;
    if (Status s = expect(device, windows.bases()[0], words(kBytes, replay)); s.failed())
      return s;
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  return windows.check();
}

int stop(const Status &status) {
  std::printf("error: %s\n", status.message.c_str());
  return 1;
}

} // namespace

int main() {
  const NcclApi *api = nullptr;
  if (Status s = openNccl(api); s.failed())
    return stop(s);
  std::printf("NCCL %s\n", ncclVersionText(api->version).c_str());

  const moert_axis axis = {"ep", 1, 1};
  const moert_cuda_code code = {"sm_90a", 0, nullptr, nullptr, ""};
  moert_program program = {};
  program.device = MOERT_CUDA;
  program.name = program.entry = program.build_id = "one rank";
  program.axis_count = program.variant_axes = 1;
  program.axes = &axis;
  program.cuda = &code;
  Selection selection;
  selection.program = &program;
  if (Status s = cuda(cudaSetDevice(0), "choosing a GPU"); s.failed())
    return stop(s);
  cudaStream_t stream = nullptr;
  if (Status s = cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream"); s.failed())
    return stop(s);
  DeviceOptions options;
  options.stream = stream;
  options.deadline = 20000;
  std::unique_ptr<Device> device;
  if (Status s = openCudaDevice(cudaApi(), selection, options, device); s.failed())
    return stop(s);
  Ranks one;
  one.isLocal = true;
  Job job;
  if (Status s = job.join({&program}, one, 20000000000); s.failed())
    return stop(s);
  if (Status s = job.start({}, 0); s.failed())
    return stop(s);
  if (Status s = device->begin(); s.failed())
    return stop(s);

  Alone alone;
  if (api->hasWindows()) {
    NcclWindows windows(*device, job, *api, stream);
    report("windows", tryWindows(*device, windows, alone));
  } else {
    std::printf("windows: this version has none that the runtime can use\n");
  }
  NcclApi older = *api;
  older.version = kNcclLeast;
  NcclWindows mirrors(*device, job, older, stream);
  report("sums of mirrors", trySum(*device, mirrors, alone));
  report("a sum in a graph, replayed", tryGraph(*device, mirrors, stream));
  return failures ? 3 : 0;
}
