//===- WindowsTest.cpp - rows that ranks store into each other's memory -------------------------------------------===//

#include "Job.h"
#include "comm/Peers.h"
#include "comm/Windows.h"

#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace moert;
using namespace moert::test;

namespace {

/// Joins and opens windows; calls `body` with what kernels see.
std::string withWindows(const Ranks &ranks, size_t bytes, const std::function<std::string(const moert_peers &)> &body) {
  Bootstrap group;
  Windows windows;
  if (Status bad = group.join(ranks, 1, 20 * second); bad.failed())
    return bad.message;
  if (Status bad = windows.open(group, bytes); bad.failed())
    return bad.message;
  uint32_t epoch = 0, abort = 0, status = 0;
  std::string text =
      body({windows.bases(), ranks.rank, ranks.ranks, &epoch, &abort, &status, 10 * second, nullptr, nullptr, nullptr});
  return group.barrier().failed() ? "no barrier" : text;
}

/// Each rank sends rows of 512 bytes to each other one, epoch after epoch. A window holds a flag and a buffer per
/// sender, and a flag per receiver by which it says that the buffer may be written again.
std::string exchange(const moert_peers &peers) {
  constexpr int rows = 20, rowWords = 128;
  size_t stride = 128 + rows * rowWords * sizeof(uint32_t);
  auto part = [&](int owner, int sender) { return peers.base[owner] + static_cast<size_t>(sender) * stride; };
  auto word = [](char *at) { return reinterpret_cast<uint32_t *>(at); };
  for (uint32_t epoch = 1; epoch <= 200; ++epoch) {
    for (int i = 1; i < peers.ranks; ++i) {
      int peer = (peers.rank + i) % peers.ranks;
      if (!moert_await(&peers, word(part(peers.rank, peer) + 64), epoch - 1, peer, -1))
        return "no room";
      uint32_t *to = word(part(peer, peers.rank) + 128);
      for (int j = 0; j < rows * rowWords; ++j)
        to[j] = epoch * 31 + static_cast<uint32_t>(peers.rank * 7 + j);
      signal(word(part(peer, peers.rank)), epoch);
    }
    for (int i = 1; i < peers.ranks; ++i) {
      int peer = (peers.rank + i) % peers.ranks;
      if (!moert_await(&peers, word(part(peers.rank, peer)), epoch, peer, -1))
        return "nothing came";
      const uint32_t *from = word(part(peers.rank, peer) + 128);
      for (int j = 0; j < rows * rowWords; ++j)
        if (from[j] != epoch * 31 + static_cast<uint32_t>(peer * 7 + j))
          return "a wrong row";
      signal(word(part(peer, peers.rank) + 64), epoch);
    }
  }
  return "fine";
}

TEST(Windows, RowsArriveWholeAndInOrder) {
  for (int count : {1, 2, 4})
    for (const Ending &ending :
         Job(count).run([](const Ranks &ranks) { return withWindows(ranks, 64 << 10, exchange); }))
      EXPECT_EQ(ending.text, "fine");
}

TEST(Windows, EpochsWrapAround) {
  uint32_t abort = 0, status = 0, flag = UINT32_MAX - 1;
  moert_peers peers{nullptr, 0, 1, nullptr, &abort, &status, second / 100, nullptr, nullptr, nullptr};
  EXPECT_TRUE(moert_await(&peers, &flag, UINT32_MAX - 1, 0, -1));
  EXPECT_FALSE(moert_await(&peers, &flag, 2, 4, -1)) << "2 comes after UINT32_MAX - 1";
  EXPECT_EQ(status, 5u);
  peers.patience = 60 * second; // after a wait that failed the next one ends at once
  EXPECT_FALSE(moert_await(&peers, &flag, UINT32_MAX, 5, -1));
  EXPECT_EQ(status, 5u) << "the first wait that failed";
  flag = 3;
  EXPECT_TRUE(moert_await(&peers, &flag, UINT32_MAX, 6, -1)) << "what has come is there";
}

TEST(Windows, AWindowIsZeroAndWhatWasAskedFor) {
  for (const Ending &ending : Job(2).run([](const Ranks &ranks) {
         return withWindows(ranks, 3 << 20, [](const moert_peers &peers) -> std::string {
           for (size_t i = 0; i < 3 << 20; ++i)
             if (peers.base[peers.rank][i])
               return "not zero";
           return "fine";
         });
       }))
    EXPECT_EQ(ending.text, "fine");
}

TEST(Windows, DifferentSizesAreRefusedOnAllRanks) {
  for (const Ending &ending : Job(2).run([](const Ranks &ranks) {
         return withWindows(ranks, ranks.rank ? 4096 : 8192, [](const moert_peers &) { return "opened"; });
       }))
    EXPECT_NE(ending.text.find(" wants a window of "), std::string::npos) << ending.text;
}

TEST(Windows, MemoryThatCannotBeHadIsAnErrorOnAllRanks) {
  // Files may not grow beyond 1 MiB in rank 1, as in a memory that is full.
  std::vector<Ending> endings = Job(2).run([](const Ranks &ranks) {
    rlimit limit{1 << 20, 1 << 20};
    std::signal(SIGXFSZ, SIG_IGN);
    if (ranks.rank == 1)
      setrlimit(RLIMIT_FSIZE, &limit);
    return withWindows(ranks, 4 << 20, [](const moert_peers &) { return "opened"; });
  });
  EXPECT_EQ(endings[0].text, "rank 1 cannot have a window of 4194304 bytes");
  EXPECT_EQ(endings[1].text, "cannot have a window of 4194304 bytes: File too large");
}

/// What rank 0 says of the windows when rank 1 offers the file that `open` returns in place of its own, with a number
/// that is wrong by so much.
std::string offerInstead(int (*open)(), uint64_t wrongBy) {
  std::vector<Ending> endings = Job(2).run([&](const Ranks &ranks) -> std::string {
    Bootstrap group;
    if (Status bad = group.join(ranks, 1, 20 * second); bad.failed())
      return bad.message;
    if (ranks.rank == 0)
      return Windows().open(group, 4096).message;
    struct stat about;
    int fd = open();
    if (fd < 0 || ftruncate(fd, 4096) || fstat(fd, &about))
      return "no file";
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL); // which only memory takes
    struct {
      int64_t process;
      int32_t fd, isMade;
      uint64_t bytes, file;
    } mine{getpid(), fd, 1, 4096, about.st_ino + wrongBy}, all[2];
    int32_t isFine = 1, outcomes[2];
    if (group.gather(&mine, all, sizeof mine).failed() || group.gather(&isFine, outcomes, sizeof isFine).failed())
      return "no exchange";
    return outcomes[0] ? "taken" : "refused";
  });
  EXPECT_EQ(endings[1].text, endings[0].text.empty() ? "taken" : "refused");
  return endings[0].text;
}

TEST(Windows, AnotherFileIsNoWindow) {
  auto memory = [] { return memfd_create("test", MFD_ALLOW_SEALING); };
  auto unsealed = [] { return memfd_create("test", 0); };
  auto file = [] { return dup(fileno(tmpfile())); };
  EXPECT_EQ(offerInstead(memory, 0), "");
  const char *found = "what is found as the window of rank 1 is another file";
  // Of the same name but not the one that was meant, as with other numbers of processes; or one that can be cut off.
  EXPECT_NE(offerInstead(memory, 1).find(found), std::string::npos);
  EXPECT_NE(offerInstead(unsealed, 0).find(found), std::string::npos);
  EXPECT_NE(offerInstead(file, 0).find(found), std::string::npos);
}

TEST(Windows, NothingHasAName) {
  for (const Ending &ending : Job(2).run([](const Ranks &ranks) {
         return withWindows(ranks, 4096, [](const moert_peers &) -> std::string {
           return system("ls /dev/shm | grep -q moe") == 0 ? "a segment in /dev/shm" : "fine";
         });
       }))
    EXPECT_EQ(ending.text, "fine");
}

} // namespace
