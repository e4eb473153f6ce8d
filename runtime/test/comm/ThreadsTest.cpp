//===- ThreadsTest.cpp - windows and flags between threads --------------------------------------------------------===//

#include "comm/Peers.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace moert;

namespace {

TEST(Threads, WhatWasStoredBeforeASignalIsThereAfterTheWait) {
  constexpr int count = 3, words = 64, epochs = 300;
  // A window: per sender a flag, a flag that its row was read, and a row.
  std::vector<std::vector<uint32_t>> windows(count, std::vector<uint32_t>(count * (words + 2)));
  std::vector<char *> bases;
  for (auto &window : windows)
    bases.push_back(reinterpret_cast<char *>(window.data()));
  uint32_t abort = 0;
  std::vector<uint32_t> status(count), wrong(count);
  auto run = [&](int rank) {
    moert_peers peers{bases.data(), rank,   count,
                      nullptr,      &abort, &status[static_cast<size_t>(rank)],
                      int64_t(60) * 1000000000, nullptr, nullptr, nullptr};
    auto part = [&](int owner, int sender) {
      return reinterpret_cast<uint32_t *>(peers.base[owner]) + sender * (words + 2);
    };
    for (uint32_t epoch = 1; epoch <= epochs; ++epoch) {
      for (int peer = 0; peer < count; ++peer) {
        if (!moert_await(&peers, part(rank, peer) + 1, epoch - 1, peer, -1))
          return;
        for (int i = 0; i < words; ++i)
          part(peer, rank)[2 + i] = epoch + static_cast<uint32_t>(rank * i);
        signal(part(peer, rank), epoch);
      }
      for (int peer = 0; peer < count; ++peer) {
        if (!moert_await(&peers, part(rank, peer), epoch, peer, -1))
          return;
        for (int i = 0; i < words; ++i)
          wrong[static_cast<size_t>(rank)] += part(rank, peer)[2 + i] != epoch + static_cast<uint32_t>(peer * i);
        signal(part(peer, rank) + 1, epoch);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back(run, rank);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<uint32_t>(count));
  EXPECT_EQ(status, std::vector<uint32_t>(count));
}

} // namespace
