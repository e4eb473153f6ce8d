//===- GroupLaunchTest.cpp - launches that run at the same time ---------------------------------------------------===//

#include "cpu/GroupLaunch.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

using namespace moert;

namespace {
constexpr int64_t kPatience = int64_t(20) * 1000000000;

/// What blocks have done, in the order in which they began: member * 1000 + number.
struct Log {
  std::vector<int64_t> began;
  std::atomic<int64_t> count{0};
  int32_t done[4] = {0, 0, 0, 0};
  std::vector<int64_t> made;
  int64_t sums[4] = {0, 0, 0, 0};
  int64_t wanted = 0;
  std::atomic<int> missed{0};
  Log() : began(4096), made(4096) {}
};

struct Slots {
  Log *log;
  int64_t member;
};

void record(const void *args, int64_t number, int64_t) {
  const Slots &slots = *static_cast<const Slots *>(args);
  slots.log->began[slots.log->count.fetch_add(1)] = slots.member * 1000 + number;
}

/// Makes an element, and arrives at the counter of its phase.
void produce(const void *args, int64_t number, int64_t blocks) {
  Log &log = *static_cast<const Slots *>(args)->log;
  log.made[number] = number + 1;
  __atomic_fetch_add(&log.done[number / blocks], 1, __ATOMIC_RELEASE);
}

/// Adds up what all blocks of a phase have made.
void consume(const void *args, int64_t number, int64_t blocks) {
  Log &log = *static_cast<const Slots *>(args)->log;
  int64_t phase = number / blocks;
  if (!moert_await_arrivals(&log.done[phase], log.wanted)) {
    log.missed.fetch_add(1);
    return;
  }
  int64_t sum = 0;
  for (int64_t i = phase * log.wanted; i < (phase + 1) * log.wanted; ++i)
    sum += log.made[i];
  __atomic_fetch_add(&log.sums[phase], sum, __ATOMIC_RELAXED);
}

moert_kernel kernels[] = {{"record", record}, {"produce", produce}, {"consume", consume}};

class GroupLaunchTest : public testing::TestWithParam<int> {
protected:
  void SetUp() override { ASSERT_FALSE(pool.start(GetParam(), false).failed()); }
  Pool pool;
  GroupLaunch group;
};

TEST_P(GroupLaunchTest, RunsEveryBlockOnce) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    Log log;
    Slots a{&log, 0}, b{&log, 1}, c{&log, 2};
    moert_member members[] = {{&kernels[0], &a, 3, 1, 0, 0, 0}, {&kernels[0], &b, 5, 4, 0, 0, 0},
                              {&kernels[0], &c, 2, 4, 1, 0, 0}};
    EXPECT_TRUE(group.run(pool, members, 3, kPatience));
    ASSERT_EQ(log.count.load(), 3 + 20 + 8);
    std::vector<int64_t> began(log.began.begin(), log.began.begin() + 31), expected;
    for (int64_t i = 0; i < 3; ++i)
      expected.push_back(i);
    for (int64_t i = 0; i < 20; ++i)
      expected.push_back(1000 + i);
    for (int64_t i = 0; i < 8; ++i)
      expected.push_back(2000 + i);
    std::sort(began.begin(), began.end());
    ASSERT_EQ(began, expected);
  }
}

/// Who waits holds nobody up that it waits for, whatever the number of threads: one, or more than there are cores.
TEST_P(GroupLaunchTest, WaitsEnd) {
  for (int repeat = 0; repeat < 200; ++repeat)
    for (int64_t lag : {0, 1, 3}) {
      Log log;
      log.wanted = 7;
      Slots slots{&log, 0};
      moert_member members[] = {{&kernels[1], &slots, 7, 4, 0, 0, 0}, {&kernels[2], &slots, 3, 4, lag, 0, 0}};
      ASSERT_TRUE(group.run(pool, members, 2, kPatience));
      ASSERT_EQ(log.missed.load(), 0);
      for (int64_t phase = 0; phase < 4; ++phase) {
        int64_t sum = 0;
        for (int64_t i = phase * 7; i < phase * 7 + 7; ++i)
          sum += i + 1;
        ASSERT_EQ(log.sums[phase], 3 * sum);
      }
    }
}

