//===- RankRunTest.cpp - what ranks ask of CUDA -------------------------------------------------------------------===//
//
// A job of one rank goes all the way that several do; what several do is in test/python/cuda/test_rank_programs.py.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "CudaProgram.h"
#include "FakeCuda.h"
#include "comm/Job.h"
#include "core/DeviceWindows.h"
#include "cuda/CudaDevice.h"
#include "moert/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace moert;

namespace rank_run {

using Calls = std::vector<std::string>;

const moert_kernel kKernels[] = {{"send", nullptr}, {"await", nullptr}};
const moert_value kInputs[] = {{"x", MOERT_F32, 2, {-1, 4}, 1, 0, -1, 0, 1, nullptr, 0}};
const moert_value kOutputs[] = {{"y", MOERT_F32, 2, {-1, 4}, 1, 0, -1, 0, 1, nullptr, 0}};
const char *const kSymbols[] = {"rows"};
const moert_axis kAxes[] = {{"ep", 1, 1}};
const moert_cuda_image kImages[] = {{"send", "cubin of send", 13, "", 0}, {"await", "cubin of await", 14, "", 0}};
const moert_cuda_kernel kLaunches[] = {{0, 128, 0, 1, 3, 0, nullptr}, {1, 128, 0, 1, 3, 0, nullptr}};
const moert_cuda_code kCode = {"sm_90a", 2, kImages, kLaunches, ""};

/// Rows go to the window, 64 bytes behind its beginning, and from there to the output.
int32_t run(moert_context *ctx) {
  int64_t rows = moert_input_size(ctx, 0, 0), sizes[2] = {rows, 4}, room = moert_agree(ctx, 0, rows);
  const moert_peers *peers = moert_windows(ctx, 0, 64 + room * 16);
  uint64_t slots[] = {reinterpret_cast<uintptr_t>(peers), reinterpret_cast<uintptr_t>(moert_input(ctx, 0)),
                      static_cast<uint64_t>(rows)};
  auto *offsets = static_cast<int32_t *>(moert_arena(ctx, 64));
  moert_phase(ctx, "rows to the ranks");
  moert_flags(ctx, 4, 0, 1);
  moert_launch(ctx, &kKernels[0], slots, 1, rows, rows);
  moert_traffic(ctx, 0, offsets, 0, 16, 4);
  moert_phase(ctx, "rows from the ranks");
  uint64_t others[] = {reinterpret_cast<uintptr_t>(moert_part(ctx, peers, 64)),
                       reinterpret_cast<uintptr_t>(moert_output(ctx, 0, 2, sizes)), slots[2]};
  moert_launch(ctx, &kKernels[1], others, 1, rows, rows);
  return 0;
}

struct RankProgram {
  RankProgram() : list{MOERT_ABI_VERSION, 1, &only}, only(&program) {
    program = cudaProgram("ranks");
    program.axis_count = 1;
    program.inputs = kInputs;
    program.outputs = kOutputs;
    program.symbols = kSymbols;
    program.kernels = kKernels;
    program.axes = kAxes;
    program.variant_axes = 1;
    program.cuda = &kCode;
    program.run = run;
  }
  moert_program program;
  moert_program_list list;
  const moert_program *only;
};

/// A rank that is the only one, on the fake; `statusToSet` and `flagToSet` are what its wait leaves.
class RankRun : public testing::Test {
protected:
  RankRun() {
    cuda.execute = [this](const std::string &kernel, void **arguments) { execute(kernel, arguments); };
    for (int i = 0; i < 64; ++i)
      x[i] = static_cast<float>(i);
  }
  ~RankRun() override { close(); }

