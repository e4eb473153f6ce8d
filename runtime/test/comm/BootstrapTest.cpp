//===- BootstrapTest.cpp - ranks meet, exchange, and agree on failures --------------------------------------------===//

#include "Job.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/utsname.h>

using namespace moert;
using namespace moert::test;

namespace {

TEST(Bootstrap, OneRankNeedsNobody) {
  Bootstrap alone;
  ASSERT_FALSE(alone.join(Ranks(), 1, second).failed());
  int64_t largest = 0;
  EXPECT_FALSE(alone.agree(7, largest).failed());
  EXPECT_EQ(largest, 7);
}

TEST(Bootstrap, AllGetWhatEachGives) {
  for (int count : {2, 3, 8}) {
    for (const Ending &ending : Job(count).run([count](const Ranks &ranks) -> std::string {
           Bootstrap group;
           if (Status bad = group.join(ranks, 1, 20 * second); bad.failed())
             return bad.message;
           for (int round = 0; round < 50; ++round) {
             std::vector<int32_t> mine(17, 1000 * ranks.rank + round), all(17 * static_cast<size_t>(count));
             if (Status bad = group.gather(mine.data(), all.data(), 17 * sizeof(int32_t)); bad.failed())
               return bad.message;
             for (int i = 0; i < 17 * count; ++i)
               if (all[static_cast<size_t>(i)] != 1000 * (i / 17) + round)
                 return "wrong";
           }
           int64_t largest = 0;
           if (Status bad = group.agree(5 - ranks.rank, largest); bad.failed() || largest != 5)
             return "no agreement " + bad.message;
           return "fine";
         }))
      EXPECT_EQ(ending.text, "fine");
  }
}

/// What the ranks say when rank `odd` does something else than the others.
std::vector<Ending> runWithOdd(int count, int odd, const Job::Body &others, const Job::Body &different) {
  return Job(count).run([&](const Ranks &ranks) { return ranks.rank == odd ? different(ranks) : others(ranks); });
}

std::string meet(const Ranks &ranks, uint64_t program, int64_t patience = 20 * second) {
  Bootstrap group;
  Status status = group.join(ranks, program, patience);
  return status.failed() ? status.message : "met";
}

TEST(Bootstrap, AMissingRankIsNamedToAll) {
  std::vector<Ending> endings =
      runWithOdd(4, 2, [](const Ranks &ranks) { return meet(ranks, 1, 2 * second); }, [](const Ranks &) { return ""; });
  for (int rank : {0, 1, 3}) {
    EXPECT_EQ(endings[static_cast<size_t>(rank)].text, "1 of 4 ranks did not arrive in time: rank 2") << rank;
    EXPECT_LT(endings[static_cast<size_t>(rank)].seconds, 8) << rank;
  }
}

TEST(Bootstrap, WithoutRankZeroTheOthersSaySo) {
  std::vector<Ending> endings =
      runWithOdd(3, 0, [](const Ranks &ranks) { return meet(ranks, 1, 2 * second); }, [](const Ranks &) { return ""; });
  for (size_t rank : {1, 2})
    EXPECT_NE(endings[rank].text.find("cannot meet rank 0: nobody answers at port "), std::string::npos);
}

TEST(Bootstrap, AnotherProgramIsRefused) {
  std::vector<Ending> endings = runWithOdd(
      3, 1, [](const Ranks &ranks) { return meet(ranks, 1); }, [](const Ranks &ranks) { return meet(ranks, 2); });
  // A rank that had not arrived by then finds nobody.
  EXPECT_EQ(endings[0].text, "rank 1 runs another program or entry than rank 0");
  EXPECT_EQ(endings[1].text, "rank 1 runs another program or entry than rank 0");
}

TEST(Bootstrap, TwoProcessesAreNotOneRank) {
  std::vector<Ending> endings = runWithOdd(
      3, 2, [](const Ranks &ranks) { return meet(ranks, 1, 2 * second); },
      [](Ranks ranks) {
        ranks.rank = 1;
        return meet(ranks, 1, 2 * second);
      });
  EXPECT_EQ(endings[0].text, "two processes are rank 1");
}

TEST(Bootstrap, RanksCountFromZero) {
  for (int odd : {2, 7}) {
    std::vector<Ending> endings = runWithOdd(
        2, 1, [](const Ranks &ranks) { return meet(ranks, 1, 5 * second); },
        [odd](Ranks ranks) {
          ranks.rank = odd;
          return meet(ranks, 1, 5 * second);
        });
    EXPECT_EQ(endings[0].text, "a process is rank " + std::to_string(odd) + " of 2; ranks count from 0");
    EXPECT_EQ(endings[1].text, endings[0].text);
  }
}

/// A variable that says nonsense takes no descriptor from the process, and costs no time.
TEST(Bootstrap, WhatDoesNotListenIsNoSocketOfAJob) {
  Job job(2);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (int listening : {ends[0], 1 << 20}) {
    Ranks ranks = job.ranks(0);
    ranks.listening = listening;
    Bootstrap group;
    EXPECT_EQ(group.join(ranks, 1, 60 * second).message,
              "MOE_LISTEN is " + std::to_string(listening) + ", which is no socket that listens");
  }
  EXPECT_EQ(close(ends[0]), 0);
  EXPECT_EQ(close(ends[1]), 0);
}

TEST(Bootstrap, OtherNumbersOfRanksAreRefused) {
  std::vector<Ending> endings = runWithOdd(
      2, 1, [](const Ranks &ranks) { return meet(ranks, 1); },
      [](Ranks ranks) {
        ranks.ranks = 3;
        return meet(ranks, 1);
      });
  EXPECT_EQ(endings[0].text, "rank 1 was started as one of 3 ranks, rank 0 as one of 2");
  EXPECT_EQ(endings[1].text, endings[0].text);
}

/// Rank 1 says by hand what one of another kind of machine would: magic, token, machine, program, rank, ranks.
std::vector<Ending> meetFrom(const std::string &machine, int32_t rank, int32_t ranks) {
  return runWithOdd(
      2, 1, [](const Ranks &own) { return meet(own, 1, 5 * second); },
      [=](const Ranks &own) -> std::string {
        char hello[8 + 128 + 56 + 8 + 4 + 4] = "moecomm3";
        std::memcpy(hello + 8, own.token.data(), own.token.size());
        std::memcpy(hello + 136, machine.data(), machine.size());
        std::memcpy(hello + 200, &rank, sizeof rank);
        std::memcpy(hello + 204, &ranks, sizeof ranks);
        Socket socket;
        if (connectTo(own.host, own.port, Deadline(5 * second), socket).failed() ||
            socket.send(hello, sizeof hello, Deadline(second)).failed())
          return "cannot say it";
        struct {
          uint32_t exchange, isError;
          uint64_t bytes;
        } frame;
        char text[200];
        if (socket.receive(&frame, sizeof frame, Deadline(5 * second)).failed() || frame.bytes > sizeof text ||
            socket.receive(text, frame.bytes, Deadline(second)).failed())
          return "heard nothing";
        return std::string(text, frame.bytes);
      });
}

TEST(Bootstrap, AnotherKindOfMachineIsRefused) {
  struct utsname about;
  uname(&about);
  const std::string here = std::string(about.machine) + ", 64 bits, little-endian";
  auto swapped = [](int32_t value) { return static_cast<int32_t>(__builtin_bswap32(static_cast<uint32_t>(value))); };
  for (std::string there : {"riscv64, 64 bits, little-endian", "s390x, 64 bits, big-endian",
                            "i686, 32 bits, little-endian"}) {
    bool isSwapped = there.find("big") != std::string::npos;
    std::vector<Ending> endings = meetFrom(there, isSwapped ? swapped(1) : 1, isSwapped ? swapped(2) : 2);
    for (const Ending &ending : endings)
      EXPECT_EQ(ending.text, "rank 1 runs on " + there + ", rank 0 on " + here +
                                 ": all ranks of a job need one kind of machine");
  }
  EXPECT_EQ(meetFrom("a\n\x1b[2J" + std::string(50, 'x'), 1, 2)[0].text.find('\n'), std::string::npos) << "hostile";
}

TEST(Bootstrap, ARankAtAnotherPlaceOfTheProgramIsFound) {
  auto body = [](size_t bytes) {
    return [bytes](const Ranks &ranks) -> std::string {
      Bootstrap group;
      if (Status bad = group.join(ranks, 1, 20 * second); bad.failed())
        return bad.message;
      char mine[8] = {}, all[24];
      Status status = group.gather(mine, all, bytes);
      return status.failed() ? status.message : "fine";
    };
  };
  std::vector<Ending> endings = runWithOdd(3, 1, body(8), body(4));
  std::string expected = "rank 1 is at another place of the program: exchange 2 of 4 bytes, not 2 of 8";
  EXPECT_EQ(endings[0].text, expected);
  EXPECT_EQ(endings[2].text, expected);
}

} // namespace
