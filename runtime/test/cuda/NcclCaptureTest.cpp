//===- NcclCaptureTest.cpp - runs of ranks with NCCL as CUDA graphs -----------------------------------------------===//
//
// Two ranks, processes with a fake GPU each, whose memory is shared and which refuses while it captures what a captured
// stream refuses. NCCL is the library of FakeNccl.cpp, opened as a session does it; its sums become nodes of the graph.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "../comm/Job.h"
#include "CudaProgram.h"
#include "FakeCuda.h"
#include "core/Clock.h"
#include "moert/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

using namespace moert;

namespace nccl_capture {

constexpr int kRanks = 2, kWidth = 4, kReplays = 50;
constexpr int64_t kRows = 8, kRowsAt = 64, kRowBytes = kWidth * sizeof(float);

const moert_kernel kKernels[] = {{"send", nullptr}, {"await", nullptr}};
const moert_value kInputs[] = {{"x", MOERT_F32, 2, {-1, kWidth}, 1, 0, -1, 0, 1, nullptr, 0}};
const moert_value kOutputs[] = {{"y", MOERT_F32, 2, {-1, kWidth}, 1, 0, -1, 0, 1, nullptr, 0}};
const char *const kSymbols[] = {"rows"};
const moert_axis kAxes[] = {{"ep", kRanks, 1}};
const moert_cuda_image kImages[] = {{"send", "cubin of send", 13, "", 0}, {"await", "cubin of await", 14, "", 0}};
const moert_cuda_kernel kLaunches[] = {{0, 128, 0, 1, 7, 0, nullptr}, {1, 128, 0, 1, 6, 0, nullptr}};
const moert_cuda_code kCode = {"sm_90a", 2, kImages, kLaunches, ""};

/// A window has a flag of each rank, and room for its rows twice: a rank may send again while another one still reads.
uint64_t placeOf(uint32_t epoch, int rank, uint64_t room) {
  return (epoch % 2 * kRanks + static_cast<uint64_t>(rank)) * room * kRowBytes;
}

/// y = the sum of all ranks' x.
int32_t run(moert_context *ctx) {
  int64_t rows = moert_input_size(ctx, 0, 0), sizes[2] = {rows, kWidth}, room = moert_agree(ctx, 0, rows);
  const moert_peers *peers = moert_windows(ctx, 0, kRowsAt + 2 * kRanks * room * kRowBytes);
  const auto there = reinterpret_cast<uintptr_t>(peers);
  const auto count = static_cast<uint64_t>(rows), most = static_cast<uint64_t>(room);
  uint64_t sent[] = {there, 0, there, kRowsAt, reinterpret_cast<uintptr_t>(moert_input(ctx, 0)), count, most};
  moert_phase(ctx, "rows to the ranks");
  moert_launch(ctx, &kKernels[0], sent, 1, rows, rows);
  moert_traffic(ctx, 0, nullptr, rows, kRowBytes, 4);
  uint64_t come[] = {there, 0, reinterpret_cast<uintptr_t>(moert_part(ctx, peers, kRowsAt)),
                     reinterpret_cast<uintptr_t>(moert_output(ctx, 0, 2, sizes)), count, most};
  moert_launch(ctx, &kKernels[1], come, 1, rows, rows);
  return 0;
}

uint32_t *flagsIn(char *window) { return reinterpret_cast<uint32_t *>(window); }

/// What the kernels do, with `slots` as above.
void execute(const std::string &kernel, const std::vector<uint64_t> &slots) {
  const auto &peers = *reinterpret_cast<const moert_peers *>(slots[0]);
  if (kernel == "send") {
    const uint32_t epoch = ++*peers.epoch;
    for (int peer = 0; peer < kRanks; ++peer) {
      std::memcpy(peers.base[peer] + slots[3] + placeOf(epoch, peers.rank, slots[6]),
                  reinterpret_cast<const void *>(slots[4]), slots[5] * kRowBytes);
      __atomic_store_n(flagsIn(peers.base[peer] + slots[1]) + peers.rank, epoch, __ATOMIC_RELEASE);
    }
    return;
  }
  auto *y = reinterpret_cast<float *>(slots[3]);
  std::fill_n(y, slots[4] * kWidth, 0.0f);
  for (int peer = 0; peer < kRanks; ++peer) {
    const uint32_t *flag = flagsIn(peers.base[peers.rank] + slots[1]) + peer; // it may be in the next exchange already
    for (const int64_t limit = now() + peers.patience; __atomic_load_n(flag, __ATOMIC_ACQUIRE) < *peers.epoch;)
      if (now() > limit) {
        *peers.status = static_cast<uint32_t>(peer) + 1;
        return;
      }
    const auto *rows = reinterpret_cast<const float *>(slots[2] + placeOf(*peers.epoch, peer, slots[5]));
    for (uint64_t i = 0; i < slots[4] * kWidth; ++i)
      y[i] += rows[i];
  }
}

/// The GPU of this process, for the functions below.
FakeCuda *gpu;

/// A rank's session with values of the GPU, on the stream of its caller.
class Rank {
public:
  explicit Rank(const Ranks &own) : own(own) {
    setenv("MOE_NCCL", FAKE_NCCL_LIBRARY, 1);
    gpu = &cuda;
    cuda.sharesMemory = true;
    cuda.slots = {{"send", 7}, {"await", 6}};
    cuda.execute = [this](const std::string &kernel, void **arguments) {
      std::vector<uint64_t> slots;
      for (int i = 0; i < cuda.slots[kernel]; ++i)
        slots.push_back(*static_cast<uint64_t *>(arguments[i]));
      execute(kernel, slots);
    };
    program.axis_count = 1;
    program.inputs = kInputs;
    program.outputs = kOutputs;
    program.symbols = kSymbols;
    program.kernels = kKernels;
    program.axes = kAxes;
    program.variant_axes = 1;
    program.cuda = &kCode;
    program.run = nccl_capture::run;
  }
  ~Rank() { moert_session_close(session); }

