//===- StrangersTest.cpp - who connects without the job's token ---------------------------------------------------===//

#include "Job.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace moert;
using namespace moert::test;

namespace {

std::string meet(const Ranks &ranks) {
  Bootstrap group;
  Status status = group.join(ranks, 1, 60 * second);
  return status.failed() ? status.message : "met";
}

/// Two ranks meet while `count` strangers are connected, each of whom has sent `text`.
void meetBeside(int count, const std::string &text) {
  Job job(2);
  job.start(0, meet);
  std::vector<Socket> strangers(static_cast<size_t>(count));
  for (Socket &stranger : strangers) {
    ASSERT_FALSE(connectTo("127.0.0.1", job.port, Deadline(5 * second), stranger).failed());
    ASSERT_FALSE(stranger.send(text.data(), text.size(), Deadline(second)).failed());
  }
  job.start(1, meet);
  for (const Ending &ending : job.wait()) {
    EXPECT_EQ(ending.text, "met");
    EXPECT_LT(ending.seconds, 30);
  }
}

TEST(Strangers, ASilentOneDelaysNobody) { meetBeside(1, ""); }
TEST(Strangers, ManyDoNotEither) { meetBeside(400, ""); }
TEST(Strangers, NonsenseIsTurnedAway) { meetBeside(3, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); }
TEST(Strangers, TooMuchOfItToo) { meetBeside(3, std::string(100000, 'x')); }

/// Who says nothing holds descriptors: of a process that may open few, too.
TEST(Strangers, ManyLeaveRoomInAProcessOfFewDescriptors) {
  Job job(2);
  job.start(0, [](const Ranks &ranks) {
    const rlimit few{40, 40};
    return setrlimit(RLIMIT_NOFILE, &few) ? std::string("no limit") : meet(ranks);
  });
  std::vector<Socket> strangers(100);
  for (Socket &stranger : strangers)
    ASSERT_FALSE(connectTo("127.0.0.1", job.port, Deadline(5 * second), stranger).failed());
  job.start(1, meet);
  for (const Ending &ending : job.wait()) {
    EXPECT_EQ(ending.text, "met");
    EXPECT_LT(ending.seconds, 30);
  }
}

TEST(Strangers, AnotherTokenIsNoRank) {
  Job job(2);
  job.start(0, [](const Ranks &ranks) {
    Bootstrap group;
    return group.join(ranks, 1, 2 * second).message;
  });
  job.start(1, [](Ranks ranks) {
    ranks.token += "?";
    return meet(ranks);
  });
  std::vector<Ending> endings = job.wait();
  EXPECT_EQ(endings[0].text, "1 of 2 ranks did not arrive in time: rank 1");
  EXPECT_EQ(endings[1].text, "rank 0 closed the connection");
}

TEST(Strangers, ATokenThatDoesNotFitIsAnError) {
  Ranks ranks;
  ranks.ranks = 2;
  ranks.token = std::string(129, 'x');
  Bootstrap group;
  EXPECT_EQ(group.join(ranks, 1, second).message, "the job's token is longer than 128 bytes");
}

} // namespace
