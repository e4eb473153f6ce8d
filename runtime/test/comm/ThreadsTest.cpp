//===- ThreadsTest.cpp - windows and flags between threads --------------------------------------------------------===//

#include "comm/Boxes.h"
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

bool unpack(void *landing, const CamePiece &piece) {
  return static_cast<Landing *>(landing)->unpack(piece);
}

/// The threads of a launch store for a rank of another host while one sends; here it unpacks, too.
TEST(Threads, BoxesAreFilledWhileTheyAreSent) {
  constexpr int count = 3, words = 700, epochs = 200;
  std::vector<uint32_t> mirror(count * (words + 1)), there(mirror.size());
  Landing landing;
  landing.open(0, 1, reinterpret_cast<char *>(there.data()), nullptr, there.size() * sizeof(uint32_t));
  Outbox box;
  uint32_t done = 0, wrong = 0;
  auto store = [&](size_t first) {
    for (uint32_t epoch = 1; epoch <= epochs; ++epoch) {
      for (size_t i = 0; i < words; ++i) {
        uint32_t &word = mirror[first + 1 + i];
        word = epoch + static_cast<uint32_t>(i);
        box.add({reinterpret_cast<char *>(&word), sizeof word, {0, 1, (first + 1 + i) * 4}, false});
      }
      box.close({Deed::Raise, epoch, {0, 1, first * 4}});
      while (__atomic_load_n(&there[first], __ATOMIC_ACQUIRE) != epoch)
        std::this_thread::yield();
      for (size_t i = 0; i < words; ++i)
        if (there[first + 1 + i] != epoch + static_cast<uint32_t>(i))
          __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    }
    __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
  };
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < count; ++thread)
    threads.emplace_back(store, thread * (words + 1));
  Inbox inbox;
  std::vector<char> piece(2048);
  while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < count)
    if (PackedPiece packed = box.pack(piece.data(), piece.size(), piece.size(), 1, 0); packed.bytes)
      EXPECT_TRUE(inbox.add({piece.data(), packed.bytes}, unpack, &landing));
    else
      std::this_thread::yield();
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0u);
}

} // namespace
