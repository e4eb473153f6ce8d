//===- LostRankTest.cpp - a rank that ends or stands still --------------------------------------------------------===//

#include "Job.h"
#include "comm/Peers.h"
#include "comm/Watch.h"
#include "comm/Windows.h"

#include <gtest/gtest.h>

using namespace moert;
using namespace moert::test;

namespace {

/// All wait for a flag that nobody raises; `lost` is killed when they have begun.
std::vector<Ending> lose(int count, int lost) {
  return Job(count).run([lost](const Ranks &ranks) -> std::string {
    Bootstrap group;
    Windows windows;
    Watch watch;
    uint32_t abort = 0, status = 0;
    if (Status bad = group.join(ranks, 1, 20 * second); bad.failed())
      return bad.message;
    if (windows.open(group, 4096).failed() || watch.start(group, &abort).failed())
      return "no windows";
    moert_peers peers{windows.bases(), ranks.rank,  ranks.ranks, nullptr, &abort,
                      &status,         60 * second, nullptr, nullptr, nullptr};
    if (ranks.rank == lost) {
      usleep(200000);
      raise(SIGKILL);
    }
    const uint32_t *flag = reinterpret_cast<uint32_t *>(peers.base[ranks.rank]);
    bool came = moert_await(&peers, flag, 1, 39, -1);
    std::string text = came ? "came" : "status " + std::to_string(status) + " abort " + std::to_string(abort);
    // Who ends while another one has not yet looked could be taken for the lost one.
    for (int rank = 0; rank < ranks.ranks; ++rank)
      signal(reinterpret_cast<uint32_t *>(peers.base[rank]) + 1 + ranks.rank, 1);
    uint32_t none = 0, ignored = 0;
    moert_peers survivors = peers;
    survivors.abort = &none;
    survivors.status = &ignored;
    survivors.patience = 5 * second;
    for (int rank = 0; rank < ranks.ranks; ++rank)
      if (rank != lost)
        moert_await(&survivors, flag + 1 + rank, 1, rank, -1);
    watch.stop();
    return text;
  });
}

TEST(LostRank, AKilledOneEndsTheWaitsOfTheOthersAtOnce) {
  for (int lost : {0, 2}) {
    std::vector<Ending> endings = lose(3, lost);
    for (int rank = 0; rank < 3; ++rank)
      if (rank == lost)
        EXPECT_EQ(endings[static_cast<size_t>(rank)].signal, SIGKILL);
      else {
        EXPECT_EQ(endings[static_cast<size_t>(rank)].text, "status 40 abort " + std::to_string(lost + 1));
        EXPECT_LT(endings[static_cast<size_t>(rank)].seconds, 10);
      }
  }
}

/// The end of a rank that has said goodbye is none of a loss, and the next one is.
TEST(LostRank, AGoodbyeIsHeard) {
  std::vector<Ending> endings = Job(3).run([](const Ranks &ranks) -> std::string {
    Bootstrap group;
    Windows windows;
    Watch watch;
    uint32_t abort = 0;
    if (group.join(ranks, 1, 20 * second).failed() || windows.open(group, 4096).failed())
      return "no windows";
    std::vector<const uint32_t *> goodbyes;
    for (int rank = 0; rank < 3; ++rank)
      goodbyes.push_back(reinterpret_cast<uint32_t *>(windows.bases()[rank]));
    if (watch.start(group, &abort, goodbyes).failed())
      return "no watch";
    if (ranks.rank == 1) {
      signal(reinterpret_cast<uint32_t *>(windows.bases()[1]), 1);
      _exit(0);
    }
    usleep(300000);
    uint32_t before = __atomic_load_n(&abort, __ATOMIC_ACQUIRE);
    if (ranks.rank == 2)
      usleep(200000), raise(SIGKILL);
    for (int i = 0; i < 2000 && !__atomic_load_n(&abort, __ATOMIC_ACQUIRE); ++i)
      usleep(1000);
    watch.stop();
    return std::to_string(before) + " " + std::to_string(abort);
  });
  EXPECT_EQ(endings[0].text, "0 3");
}

TEST(LostRank, AStoppedOneEndsThemByDeadline) {
  Job job(2);
  auto wait = [](const Ranks &ranks) -> std::string {
    Bootstrap group;
    Windows windows;
    uint32_t abort = 0, status = 0;
    if (group.join(ranks, 1, 20 * second).failed() || windows.open(group, 4096).failed())
      return "no windows";
    if (ranks.rank == 1)
      raise(SIGSTOP);
    moert_peers peers{windows.bases(), ranks.rank,  ranks.ranks, nullptr, &abort,
                      &status,         second / 4, nullptr, nullptr, nullptr};
    bool came = moert_await(&peers, reinterpret_cast<uint32_t *>(peers.base[0]), 1, 6, -1);
    return came ? "came" : "status " + std::to_string(status);
  };
  job.start(0, wait);
  job.start(1, wait);
  // Rank 0 has given up long before rank 1 may go on.
  sleep(2);
  kill(job.process(1), SIGCONT);
  EXPECT_EQ(job.wait()[0].text, "status 7");
}

TEST(LostRank, AnExchangeNamesWhoWasKilled) {
  for (int lost : {1, 2}) {
    std::vector<Ending> endings = Job(3).run([lost](const Ranks &ranks) -> std::string {
      Bootstrap group;
      if (Status bad = group.join(ranks, 1, 20 * second); bad.failed())
        return bad.message;
      if (ranks.rank == lost)
        raise(SIGKILL);
      return group.barrier().message;
    });
    for (int rank = 0; rank < 3; ++rank)
      if (rank != lost)
        EXPECT_EQ(endings[static_cast<size_t>(rank)].text, "rank " + std::to_string(lost) + " closed the connection");
  }
}

TEST(LostRank, RankZeroToo) {
  std::vector<Ending> endings = Job(2).run([](const Ranks &ranks) -> std::string {
    Bootstrap group;
    if (Status bad = group.join(ranks, 1, 20 * second); bad.failed())
      return bad.message;
    if (ranks.rank == 0)
      raise(SIGKILL);
    return group.barrier().message;
  });
  EXPECT_EQ(endings[1].text, "rank 0 closed the connection");
}

TEST(LostRank, AnExchangeHasADeadline) {
  Job job(3);
  auto exchange = [](const Ranks &ranks) -> std::string {
    Bootstrap group;
    if (Status bad = group.join(ranks, 1, second); bad.failed())
      return bad.message;
    if (ranks.rank == 2)
      raise(SIGSTOP);
    return group.barrier().message;
  };
  for (int rank = 0; rank < 3; ++rank)
    job.start(rank, exchange);
  sleep(4);
  kill(job.process(2), SIGCONT);
  std::vector<Ending> endings = job.wait();
  for (size_t rank : {0, 1})
    EXPECT_EQ(endings[rank].text, "rank 2 did not answer in time");
}

} // namespace