/// Arrivals that do not come end the launch, once for all blocks that wait; the next one is not affected.
TEST_P(GroupLaunchTest, AWaitThatIsTooLong) {
  Log log;
  log.wanted = 8;
  Slots slots{&log, 0};
  moert_member members[] = {{&kernels[1], &slots, 7, 1, 0, 0, 0}, {&kernels[2], &slots, 3, 1, 0, 0, 0}};
  EXPECT_FALSE(group.run(pool, members, 2, 20000000));
  EXPECT_EQ(log.missed.load(), 3);
  Log next;
  next.wanted = 7;
  slots.log = &next;
  EXPECT_TRUE(group.run(pool, members, 2, kPatience));
}

/// A wait that is too long is noted, and the member and phase that it was in are known.
TEST_P(GroupLaunchTest, ALongWaitIsNoted) {
  Log log;
  log.wanted = 8;
  Slots slots{&log, 0};
  moert_member members[] = {{&kernels[1], &slots, 7, 2, 0, 0, 0}, {&kernels[2], &slots, 1, 1, 1, 0, 0}};
  WaitLog waits;
  EXPECT_FALSE(group.run(pool, members, 2, 20000000, &waits));
  EXPECT_STREQ(group.late().kernel, "consume");
  ASSERT_EQ(waits.all().size(), 1u);
  const LongWait &wait = waits.all()[0];
  EXPECT_STREQ(wait.at.kernel, "consume");
  EXPECT_EQ(wait.at.phase, 0);
  EXPECT_EQ(wait.peer, -1);
  EXPECT_GE(wait.end - wait.begin, 20000000);
  int64_t blocks = 0;
  for (const std::vector<PhaseSpan> &thread : group.spans)
    for (const PhaseSpan &span : thread)
      blocks += span.blocks;
  EXPECT_EQ(blocks, 15);
}

INSTANTIATE_TEST_SUITE_P(Threads, GroupLaunchTest, testing::Values(1, 2, 3, 8));

/// By phase + lag, then by member, then by number.
TEST(GroupLaunchOrder, OneThread) {
  Pool pool;
  ASSERT_FALSE(pool.start(1, false).failed());
  GroupLaunch group;
  Log log;
  Slots a{&log, 0}, b{&log, 1}, c{&log, 2};
  moert_member members[] = {{&kernels[0], &a, 1, 2, 2, 0, 0}, {&kernels[0], &b, 2, 3, 0, 0, 0},
                            {&kernels[0], &c, 1, 2, 1, 0, 0}};
  EXPECT_TRUE(group.run(pool, members, 3, kPatience));
  std::vector<int64_t> expected = {1000, 1001, 1002, 1003, 2000, 0, 1004, 1005, 2001, 1};
  log.began.resize(expected.size());
  EXPECT_EQ(log.began, expected);
}

/// With a log of waits the spans of a thread are those of its phases, one behind the other.
TEST(GroupLaunchOrder, SpansOfOneThread) {
  Pool pool;
  ASSERT_FALSE(pool.start(1, false).failed());
  GroupLaunch group;
  Log log;
  Slots a{&log, 0}, b{&log, 1};
  moert_member members[] = {{&kernels[0], &a, 1, 2, 1, 0, 0}, {&kernels[1], &b, 3, 2, 0, 0, 0}};
  WaitLog waits;
  EXPECT_TRUE(group.run(pool, members, 2, kPatience, &waits));
  EXPECT_TRUE(waits.all().empty());
  ASSERT_EQ(group.spans.size(), 1u);
  std::vector<std::string> found;
  int64_t last = 0;
  for (const PhaseSpan &span : group.spans[0]) {
    found.push_back(format("%s %d of %d: %d", span.kernel, static_cast<int>(span.phase), static_cast<int>(span.phases),
                           static_cast<int>(span.blocks)));
    EXPECT_LE(last, span.begin);
    EXPECT_LE(span.begin, last = span.end);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"produce 0 of 2: 3", "record 0 of 2: 1", "produce 1 of 2: 3",
                                             "record 1 of 2: 1"}));
  EXPECT_EQ(here().kernel, nullptr);
}

TEST(GroupLaunchOrder, OutsideOfAGroup) {
  int32_t counter = 2;
  EXPECT_TRUE(moert_await_arrivals(&counter, 2));
  EXPECT_FALSE(moert_await_arrivals(&counter, 3));
}

} // namespace