  void execute(const std::string &kernel, void **arguments) {
    auto slot = [&](int number) { return *static_cast<uint64_t *>(arguments[number]); };
    if (kernel == "send") {
      peers = *reinterpret_cast<moert_peers *>(slot(0));
      ++*peers.epoch;
      std::memcpy(peers.base[0] + 64, reinterpret_cast<const void *>(slot(1)), slot(2) * 16);
      peers.status[0] = statusToSet;
      peers.status[1] = flagToSet + 1;
    } else {
      std::memcpy(reinterpret_cast<void *>(slot(1)), reinterpret_cast<const void *>(slot(0)), slot(2) * 16);
    }
  }

  int32_t open(int64_t deadline = 0) {
    close();
    moert_session_options options = {};
    options.ranks = 1;
    options.root = "local";
    options.deadline_ms = deadline;
    return moert_session_open(&program.list, &options, &session);
  }
  void close() {
    moert_session_close(session);
    session = nullptr;
  }
  std::string runOn(int64_t rows) {
    int64_t sizes[2] = {rows, 4};
    int32_t code = moert_session_set_input(session, 0, MOERT_F32, 2, sizes, x);
    return code || moert_session_run(session) ? moert_session_error(session) : "";
  }
  const float *output() {
    moert_tensor y;
    return moert_session_output(session, 0, &y) ? nullptr : static_cast<const float *>(y.data);
  }

