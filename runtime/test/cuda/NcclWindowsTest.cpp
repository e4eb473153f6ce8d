//===- NcclWindowsTest.cpp - what windows of NCCL ask of it, and when they give up --------------------------------===//
//
// Ranks that exchange something are in test/python/cuda/test_rank_programs.py.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "core/Deliveries.h"
#include "cuda/CudaDevice.h"
#include "cuda/NcclWindows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

using namespace moert;

namespace nccl_windows {

using Calls = std::vector<std::string>;

/// What the NCCL of these tests has been asked for, and says.
struct Nccl {
  std::set<void *> allocated;
  FakeCuda cuda;
  int state = kNcclSuccess, reached = 2;
  NcclApi api = {};
};
Nccl *nccl;

int note(const std::string &call) {
  nccl->cuda.calls.push_back(call);
  return kNcclSuccess;
}

/// Two ranks that say the same.
class Twins final : public Group {
public:
  int rank() const override { return 1; }
  int ranks() const override { return 2; }
  Status gather(const void *mine, void *all, size_t bytes) override {
    for (size_t i = 0; i < 2; ++i)
      std::memcpy(static_cast<char *>(all) + i * bytes, mine, bytes);
    return {};
  }
};

class NcclOfTwins : public testing::Test, protected Nccl {
protected:
  NcclOfTwins() {
    nccl = this;
    api.version = kNcclWindows;
    api.getErrorString = [](int) { return "in the words of NCCL"; };
    api.getLastError = [](void *) { return ""; };
    api.getUniqueId = [](NcclId *) { return 0; };
    api.commInitRankConfig = [](void **comm, int, NcclId, int, NcclConfig *) {
      *comm = nccl;
      return note("connect");
    };
    api.commGetAsyncError = [](void *, int *result) {
      *result = nccl->state;
      return 0;
    };
    api.commAbort = [](void *) { return note("abort"); };
    api.groupStart = [] { return note("group"); };
    api.groupEnd = [] { return note("end"); };
    api.reduce = [](const void *from, void *to, size_t count, int, int, int root, void *, void *) {
      return note(format("reduce %zu to %d%s", count, root, from == to ? "" : " elsewhere"));
    };
    api.memAlloc = [](void **base, size_t bytes) {
      *base = std::aligned_alloc(4096, bytes);
      nccl->allocated.insert(*base);
      return note(format("allocate %zu", bytes));
    };
    api.memFree = [](void *base) {
      nccl->allocated.erase(base);
      std::free(base);
      return note("free");
    };
    api.commWindowRegister = [](void *, void *base, size_t, void **window, int) {
      *window = base;
      return note("register");
    };
    api.commWindowDeregister = [](void *, void *) { return note("deregister"); };
    api.getLsaDevicePointer = [](void *window, size_t offset, int, void **there) {
      *there = static_cast<char *>(window) + offset;
      return 0;
    };
    api.teamLsa = [](void *) { return NcclTeam{nccl->reached, 0, 1}; };

    program.device = MOERT_CUDA;
    program.name = program.entry = program.build_id = "ranks";
    program.axis_count = 1;
    program.axes = &axis;
    program.variant_axes = 1;
    program.cuda = &code;
    Selection selection;
    selection.program = &program;
    DeviceOptions options;
    options.deadline = 20;
    EXPECT_FALSE(openCudaDevice(cuda.api(), selection, options, device).failed());
    Ranks one;
    one.isLocal = true;
    EXPECT_FALSE(job.join({&program}, one, 1000000).failed());
    EXPECT_FALSE(job.start({}, 0).failed());
    windows = std::make_unique<NcclWindows>(*device, job, api, nullptr);
  }
  ~NcclOfTwins() override {
    cuda.endHanging();
    windows.reset();
    for (void *base : allocated) // What a device that is late may still use is left to the end of the process.
      std::free(base);
  }

  Calls open() {
    cuda.take();
    Status status = windows->open(twins, 4096);
    EXPECT_FALSE(status.failed()) << status.message;
    return cuda.take();
  }
  Calls close() {
    cuda.take();
    windows.reset();
    return cuda.take();
  }
  /// As a run that misses its deadline.
  void beLate() {
    cuda.hangs = true;
    ASSERT_FALSE(device->begin().failed());
    EXPECT_TRUE(device->finish().failed());
    EXPECT_TRUE(device->isBusy());
  }

