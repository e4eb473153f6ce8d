//===- RankFaultsTest.cpp - a rank that fails, ends or stands still, wherever it is -------------------------------===//

#include "Job.h"
#include "RankSession.h"
#include "comm/Hosts.h"
#include "moert/archive.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace moert;
using namespace moert::test;

namespace {

const char *const kArchive = TOY_ROWS_WEIGHTS;
constexpr int64_t kDeadline = 1000; // milliseconds
constexpr double kMost = 2.5;       // seconds: deadline, one more, and what the test itself takes

/// What a rank says that runs a few calls.
std::string work(const Ranks &ranks, const char *entry = "rows3", const char *weights = kArchive,
                 const char *token = "token", float atEnd = 0) {
  RankSession s;
  if (s.open(entry, ranks.rank, ranks.ranks, ranks.port, kDeadline, weights, token))
    return s.error();
  RowsCall call(12, ranks.ranks);
  for (int i = 0; i < 3; ++i) {
    if (atEnd && i == 2)
      call.x[call.x.size() - 1] = atEnd;
    if (s.run(call))
      return s.error();
  }
  return s.check(call);
}

/// After whatever has happened, ranks that are started anew work.
void expectNextRunWorks() {
  for (const Ending &ending : Job(3).run([](const Ranks &ranks) { return work(ranks); }))
    EXPECT_EQ(ending.text, "fine");
}

TEST(RankFaults, ARankThatIsKilledOrStoppedInARunIsNamed) {
  // Where rank 1 ends, and where the others then wait: what it has sent before has come.
  const char *const places[][2] = {{"layer 0: rows to ranks", "layer 0: rows to ranks"},
                                   {"layer 0: rows back", "layer 1: rows to ranks"},
                                   {"the end", "the end"}};
  for (const auto &[phase, waiting] : places)
    for (int signal : {SIGKILL, SIGSTOP}) {
      setenv("TOY_FAULT", ("1 " + std::to_string(signal) + " " + phase).c_str(), 1);
      Job job(3);
      for (int rank : {0, 2, 1})
        job.start(rank, [](const Ranks &ranks) { return work(ranks); });
      // The survivors are waited for first.
      std::vector<Ending> endings = job.wait([&] { kill(job.process(2), SIGKILL); }, 2);
      unsetenv("TOY_FAULT");
      EXPECT_EQ(endings[2].signal, SIGKILL);
      for (size_t i : {0, 1}) {
        // That a process has ended is found out wherever one is.
        std::string own = i ? "rank 2" : "rank 0";
        std::string stopped = std::string(" waited 1 s for rank 1 in \"") + waiting + "\"";
        if (signal == SIGKILL)
          EXPECT_EQ(endings[i].text.rfind("rank 1 ended while " + own + " wa", 0), 0u) << endings[i].text;
        else // who gives up first tells the other one
          EXPECT_TRUE(endings[i].text == "rank 0" + stopped || endings[i].text == "rank 2" + stopped)
              << endings[i].text;
        EXPECT_LT(endings[i].seconds, signal == SIGKILL ? 1 : kMost);
      }
    }
  expectNextRunWorks();
}

TEST(RankFaults, TheEndOfAChainOfWaitsIsNamed) {
  // Ranks 2 and 3 exchange rows, and then 0 and 2 agree. Rank 0 has the least patience, and does not wait for rank 3.
  Job job(4);
  for (int rank : {0, 1, 2, 3})
    job.start(rank, [](const Ranks &ranks) -> std::string {
      if (ranks.rank == 3)
        setenv("TOY_FAULT", ("1 " + std::to_string(SIGSTOP) + " layer 0: rows to ranks").c_str(), 1);
      RankSession s;
      if (s.open("grid", ranks.rank, 4, ranks.port, ranks.rank ? 20 * kDeadline : kDeadline, kArchive))
        return s.error();
      return s.run(RowsCall(12, 2)) ? s.error() : "fine";
    });
  std::vector<Ending> endings = job.wait([&] { kill(job.process(3), SIGKILL); }, 3);
  for (size_t i : {0, 1, 2})
    EXPECT_EQ(endings[i].text, "rank 0 waited 1 s for rank 2 in \"the end\", which is held up by rank 3") << i;
  EXPECT_LT(endings[2].seconds, kMost);
}

TEST(RankFaults, NobodyIsNamedOfACircleOfWaits) {
  // Rank 3 is stopped while it waits for rank 2, and goes on saying so when rank 2 waits for it.
  Job job(4);
  for (int rank : {0, 1, 2, 3})
    job.start(rank, [](const Ranks &ranks) -> std::string {
      if (ranks.rank == 2)
        setenv("TOY_FAULT", ("0 " + std::to_string(SIGSTOP) + " layer 0: rows to ranks").c_str(), 1);
      RankSession s;
      if (s.open("grid", ranks.rank, 4, ranks.port, ranks.rank ? 20 * kDeadline : kDeadline, kArchive))
        return s.error();
      return s.run(RowsCall(12, 2)) ? s.error() : "fine";
    });
  int status = 0;
  ASSERT_EQ(waitpid(job.process(2), &status, WUNTRACED), job.process(2));
  ASSERT_TRUE(WIFSTOPPED(status));
  usleep(200000);
  kill(job.process(3), SIGSTOP);
  kill(job.process(2), SIGCONT);
  std::vector<Ending> endings = job.wait([&] { kill(job.process(3), SIGKILL); }, 3);
  for (size_t i : {0, 1, 2})
    EXPECT_EQ(endings[i].text, "rank 0 waited 1 s for rank 2 in \"the end\"") << i;
}

TEST(RankFaults, ARankThatNeverStartsIsNamed) {
  Job job(3);
  for (int rank : {0, 2})
    job.start(rank, [](const Ranks &ranks) { return work(ranks); });
  for (const Ending &ending : job.wait()) {
    EXPECT_NE(ending.text.find("could not meet the others: 1 of 3 ranks did not arrive in time: rank 1"),
              std::string::npos)
        << ending.text;
    EXPECT_LT(ending.seconds, kMost);
  }
  expectNextRunWorks();
}

/// All do the same but rank 1.
std::vector<Ending> runWithOther(const std::function<std::string(const Ranks &)> &other) {
  return Job(3).run([&](const Ranks &ranks) { return ranks.rank == 1 ? other(ranks) : work(ranks); });
}

TEST(RankFaults, AStrangerIsNotLetIn) {
  for (const Ending &ending : runWithOther([](const Ranks &r) { return work(r, "rows3", kArchive, "another"); })) {
    EXPECT_NE(ending.text.find("could not meet the others: "), std::string::npos) << ending.text;
    EXPECT_LT(ending.seconds, kMost);
  }
  expectNextRunWorks();
}

TEST(RankFaults, WhoRunsSomethingElseIsRefused) {
  std::vector<Ending> endings = runWithOther([](Ranks ranks) {
    ranks.ranks = 2; // and the program for two ranks
    return work(ranks, "rows2");
  });
  EXPECT_NE(endings[0].text.find("rank 1 was started as one of 2 ranks, rank 0 as one of 3"), std::string::npos);
  endings = Job(4).run([](const Ranks &r) { return work(r, r.rank == 2 ? "grid" : "rows4"); });
  EXPECT_NE(endings[0].text.find("rank 2 runs another program or entry than rank 0"), std::string::npos);
}

TEST(RankFaults, OtherWeightsAreRefused) {
  std::string others = testing::TempDir() + "others.weights";
  writeArchive(others, 3, 16, 2);
  for (const Ending &ending : runWithOther([&](const Ranks &r) { return work(r, "rows3", others.c_str()); }))
    EXPECT_EQ(ending.text, "rank 1 has other weights than rank 0");
  std::vector<Ending> endings = runWithOther([](const Ranks &r) { return work(r, "rows3", "/none"); });
  EXPECT_EQ(endings[1].text, "cannot open weights '/none': No such file or directory");
  for (size_t i : {0, 2}) {
    EXPECT_EQ(endings[i].text, "rank 1 failed: " + endings[1].text);
    EXPECT_LT(endings[i].seconds, 1);
  }
  expectNextRunWorks();
}

TEST(RankFaults, AVariantThatOneRankDoesNotFindIsHeardByAll) {
  std::vector<Ending> endings = Job(2).run([](const Ranks &ranks) -> std::string {
    std::string root = "127.0.0.1:" + std::to_string(ranks.port);
    moert_session_options options = {};
    options.entry = "ways";
    options.weights = kArchive;
    options.ranks = ranks.ranks;
    options.rank = ranks.rank;
    options.root = root.c_str();
    options.variant = ranks.rank ? "third" : "other";
    RankSession s;
    return moert_session_open(moert_session_programs(), &options, &s.session) ? s.error() : "open";
  });
  EXPECT_EQ(endings[1].text, "there is no variant 'third'; there are 'ep=2' (0), 'other' (1)");
  EXPECT_EQ(endings[0].text, "rank 1 failed: " + endings[1].text);
  EXPECT_LT(endings[0].seconds, 1);
}

TEST(RankFaults, ARankThatEndsWhileItOpensIsNamed) {
  for (int signal : {SIGKILL, SIGSTOP}) {
    Job job(3);
    auto other = [&](const Ranks &ranks) -> std::string {
      Bootstrap group;
      std::string identity = "89abcdef0123456789abcdef01234567 rows3 ep = 3";
      Ranks own = ranks;
      own.token = "token";
      if (group.join(own, checksum(identity.data(), identity.size()), 20 * second).failed())
        return "not met";
      (void)Hosts().find(group, "");
      raise(signal);
      return "";
    };
    for (int rank : {0, 2})
      job.start(rank, [](const Ranks &ranks) { return work(ranks); });
    job.start(1, other);
    std::vector<Ending> endings = job.wait([&] { kill(job.process(2), SIGKILL); }, 2);
    std::string what = signal == SIGKILL ? "closed the connection" : "did not answer in time";
    for (size_t i : {0, 1}) {
      EXPECT_EQ(endings[i].text, std::string(i ? "rank 2" : "rank 0") + " was opening its session: rank 1 " + what);
      EXPECT_LT(endings[i].seconds, kMost);
    }
  }
  expectNextRunWorks();
}

TEST(RankFaults, WhatOneRankRefusesIsToldToAll) {
  // The last token is that of rank 2.
  std::vector<Ending> endings =
      Job(3).run([](const Ranks &r) { return work(r, "rows3", kArchive, "token", 669); });
  EXPECT_EQ(endings[2].text, "the program does not like 669");
  for (size_t i : {0, 1}) {
    EXPECT_EQ(endings[i].text, "rank 2 failed: the program does not like 669");
    EXPECT_LT(endings[i].seconds, 1);
  }
  expectNextRunWorks();
}

TEST(RankFaults, ARankThatLeavesEarlyIsNamed) {
  std::vector<Ending> endings = runWithOther([](const Ranks &ranks) -> std::string {
    RankSession s;
    if (s.open("rows3", ranks.rank, 3, ranks.port, kDeadline, kArchive) || s.run(RowsCall(12, 3)))
      return s.error();
    return "left";
  });
  EXPECT_EQ(endings[1].text, "left");
  for (size_t i : {0, 2}) {
    // Who finds it out tells the other one.
    EXPECT_TRUE(endings[i].text.rfind("rank 1 left the job while rank 0 wa", 0) == 0 ||
                endings[i].text.rfind("rank 1 left the job while rank 2 wa", 0) == 0)
        << endings[i].text;
    EXPECT_LT(endings[i].seconds, 1);
  }
}

TEST(RankFaults, SizesThatNoMemoryHasAreRefused) {
  for (const char *said : {"1 9223372036854775807", "1 -1", "1 -9223372036854775808", "1 4611686018427387904"}) {
    setenv("TOY_TOKENS", said, 1);
    std::vector<Ending> endings = Job(3).run([](const Ranks &ranks) { return work(ranks); });
    unsetenv("TOY_TOKENS");
    for (const Ending &ending : endings) {
      std::string what = std::string("rank 1 says that it has ") + (said + 2) + " rows in \"the start of a run\"; ";
      EXPECT_EQ(ending.text.find(what), 0u) << ending.text;
      EXPECT_LT(ending.seconds, 1);
    }
  }
  // Possible, but of 192 bytes each.
  auto pages = static_cast<unsigned long long>(sysconf(_SC_PHYS_PAGES));
  setenv("TOY_TOKENS", ("1 " + std::to_string(pages * static_cast<unsigned long long>(sysconf(_SC_PAGESIZE)) / 4)).c_str(), 1);
  std::vector<Ending> endings = Job(3).run([](const Ranks &ranks) { return work(ranks); });
  unsetenv("TOY_TOKENS");
  for (const Ending &ending : endings)
    EXPECT_NE(ending.text.find(" bytes for each of 3 ranks in \"the start of a run\": this machine has "), std::string::npos)
        << ending.text;
  // With variants it is the first reservation that finds out.
  setenv("TOY_TOKENS", "1 -1", 1);
  endings = Job(2).run([](const Ranks &ranks) { return work(ranks, "ways"); });
  unsetenv("TOY_TOKENS");
  for (const Ending &ending : endings)
    EXPECT_EQ(ending.text.find("rank 1 says that it has -1 rows in \"the reservation for variant 'ep=2'\"; "), 0u)
        << ending.text;
  expectNextRunWorks();
}

/// Inputs that all ranks refuse alike leave the ranks together.
TEST(RankFaults, InputsThatAreWrongEndNothing) {
  for (const Ending &ending : Job(2).run([](const Ranks &ranks) -> std::string {
         RankSession s;
         if (s.open("rows2", ranks.rank, 2, ranks.port, kDeadline, kArchive))
           return s.error();
         RowsCall bad(12, 2), good(12, 2);
         bad.to[11] = 2; // a token of rank 1
         if (!s.run(bad) || s.error() != "input 'to': element 11 is 2, outside 0..1")
           return "taken: " + s.error();
         return s.run(good) ? s.error() : s.check(good);
       }))
    EXPECT_EQ(ending.text, "fine");
}

/// Every rank is given all of an input: its size is that of the others.
TEST(RankFaults, InputsOfOtherSizesEndNothing) {
  for (const char *entry : {"rows3", "both"})
    for (int other : {0, 1, 2}) {
      int count = entry[0] == 'r' ? 3 : 4, experts = entry[0] == 'r' ? 3 : 2;
      std::vector<Ending> endings = Job(count).run([&](const Ranks &ranks) -> std::string {
        RankSession s;
        if (s.open(entry, ranks.rank, count, ranks.port, kDeadline, kArchive))
          return s.error();
        RowsCall six(6, experts), three(3, experts);
        if (!s.run(ranks.rank == other ? three : six))
          return "taken";
        std::string first = s.error();
        if (s.run(six))
          return s.error();
        return s.check(six) == "fine" ? first : "wrong rows";
      });
      std::string whom = other ? std::to_string(other) : "1", its = other ? "3" : "6", first = other ? "6" : "3";
      for (const Ending &ending : endings)
        EXPECT_EQ(ending.text, "rank " + whom + " was given inputs with tokens = " + its +
                                   ", rank 0 with tokens = " + first);
    }
}

TEST(RankFaults, AfterAFailureTheRanksAreNotTogether) {
  std::vector<Ending> endings = Job(2).run([](const Ranks &ranks) -> std::string {
    RankSession s;
    if (s.open("rows2", ranks.rank, 2, ranks.port, kDeadline, kArchive))
      return s.error();
    RowsCall bad(12, 2), good(12, 2);
    bad.x[0] = 669;
    if (!s.run(bad))
      return "taken";
    std::string first = s.error();
    return s.run(good) && s.error() == first ? first : "another reason: " + s.error();
  });
  EXPECT_EQ(endings[0].text, "the program does not like 669");
  EXPECT_EQ(endings[1].text, "rank 0 failed: the program does not like 669");
}

} // namespace