  FakeCuda cuda;
  RankProgram program;
  moert_session *session = nullptr;
  alignas(64) float x[64];
  moert_peers peers = {};
  uint32_t statusToSet = 0, flagToSet = ~uint32_t(0); // none
};

TEST_F(RankRun, TakesAllMemoryBeforeAnythingIsLaunched) {
  ASSERT_EQ(open(), 0) << moert_session_error(session);
  // Kernels are loaded when they are touched, before another rank may wait for one.
  EXPECT_EQ(cuda.take(), (Calls{"streamCreate", "load cubin of send", "load cubin of await", "setAttribute send 8 0",
                                "setAttribute await 8 0", "malloc 192", "memset 192", "register 4096"}));
  ASSERT_EQ(runOn(8), "");
  Calls calls = cuda.take();
  auto first = std::find_if(calls.begin(), calls.end(), [](auto &call) { return call.rfind("launch", 0) == 0; });
  ASSERT_NE(first, calls.end());
  EXPECT_EQ(std::count_if(calls.begin(), first, [](auto &call) { return call.rfind("malloc", 0) == 0; }), 5);
  // What was sent is copied behind its launch, and read at the end with the words of waits.
  EXPECT_EQ(Calls(first, calls.end()), (Calls{"launch send grid=1 block=128 shared=0", "copy 8",
                                              "launch await grid=1 block=128 shared=0", "download 12", "download 8",
                                              "synchronize", "download 128", "synchronize"}));
  EXPECT_EQ(std::memcmp(output(), x, 128), 0);
  // Again: what a run of one rank does, and the words.
  ASSERT_EQ(runOn(5), "");
  EXPECT_EQ(cuda.take(), (Calls{"upload 80", "launch send grid=1 block=128 shared=0", "copy 8",
                                "launch await grid=1 block=128 shared=0", "download 12", "download 8", "synchronize",
                                "download 80", "synchronize"}));
}

const moert_value kStates[] = {{"kept", MOERT_F32, 2, {-1, 4}, 1, 0, -1, 0, 0, nullptr, 0}};
const char *const kHold = "the states hold rows = 8, this call has 5 (reset the states first)";

TEST_F(RankRun, GoesOnWhenACallDoesNotFitTheStates) {
  program.program.states = kStates;
  program.program.state_count = 1;
  ASSERT_EQ(open(), 0) << moert_session_error(session);
  ASSERT_EQ(runOn(8), "");
  cuda.take();
  EXPECT_EQ(runOn(5), kHold);
  EXPECT_EQ(cuda.take(), Calls());
  EXPECT_EQ(runOn(8), "");
  moert_session_reset(session);
  EXPECT_EQ(runOn(5), "");
}

TEST_F(RankRun, GivesKernelsPeersThatTheyCanRead) {
  ASSERT_EQ(open(2500), 0) << moert_session_error(session);
  ASSERT_EQ(runOn(8), "");
  EXPECT_EQ(peers.rank, 0);
  EXPECT_EQ(peers.ranks, 1);
  EXPECT_EQ(peers.patience, 2500000000);
  EXPECT_EQ(*peers.epoch, 1u);
  EXPECT_EQ(*peers.abort, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(peers.base[0]) % 64, 0u);
  // Larger windows are other windows, in which no exchange has been; smaller ones are the same.
  char *before = peers.base[0];
  ASSERT_EQ(runOn(2), "");
  EXPECT_EQ(peers.base[0], before);
  EXPECT_EQ(*peers.epoch, 2u);
  ASSERT_EQ(runOn(16), "");
  EXPECT_EQ(*peers.epoch, 1u);
  EXPECT_EQ(std::memcmp(output(), x, 256), 0);
}

TEST_F(RankRun, ResetsFlagsBeforeTheirNumbersAreUsedUp) {
  ASSERT_EQ(open(), 0) << moert_session_error(session);
  ASSERT_EQ(runOn(8), "");
  *peers.epoch = Job::kLastEpoch - 1;
  ASSERT_EQ(runOn(8), ""); // ends with the last number
  EXPECT_EQ(*peers.epoch, Job::kLastEpoch);
  std::memset(peers.base[0], 1, 64);
  ASSERT_EQ(runOn(8), "");
  EXPECT_EQ(*peers.epoch, 1u);
  EXPECT_EQ(std::count(peers.base[0], peers.base[0] + 64, 0), 64);
}

std::vector<std::pair<float, int32_t>> valuesRead; ///< of the input and the output; by run, rehearsals too

int32_t runAndRead(moert_context *ctx) {
  const int32_t code = run(ctx);
  int64_t sizes[2] = {moert_input_size(ctx, 0, 0), 4};
  valuesRead.emplace_back();
  moert_read(ctx, &valuesRead.back().first, static_cast<float *>(moert_input(ctx, 0)) + 2, 4);
  moert_read(ctx, &valuesRead.back().second, moert_output(ctx, 0, 2, sizes), 4);
  moert_check(ctx, valuesRead.back().first != 7, "the third element is 7");
  return code;
}

TEST_F(RankRun, ReadsInputsWhereTheyAreInARehearsal) {
  program.program.run = runAndRead;
  ASSERT_EQ(open(), 0) << moert_session_error(session);
  valuesRead.clear();
  ASSERT_EQ(runOn(8), "");
  // Of what kernels compute a rehearsal has a number that can be divided by, and is true.
  EXPECT_EQ(valuesRead, (decltype(valuesRead){{2, 1}, {2, 0}}));
}

TEST_F(RankRun, SaysThatARankIsLostBeforeTheProgramLooksAtAValue) {
  program.program.run = runAndRead;
  ASSERT_EQ(open(3000), 0) << moert_session_error(session);
  ASSERT_EQ(runOn(8), "");
  statusToSet = 1;
  x[2] = 7;
  EXPECT_EQ(runOn(8), "rank 0 waited 3 s for rank 0 in \"rows to the ranks\" (send)");
}

TEST_F(RankRun, SaysWhereAWaitWasInVain) {
  ASSERT_EQ(open(3000), 0) << moert_session_error(session);
  ASSERT_EQ(runOn(8), "");
  statusToSet = 1;
  std::string line = "rank 0 waited 3 s for rank 0 in \"rows to the ranks\" (send)";
  EXPECT_EQ(runOn(8), line);
  EXPECT_EQ(output(), nullptr);
  statusToSet = 0;
  EXPECT_EQ(runOn(8), line); // the job is over
  // The process and its GPU are not.
  ASSERT_EQ(open(), 0) << moert_session_error(session);
  EXPECT_EQ(runOn(8), "");
  // Of a flag, what it is.
  ASSERT_EQ(open(3000), 0) << moert_session_error(session);
  statusToSet = 1;
  flagToSet = 6;
  EXPECT_EQ(runOn(8), "rank 0 waited 3 s for rank 0 in \"rows to the ranks\" (send, flag 6: chunk 2 of its rows)");
  // Without a deadline of its own no launch is noted.
  ASSERT_EQ(open(), 0) << moert_session_error(session);
  EXPECT_EQ(runOn(8), "rank 0 waited 60 s for rank 0 in \"a call of main\"");
}

TEST_F(RankRun, SharesThePageAsLongAsKernelsMayReadIt) {
  ASSERT_EQ(open(20), 0) << moert_session_error(session);
  ASSERT_EQ(runOn(8), "");
  cuda.take();
  close();
  Calls calls = cuda.take();
  ASSERT_GE(calls.size(), 2u);
  EXPECT_EQ(Calls(calls.begin(), calls.begin() + 2), (Calls{"synchronize", "unregister"}));
  // One that never ends goes on reading.
  ASSERT_EQ(open(20), 0) << moert_session_error(session);
  ASSERT_EQ(runOn(8), "");
  cuda.hanging = "await";
  EXPECT_NE(runOn(8).find("missed deadline: kernel 'await'"), std::string::npos);
  cuda.take();
  close();
  EXPECT_EQ(cuda.take(), Calls());
  cuda.endHanging();
}

TEST_F(RankRun, FailsWhereTheHostsMemoryCannotBeShared) {
  cuda.fail("register", cudaErrorNotSupported);
  EXPECT_EQ(open(), 1);
  EXPECT_STREQ(moert_session_error(session),
               "cuda:0 (Fake): sharing memory of the host: in the words of CUDA (cudaErrorOfTest)");
  ASSERT_EQ(open(), 0) << moert_session_error(session);
  EXPECT_EQ(runOn(8), "");
}

/// Values of the GPU, on the caller's stream.
class RankCapture : public RankRun {
protected:
  RankCapture() {
    cuda.slots = {{"send", 3}, {"await", 3}};
    open();
  }
  void open() {
    moert_session_options options = {};
    options.ranks = 1;
    options.root = "local";
    options.device_values = 1;
    options.stream = &stream;
    options.deadline_ms = 60000; // of waits alone: a launch gets no event
    EXPECT_EQ(moert_session_open(&program.list, &options, &session), 0) << moert_session_error(session);
  }
  int stream = 0;
};

TEST_F(RankCapture, OfARepeatedRunHasItsLaunchesAndTheWordsOfWaits) {
  ASSERT_EQ(runOn(8), "");
  cuda.take();
  cuda.beginCapture();
  ASSERT_EQ(runOn(8), "");
  ASSERT_TRUE(cuda.endCapture());
  EXPECT_EQ(cuda.take(), (Calls{"launch send grid=1 block=128 shared=0 on another stream",
                                "launch await grid=1 block=128 shared=0 on another stream", "mirror 12"}));
  const float *y = output();
  for (int replay = 0; replay < 100; ++replay) {
    x[5] = static_cast<float>(replay);
    cuda.replay();
    ASSERT_EQ(y[5], x[5]);
  }
  EXPECT_EQ(*peers.epoch, 101u); // exchanges of the run before and of all replays
  EXPECT_EQ(output(), y);
  EXPECT_EQ(runOn(8), "");
}

/// Ranks have their own rows and their own states then: what one refuses the others may have begun.
TEST_F(RankCapture, EndsTheJobWhenACallDoesNotFitTheStates) {
  close();
  program.program.states = kStates;
  program.program.state_count = 1;
  open();
  ASSERT_EQ(runOn(8), "");
  EXPECT_EQ(runOn(5), kHold);
  EXPECT_EQ(runOn(8), kHold);
}

TEST_F(RankCapture, TellsOfAWaitInVainWhenSomebodyAsks) {
  ASSERT_EQ(runOn(8), "");
  cuda.beginCapture();
  ASSERT_EQ(runOn(8), "");
  ASSERT_TRUE(cuda.endCapture());
  ASSERT_NE(output(), nullptr);
  statusToSet = 1;
  cuda.replay();
  EXPECT_EQ(output(), nullptr);
  const std::string line = "rank 0 waited 60 s for rank 0 in \"a call of main\"";
  EXPECT_EQ(moert_session_error(session), line);
  EXPECT_EQ(runOn(8), line);
}

/// Two ranks that say the same.
class Twins final : public Group {
public:
  explicit Twins(Calls &calls) : calls(calls) {}
  int rank() const override { return 1; }
  int ranks() const override { return 2; }
  Status gather(const void *mine, void *all, size_t bytes) override {
    for (int i = 0; i < 2; ++i)
      std::memcpy(static_cast<char *>(all) + static_cast<size_t>(i) * bytes, mine, bytes);
    calls.push_back("meet");
    return bytes <= 56 ? Status() : failure(kInternal, "too large");
  }

private:
  Calls &calls;
};

TEST_F(RankRun, MapsWindowsOfOtherProcessesWhileTheyAreThere) {
  std::unique_ptr<Device> device;
  Selection selection;
  selection.program = &program.program;
  ASSERT_FALSE(openCudaDevice(cuda.api(), selection, {}, device).failed());
  {
    MappedWindows windows(*device, DeviceProvider::Handles);
    Twins twins(cuda.calls);
    cuda.take();
    ASSERT_FALSE(windows.open(twins, 640).failed());
    EXPECT_EQ(cuda.take(), (Calls{"synchronize", "meet", "meet", "malloc 640", "memset 640", "synchronize",
                                  "ipcGetHandle 640", "meet", "meet", "ipcOpen 640", "meet"}));
    EXPECT_EQ(windows.bytes(), 640u);
    // Larger: nobody frees what another one still has mapped.
    ASSERT_FALSE(windows.open(twins, 1280).failed());
    EXPECT_EQ(cuda.take(), (Calls{"synchronize", "meet", "ipcClose", "meet", "free 640", "malloc 1280", "memset 1280",
                                  "synchronize", "ipcGetHandle 1280", "meet", "meet", "ipcOpen 1280", "meet"}));
    cuda.fail("ipcOpen", cudaErrorMapBufferObjectFailed);
    EXPECT_EQ(windows.open(twins, 1920).message,
              "cuda:0 (Fake): mapping another rank's memory: in the words of CUDA (cudaErrorOfTest)");
    EXPECT_EQ(windows.bytes(), 0u);
    cuda.take();
  }
  EXPECT_EQ(cuda.take(), Calls());
}

TEST_F(RankRun, GivesRanksOfOneGpuTheirPartOfIt) {
  std::unique_ptr<Device> device;
  Selection selection;
  selection.program = &program.program;
  DeviceOptions options;
  options.rank = 1;
  options.sharers = 2;
  cuda.devices = 4;
  ASSERT_FALSE(openCudaDevice(cuda.api(), selection, options, device).failed());
  EXPECT_EQ(device->blocks(), 2);
  EXPECT_STREQ(device->name(), "cuda:0 (Fake)");
  options.rank = 5;
  options.sharers = 1; // processes take turns at GPUs
  ASSERT_FALSE(openCudaDevice(cuda.api(), selection, options, device).failed());
  EXPECT_EQ(device->blocks(), 4);
  EXPECT_STREQ(device->name(), "cuda:1 (Fake)");
  selection.isNumbered = true;
  ASSERT_FALSE(openCudaDevice(cuda.api(), selection, options, device).failed());
  EXPECT_STREQ(device->name(), "cuda:0 (Fake)");
}

} // namespace rank_run
