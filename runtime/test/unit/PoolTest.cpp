//===- PoolTest.cpp - the thread pool -----------------------------------------------------------------------------===//

#include "cpu/Pool.h"

#include "core/Trace.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <dirent.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <thread>
#include <unistd.h>

using namespace moert;

namespace {

struct Counts {
  std::vector<std::atomic<int>> runs;
  std::atomic<int64_t> wrongTotal{0};
  int64_t blocks;
  explicit Counts(int64_t blocks) : runs(blocks), blocks(blocks) {}
};

void count(const void *args, int64_t block, int64_t blocks) {
  auto *counts = *static_cast<Counts *const *>(args);
  counts->runs[block].fetch_add(1, std::memory_order_relaxed);
  if (blocks != counts->blocks)
    counts->wrongTotal.fetch_add(1, std::memory_order_relaxed);
}

class PoolTest : public testing::TestWithParam<int> {};

TEST_P(PoolTest, RunsEveryBlockOnce) {
  Pool pool;
  ASSERT_FALSE(pool.start(GetParam(), false).failed());
  EXPECT_EQ(pool.threads(), GetParam());
  for (int64_t blocks : {0, 1, 2, 3, 4, 5, 7, 64, 1000})
    for (int repeat = 0; repeat < 20; ++repeat) {
      Counts counts(blocks);
      const void *args = &counts;
      pool.run(count, &args, blocks);
      for (auto &runs : counts.runs)
        ASSERT_EQ(runs.load(), 1);
      ASSERT_EQ(counts.wrongTotal.load(), 0);
    }
}

/// Plain memory, written by one launch and read by the next on other threads: a lost or early launch shows, and with
/// ThreadSanitizer a missing order does too.
struct Chain {
  std::vector<int64_t> *from, *to;
};

void shift(const void *args, int64_t block, int64_t blocks) {
  const Chain *chain = static_cast<const Chain *>(args);
  (*chain->to)[block] = (*chain->from)[(block + 1) % blocks] + 1;
}

TEST_P(PoolTest, LaunchesAreOrdered) {
  Pool pool;
  ASSERT_FALSE(pool.start(GetParam(), false).failed());
  for (int64_t blocks : {2, 5, 33}) {
    std::vector<int64_t> a(blocks, 0), b(blocks, 0);
    constexpr int kLaunches = 3000;
    for (int i = 0; i < kLaunches; ++i) {
      Chain chain = i % 2 ? Chain{&b, &a} : Chain{&a, &b};
      pool.run(shift, &chain, blocks);
      if (i % 1000 == 999)
        usleep(2000); // lets the workers fall asleep
    }
    for (int64_t value : a)
      ASSERT_EQ(value, kLaunches);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, PoolTest, testing::Values(1, 2, 3, 5, 16));

TEST(Pool, SurvivesStartAndStop) {
  for (int i = 0; i < 50; ++i) {
    Pool pool;
    ASSERT_FALSE(pool.start(4, i % 2).failed());
    if (i % 3 == 0)
      pool.stop();
  }
}

TEST(Pool, PinningEndsWithThePool) {
  int before = availableCores();
  {
    Pool pool;
    ASSERT_FALSE(pool.start(2, true).failed());
    EXPECT_EQ(availableCores(), 1);
  }
  EXPECT_EQ(availableCores(), before);
}

/// Masks of blocked signals of all threads, by number.
std::map<int, uint64_t> blockedSignals() {
  std::map<int, uint64_t> masks;
  DIR *tasks = opendir("/proc/self/task");
  while (dirent *task = readdir(tasks)) {
    if (task->d_name[0] == '.')
      continue;
    std::ifstream status(std::string("/proc/self/task/") + task->d_name + "/status");
    for (std::string word; status >> word;)
      if (word == "SigBlk:")
        status >> std::hex >> masks[std::atoi(task->d_name)];
  }
  closedir(tasks);
  return masks;
}

/// What a worker is told by signals: of its own faults alone, which whoever runs the process may want to report.
TEST(Pool, WorkersHearOfTheirFaultsOnly) {
  const std::map<int, uint64_t> before = blockedSignals(); // a sanitizer may have a thread of its own
  Pool pool;
  ASSERT_FALSE(pool.start(3, false).failed());
  auto isBlocked = [](uint64_t mask, int signal) { return (mask >> (signal - 1) & 1) != 0; };
  // The C library blocks all of them while a thread starts.
  std::vector<uint64_t> masks;
  auto isStarting = [&](uint64_t mask) { return isBlocked(mask, SIGBUS); };
  for (int attempt = 0; attempt < 1000; ++attempt) {
    masks.clear();
    for (auto [thread, mask] : blockedSignals())
      if (before.count(thread) == 0)
        masks.push_back(mask);
    if (std::none_of(masks.begin(), masks.end(), isStarting))
      break;
    sched_yield();
  }
  EXPECT_EQ(masks.size(), 2u);
  for (uint64_t mask : masks) {
    for (int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD})
      EXPECT_TRUE(isBlocked(mask, signal)) << signal;
    for (int signal : {SIGBUS, SIGSEGV, SIGFPE, SIGILL})
      EXPECT_FALSE(isBlocked(mask, signal)) << signal;
  }
}

TEST(Pool, SleepingWorkersWakeUp) {
  Pool pool;
  ASSERT_FALSE(pool.start(3, false).failed());
  for (int i = 0; i < 20; ++i) {
    usleep(3000);
    Counts counts(3);
    const void *args = &counts;
    pool.run(count, &args, 3);
    for (auto &runs : counts.runs)
      ASSERT_EQ(runs.load(), 1);
  }
}

/// Processor time of all threads, in nanoseconds.
int64_t processorTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

/// Workers that wait for ever while they are awake would take half a second here.
TEST(Pool, IdleWorkersTakeNoCore) {
  Pool pool;
  ASSERT_FALSE(pool.start(3, false).failed());
  for (bool isWarm : {false, true}) {
    if (isWarm) {
      Counts counts(3);
      const void *args = &counts;
      pool.run(count, &args, 3);
    }
    const int64_t before = processorTime();
    usleep(300000);
    EXPECT_LT(processorTime() - before, 100000000) << (isWarm ? "after a launch" : "after the start");
  }
}

/// More threads than cores, so that workers lose theirs, rest and come back: every launch is whole all the same.
TEST(Pool, PoolsThatShareTheCores) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      Pool pool;
      if (pool.start(4, false).failed())
        return static_cast<void>(++wrong);
      for (int i = 0; i < 500; ++i) {
        Counts counts(1 + i % 9);
        const void *args = &counts;
        pool.run(count, &args, counts.blocks);
        for (auto &runs : counts.runs)
          wrong += runs.load() != 1;
        wrong += counts.wrongTotal.load() != 0;
        if (i % 100 == 99)
          usleep(500);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

/// A launch whose blocks wait for each other for a moment, so that as many threads as there are have one.
struct Meeting {
  std::atomic<int> begun{0};
  std::atomic<int> met{0};
};

void meet(const void *args, int64_t, int64_t blocks) {
  auto *meeting = *static_cast<Meeting *const *>(args);
  meeting->begun.fetch_add(1, std::memory_order_relaxed);
  for (int i = 0; i < 2000 && meeting->begun.load(std::memory_order_relaxed) < blocks; ++i)
    sched_yield();
  if (meeting->begun.load(std::memory_order_relaxed) == blocks)
    meeting->met.fetch_add(1, std::memory_order_relaxed);
}

/// Workers that sleep miss the first short launches, and the caller does without them: they must be back later.
TEST(Pool, MissingWorkersComeBack) {
  Pool pool;
  ASSERT_FALSE(pool.start(3, false).failed());
  for (int i = 0; i < 20; ++i) {
    usleep(3000);
    for (int repeat = 0; repeat < 50; ++repeat) {
      Counts counts(3);
      const void *args = &counts;
      pool.run(count, &args, 3);
      for (auto &runs : counts.runs)
        ASSERT_EQ(runs.load(), 1);
    }
  }
  bool haveMet = false;
  for (int i = 0; i < 10000 && !haveMet; ++i) {
    Meeting meeting;
    const void *args = &meeting;
    pool.run(meet, &args, 3);
    haveMet = meeting.met.load() == 3;
  }
  EXPECT_TRUE(haveMet);
}

/// Not a limit, as other processes may use the cores: it prints what a launch costs.
TEST(Pool, PrintsLaunchCost) {
  Pool pool;
  ASSERT_FALSE(pool.start(2, false).failed());
  auto nothing = [](const void *, int64_t, int64_t) {};
  std::vector<int64_t> times;
  for (int i = 0; i < 50000; ++i) {
    int64_t begin = now();
    pool.run(nothing, nullptr, 2);
    times.push_back(now() - begin);
  }
  std::sort(times.begin(), times.end());
  std::printf("             a launch of 2 blocks on 2 threads: %lld ns (best %lld, 99 of 100 below %lld)\n",
              static_cast<long long>(times[times.size() / 2]), static_cast<long long>(times[0]),
              static_cast<long long>(times[times.size() * 99 / 100]));
}

} // namespace