  const moert_axis axis = {"ep", 1, 1};
  const moert_cuda_code code = {"sm_90a", 0, nullptr, nullptr, ""};
  moert_program program = {};
  std::unique_ptr<Device> device;
  Job job;
  Twins twins;
  std::unique_ptr<NcclWindows> windows;
};

TEST_F(NcclOfTwins, TakesStoresWhereTheyReachAllRanks) {
  EXPECT_EQ(open(), (Calls{"synchronize", "connect", "allocate 4096", "memset 4096", "synchronize", "register"}));
  EXPECT_FALSE(windows->areMirrors());
  EXPECT_EQ(close(), (Calls{"abort", "free"}));
}

TEST_F(NcclOfTwins, TakesMirrorsWhereTheyDoNot) {
  reached = 1;
  EXPECT_EQ(open(), (Calls{"synchronize", "connect", "allocate 4096", "memset 4096", "synchronize", "register",
                           "deregister", "free", "malloc 8192", "memset 8192", "synchronize"}));
  EXPECT_TRUE(windows->areMirrors());
  EXPECT_EQ(windows->bases()[1] - windows->bases()[0], 4096);
  // It is not tried again.
  EXPECT_EQ(open(), (Calls{"synchronize", "memset 8192", "synchronize"}));
}

TEST_F(NcclOfTwins, DeliversWithoutAWait) {
  api.version = kNcclWindows - 1;
  EXPECT_EQ(open(), (Calls{"synchronize", "connect", "malloc 8192", "memset 8192", "synchronize"}));
  std::memset(windows->bases()[0], 1, 8192);
  cuda.beginCapture();
  ASSERT_FALSE(windows->deliver({{64, 128}, {1024, 4096}}).failed());
  ASSERT_TRUE(cuda.endCapture());
  EXPECT_EQ(cuda.take(), (Calls{"group", "reduce 8 to 0", "reduce 8 to 1", "reduce 384 to 0", "reduce 384 to 1", "end",
                                "memset 64", "memset 3072"}));
  EXPECT_EQ(windows->bases()[0][1024], 1); // until the graph runs
  cuda.replay();
  // Mirrors of the other rank's windows are zero for the next one; its own are not.
  EXPECT_EQ(windows->bases()[0][1024], 0);
  EXPECT_EQ(windows->bases()[0][128], 1);
  EXPECT_EQ(windows->bases()[1][1024], 1);
}

TEST_F(NcclOfTwins, LeavesWindowsToWhatIsLate) {
  open();
  beLate();
  EXPECT_EQ(close(), Calls()); // kernels may still store to all of them
}

TEST_F(NcclOfTwins, EndsWhatNcclDoesAtTheDeadline) {
  api.version = kNcclWindows - 1;
  open();
  struct Watch final : DeviceWatch {
    explicit Watch(NcclWindows &windows) : windows(windows) {}
    void watch(bool isLate) override { windows.watch(isLate); }
    NcclWindows &windows;
  } watch(*windows);
  device->setWatch(&watch);
  beLate();
  EXPECT_EQ(std::count(cuda.calls.begin(), cuda.calls.end(), "abort"), 1);
  EXPECT_TRUE(windows->deliver({{0, 64}}).failed());
  device->setWatch(nullptr);
}

TEST_F(NcclOfTwins, TellsOfAnErrorThatComesWhileItWaits) {
  api.version = kNcclWindows - 1;
  open();
  windows->watch(false);
  EXPECT_EQ(cuda.take(), Calls());
  state = 6;
  windows->watch(false);
  EXPECT_EQ(cuda.take(), Calls{"abort"});
  const std::string line = "cuda:0 (Fake): NCCL: behind a launch: in the words of NCCL";
  EXPECT_EQ(windows->check().message, line);
  EXPECT_EQ(windows->deliver({{0, 64}}).message, line);
}

/// Windows that are given to launches, as all ranks see them.
class Ranges final : public DeviceWindows {
public:
  Status open(Group &, uint64_t) override { return {}; }
  Status deliver(const std::vector<Range> &ranges) override {
    for (const Range &range : ranges)
      delivered += format("%d-%d ", static_cast<int>(range.begin), static_cast<int>(range.end));
    return {};
  }
  std::string delivered;
};

TEST_F(NcclOfTwins, WhatGoesIsWhatSendersWereGiven) {
  const moert_kernel send = {"send", nullptr}, signal = {"signal", nullptr}, await = {"await", nullptr};
  const uint64_t peers = 4711, flags[] = {peers, 0}, rows[] = {1, peers, 128, 7, peers, 512, 3};
  std::vector<char> own(1024, 1);
  Ranges ranges;
  Deliveries deliveries;
  deliveries.rehearse(&send);
  deliveries.rehearse(&signal);
  deliveries.begin(1024);
  auto launch = [&](const moert_kernel &kernel, const uint64_t *slots, int count) {
    EXPECT_FALSE(deliveries.launch(*device, &kernel, slots, count, reinterpret_cast<void *>(peers), own.data()).failed());
  };
  auto deliver = [&] {
    ranges.delivered.clear();
    EXPECT_FALSE(deliveries.deliver(ranges).failed());
    return ranges.delivered;
  };
  launch(await, flags, 2);
  EXPECT_EQ(deliver(), "");
  EXPECT_EQ(own[0], 1);
  launch(send, rows, 7);
  EXPECT_EQ(own[127], 1);
  EXPECT_EQ(own[128], 0); // what was there belongs to an earlier exchange
  own[128] = 2;
  launch(send, rows, 7);
  EXPECT_EQ(own[128], 2); // what was stored since does not
  launch(signal, flags, 2);
  EXPECT_EQ(deliver(), "0-1024 ");
  launch(signal, flags, 2);
  EXPECT_EQ(deliver(), "0-128 ");
  launch(send, rows + 4, 3);
  EXPECT_EQ(deliver(), "512-1024 ");
  deliveries.begin(1024);
  launch(signal, flags, 2);
  EXPECT_EQ(deliver(), "0-1024 "); // where the next window begins is not known yet
}

} // namespace nccl_windows