  std::string open() {
    const std::string root = "127.0.0.1:" + std::to_string(own.port);
    moert_session_options options = {};
    options.rank = own.rank;
    options.ranks = kRanks;
    options.root = root.c_str();
    options.token = own.token.c_str();
    options.comm = "nccl";
    options.device_values = 1;
    options.stream = &stream;
    options.deadline_ms = 20000;
    return moert_session_open(&list, &options, &session) ? moert_session_error(session) : "";
  }
  std::string runOn(int64_t rows) {
    int64_t sizes[2] = {rows, kWidth};
    int32_t code = moert_session_set_input(session, 0, MOERT_F32, 2, sizes, x);
    return code || moert_session_run(session) ? moert_session_error(session) : "";
  }
  /// This rank's rows of a round.
  void fill(int round) {
    for (int i = 0; i < 2 * kRows * kWidth; ++i)
      x[i] = value(own.rank, round, i);
  }
  /// "" if the output is the sum of the ranks' rows of that round.
  std::string check(int round) {
    moert_tensor y;
    if (moert_session_output(session, 0, &y))
      return moert_session_error(session);
    for (int i = 0; i < kRows * kWidth; ++i)
      if (float sum = value(0, round, i) + value(1, round, i); static_cast<const float *>(y.data)[i] != sum)
        return format("round %d: element %d is %g, not %g", round, i, static_cast<const float *>(y.data)[i], sum);
    return "";
  }
  static float value(int rank, int round, int i) { return static_cast<float>(rank * 1000 + round * 64 + i); }

