//===- LocalMeetingTest.cpp - ranks that are threads of one process meet ------------------------------------------===//

#include "comm/LocalMeeting.h"
#include "comm/Windows.h"
#include "core/Clock.h"

#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <vector>

using namespace moert;

namespace {

constexpr int64_t kSecond = 1000000000;

struct Place {
  int rank, ranks;
  const char *token = "token";
  uint64_t program = 1;
};

std::string join(LocalMeeting &meeting, const Place &place, int64_t patience = 20 * kSecond) {
  Ranks ranks;
  ranks.rank = place.rank;
  ranks.ranks = place.ranks;
  ranks.token = place.token;
  ranks.isLocal = true;
  return meeting.join(ranks, place.program, patience).message;
}

/// What each thread returns.
std::vector<std::string> run(size_t count, const std::function<std::string(size_t)> &body) {
  std::vector<std::string> texts(count);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] { texts[i] = body(i); });
  for (std::thread &thread : threads)
    thread.join();
  return texts;
}

using Texts = std::vector<std::string>;

TEST(LocalMeeting, ThreadsHearWhatAllSay) {
  // Two jobs at once, which know each other by their tokens.
  Texts texts = run(8, [](size_t i) -> std::string {
    Place place{static_cast<int>(i % 4), 4, i < 4 ? "one" : "other"};
    LocalMeeting meeting;
    if (std::string text = join(meeting, place); !text.empty())
      return text;
    for (int64_t exchange = 0; exchange < 200; ++exchange) {
      int64_t mine[2] = {exchange * 10 + place.rank, place.token[0]}, all[4][2], sum = 0;
      if (Status bad = meeting.gather(mine, all, sizeof mine); bad.failed())
        return bad.message;
      for (int64_t(&one)[2] : all)
        sum += one[1] == mine[1] ? one[0] : 0;
      if (sum != 40 * exchange + 6)
        return "heard something else";
    }
    return "fine";
  });
  EXPECT_EQ(texts, Texts(8, "fine"));
}

TEST(LocalMeeting, ARankThatIsMissingIsNamed) {
  Texts texts = run(2, [](size_t i) {
    LocalMeeting meeting;
    return join(meeting, {static_cast<int>(2 * i), 4}, kSecond / 10);
  });
  EXPECT_EQ(texts, Texts(2, "2 of 4 ranks did not arrive in time: rank 1, 3"));
  // A rank that comes later is in a job of its own.
  LocalMeeting late;
  EXPECT_EQ(join(late, {1, 4}, kSecond / 100), "3 of 4 ranks did not arrive in time: rank 0, 2, 3");
}

TEST(LocalMeeting, WhoRunsSomethingElseIsRefused) {
  auto join2 = [](const Place &first, const Place &second) {
    LocalMeeting a, b;
    std::string text;
    std::thread other([&] { text = join(a, first); });
    // Which of them comes first is not said; both hear why they are not together.
    std::string own = join(b, second);
    other.join();
    EXPECT_EQ(own, text);
    return own;
  };
  std::string text = join2({0, 2}, {1, 3});
  EXPECT_TRUE(text == "rank 1 was started as one of 3 ranks, rank 0 as one of 2" ||
              text == "rank 0 was started as one of 2 ranks, rank 1 as one of 3")
      << text;
  text = join2({0, 2, "token", 1}, {1, 2, "token", 2});
  EXPECT_TRUE(text == "rank 1 runs another program or entry than rank 0" ||
              text == "rank 0 runs another program or entry than rank 1")
      << text;
  EXPECT_EQ(join2({1, 2}, {1, 2}), "two sessions are rank 1");
  EXPECT_EQ(run(2, [](size_t i) {
              LocalMeeting meeting;
              return join(meeting, {static_cast<int>(i), 2});
            }),
            Texts(2, ""))
      << "the token is free again";
}

TEST(LocalMeeting, WhoLeavesOrSaysNothingIsNamed) {
  for (bool leaves : {false, true}) {
    Texts texts = run(3, [&](size_t i) -> std::string {
      LocalMeeting meeting;
      std::string met = join(meeting, {static_cast<int>(i), 3}, leaves ? 20 * kSecond : kSecond / 5);
      if (!met.empty())
        return met;
      int32_t mine = 0, all[3];
      if (Status bad = meeting.gather(&mine, all, sizeof mine); bad.failed())
        return bad.message;
      if (i == 1 && leaves)
        return "";
      if (i == 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
      return meeting.gather(&mine, all, sizeof mine).message;
    });
    std::string why = leaves ? "rank 1 closed its session" : "rank 1 did not answer in time";
    EXPECT_EQ(texts, (Texts{why, leaves ? "" : why, why}));
  }
}

TEST(LocalMeeting, WindowsAreOneMemory) {
  std::vector<const char *> seen(2);
  Texts texts = run(2, [&](size_t i) -> std::string {
    LocalMeeting meeting;
    Windows windows(Provider::Local);
    if (std::string text = join(meeting, {static_cast<int>(i), 2}); !text.empty())
      return text;
    for (size_t bytes : {size_t(100), size_t(1) << 20}) {
      if (Status bad = windows.open(meeting, bytes); bad.failed())
        return bad.message;
      char *other = windows.bases()[1 - i];
      bool isZero = std::accumulate(other, other + bytes, 0) == 0;
      if (meeting.barrier().failed() || !isZero)
        return "not zero";
      windows.bases()[1 - i][bytes - 1] = static_cast<char>(7 + i);
      if (meeting.barrier().failed() || windows.bases()[i][bytes - 1] != static_cast<char>(8 - i))
        return "another memory";
    }
    seen[i] = windows.bases()[0];
    // Who closes first leaves the other one its memory.
    if (i == 0) {
      windows.close();
      (void)meeting.barrier();
      return "fine";
    }
    (void)meeting.barrier();
    return windows.bases()[0][(1 << 20) - 1] == 8 ? "fine" : "gone";
  });
  EXPECT_EQ(texts, Texts(2, "fine"));
  EXPECT_EQ(seen[0], seen[1]);
  // A size that no memory has.
  texts = run(2, [&](size_t i) -> std::string {
    LocalMeeting meeting;
    Windows windows(Provider::Local);
    std::string text = join(meeting, {static_cast<int>(i), 2});
    return text.empty() ? windows.open(meeting, size_t(1) << 55).message : text;
  });
  EXPECT_EQ(texts, Texts(2, "cannot have a window of 36028797018963968 bytes: Cannot allocate memory"));
}

} // namespace