  FakeCuda cuda;
  moert_session *session = nullptr;

private:
  const Ranks own;
  moert_program program = cudaProgram("ranks");
  const moert_program *only = &program;
  const moert_program_list list = {MOERT_ABI_VERSION, 1, &only};
  int stream = 0;
  alignas(64) float x[2 * kRows * kWidth];
};

/// What ranks end with that do `body` with an NCCL that is as the words say.
std::vector<std::string> endingsOf(const char *words, const std::function<std::string(Rank &)> &body) {
  std::vector<std::string> texts;
  for (const test::Ending &ending : test::Job(kRanks).run([&](const Ranks &ranks) {
         setenv("FAKE_NCCL", words, 1);
         setenv("MOE_RANK", std::to_string(ranks.rank).c_str(), 1); // who it is, for the NCCL of tests
         Rank rank(ranks);
         std::string failed = rank.open();
         return failed.empty() ? body(rank) : failed;
       }))
    texts.push_back(ending.signal ? "signal " + std::to_string(ending.signal) : ending.text);
  return texts;
}

/// A run, its capture, and replays that compute from the inputs in place, then a run as before; what was captured.
std::string capture(Rank &rank) {
  rank.fill(0);
  if (std::string failed = rank.runOn(kRows); !failed.empty())
    return failed;
  rank.cuda.take();
  rank.cuda.beginCapture();
  const std::string failed = rank.runOn(kRows);
  if (!rank.cuda.endCapture() || !failed.empty())
    return "no capture: " + failed;
  std::string calls;
  for (const std::string &call : rank.cuda.take())
    calls += call + "\n";
  for (int round = 1; round <= kReplays; ++round) {
    rank.fill(round);
    rank.cuda.replay();
    if (std::string wrong = rank.check(round); !wrong.empty())
      return wrong;
  }
  rank.fill(kReplays + 1);
  if (std::string wrong = rank.runOn(kRows); !wrong.empty())
    return wrong;
  const std::string wrong = rank.check(kReplays + 1);
  return wrong.empty() ? calls : wrong;
}

constexpr const char *kSend = "launch send grid=1 block=128 shared=0 on another stream\n";
constexpr const char *kAwait = "launch await grid=1 block=128 shared=0 on another stream\n";

TEST(NcclCapture, HasLaunchesAloneWhereStoresReachAllRanks) {
  for (const std::string &text : endingsOf("", capture))
    EXPECT_EQ(text, std::string(kSend) + kAwait + "mirror 12\n");
}

TEST(NcclCapture, HasTheSumsOfMirrorsWhereTheyDoNot) {
  // Windows that are sent to become zero, then mirrors of the other rank's: flags and rows, of 64 and 512 bytes.
  const std::string zero = "memset 64\nmemset 512\n", sums = "sums\nmemset 576\n";
  const std::string wanted = zero + kSend + sums + kAwait + "mirror 12\n";
  for (const char *words : {"version=21805", "lsa=1"})
    for (const std::string &text : endingsOf(words, capture))
      EXPECT_EQ(text, wanted) << words;
}

/// A captured run that fails: the first one, or one with larger windows than before.
std::string captureMore(Rank &rank, bool isFirst) {
  if (std::string failed = isFirst ? "" : rank.runOn(kRows); !failed.empty())
    return failed;
  rank.cuda.beginCapture();
  std::string failed = rank.runOn(isFirst ? kRows : 2 * kRows);
  return failed + (rank.cuda.endCapture() ? ", and it was captured" : "");
}

TEST(NcclCapture, OfARunThatNeedsMemoryIsRefused) {
  const std::string advice = ": this cannot be captured in a graph; run the session once with the same sizes before "
                             "the capture (a graph holds no copies or reads by the host) (cudaErrorOfTest)";
  for (const char *words : {"", "version=21805"}) {
    for (const std::string &text : endingsOf(words, [](Rank &rank) { return captureMore(rank, true); }))
      EXPECT_EQ(text, "rank 0 was in \"the reservation of memory\": cuda:0 (Fake): running the kernels" + advice);
    // Of a rank that knows of the other one's end what is not its own is left out.
    for (const std::string &text : endingsOf(words, [](Rank &rank) { return captureMore(rank, false); }))
      EXPECT_EQ(text.substr(text.find("cuda")), "cuda:0 (Fake): giving memory back" + advice) << text;
  }
}

} // namespace nccl_capture

// What the NCCL of tests asks of the GPU.
extern "C" {
#define EXPORT __attribute__((visibility("default")))
using nccl_capture::gpu;

EXPORT int moe_emulated_allocate(void **base, size_t bytes) { return gpu->api().malloc(base, bytes); }
EXPORT int moe_emulated_free(void *base) { return gpu->api().free(base); }
EXPORT int moe_emulated_offer(void *base, char *handle) {
  return gpu->api().ipcGetMemHandle(reinterpret_cast<cudaIpcMemHandle_t *>(handle), base);
}
EXPORT int moe_emulated_find(const void *place, char *handle, uint64_t *before) {
  auto behind = gpu->blocks.upper_bound(const_cast<void *>(place));
  if (behind == gpu->blocks.begin())
    return cudaErrorInvalidValue;
  void *base = std::prev(behind)->first;
  *before = static_cast<uint64_t>(static_cast<const char *>(place) - static_cast<char *>(base));
  const int result = moe_emulated_offer(base, handle);
  gpu->calls.pop_back(); // NCCL itself needs no handle for it
  return result;
}
EXPORT int moe_emulated_map(const char *handle, void **base) {
  return gpu->api().ipcOpenMemHandle(base, *reinterpret_cast<const cudaIpcMemHandle_t *>(handle), 0);
}
EXPORT int moe_emulated_unmap(void *base) { return gpu->api().ipcCloseMemHandle(base); }
EXPORT int moe_emulated_note(void (*work)(void *), void *what) {
  if (!gpu->capturing)
    return 0;
  gpu->calls.push_back("sums");
  gpu->onStream([=] { work(what); });
  return 1;
}
}
