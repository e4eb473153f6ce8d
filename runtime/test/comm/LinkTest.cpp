//===- LinkTest.cpp - what a rank does with pieces of other hosts, good and bad -----------------------------------===//
//
// Ranks are threads, each on a host of its own. The wire between them is a list of pieces, to which a test adds some.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "comm/Link.h"
#include "comm/LocalMeeting.h"
#include "core/Clock.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace moert;

namespace {

constexpr int64_t kSecond = 1000000000;
constexpr uint64_t kSecret = 77;
constexpr uint32_t kWindow = 2;
constexpr size_t kBytes = size_t(4) << 20;

using Piece = std::vector<char>;

struct Network {
  explicit Network(size_t ranks) : coming(ranks), lost(ranks), longest(ranks, kPieceBytes), arming(ranks) {}

  std::mutex lock;
  std::vector<std::vector<Piece>> coming; ///< by rank
  std::vector<std::vector<int>> lost;     ///< by rank: whom it loses next
  std::vector<size_t> longest;            ///< by rank: Wire::longest()
  std::atomic<bool> isStuck{false};       ///< nothing is sent
  std::atomic<bool> holdsBodies{false};   ///< nothing with a body is sent
  std::atomic<int> sent{0};
  std::atomic<size_t> longestSent{0};
  std::vector<std::function<void()>> arming; ///< by rank: called once, by its thread that is about to sleep
  std::atomic<int> looks{-1};                ///< so often that thread then looked for what has come before it sent
};

class ListWire final : public Wire {
public:
  ListWire(Network &network, size_t own) : network(network), own(own) {}

  Status open(Client &to, int, const std::string &) override {
    client = &to;
    return {};
  }
  std::string version() const override { return "1.0"; }
  size_t longest() const override { return network.longest[own]; }
  std::string address() const override { return "here"; }
  Status connect(int, const std::string &) override { return {}; }
  bool send(int rank, char *buffer, const PackedPiece &piece) override {
    if (looks >= 0)
      network.looks = std::exchange(looks, -1);
    flights.push_back({buffer, rank, piece});
    return true;
  }
  bool progress() override {
    looks += looks >= 0;
    deliver();
    std::vector<Piece> pieces;
    std::vector<int> lost;
    {
      std::lock_guard<std::mutex> held(network.lock);
      pieces.swap(network.coming[own]);
      lost.swap(network.lost[own]);
    }
    for (const Piece &piece : pieces)
      client->came({piece.data(), piece.size()});
    for (int rank : lost)
      client->lost(rank, "planted");
    return !pieces.empty();
  }
  int descriptor() const override { return -1; }
  bool arm() override {
    std::function<void()> arming;
    {
      std::lock_guard<std::mutex> held(network.lock);
      arming.swap(network.arming[own]);
    }
    if (arming) {
      arming();
      looks = 0;
    }
    return false;
  }
  void close(Deadline) override {}

private:
  struct Flight {
    char *buffer;
    int rank;
    PackedPiece piece;
  };

  void deliver() {
    std::vector<Flight> waiting;
    waiting.swap(flights);
    for (const Flight &flight : waiting) {
      const PackedPiece &piece = flight.piece;
      if (network.isStuck || (piece.body && network.holdsBodies)) {
        flights.push_back(flight);
        continue;
      }
      Piece whole(flight.buffer, flight.buffer + piece.bytes);
      whole.insert(whole.end(), piece.body, piece.body + piece.bodyBytes);
      {
        std::lock_guard<std::mutex> held(network.lock);
        network.longestSent = std::max<size_t>(network.longestSent, whole.size());
        network.coming[static_cast<size_t>(flight.rank)].push_back(std::move(whole));
      }
      ++network.sent;
      client->wasSent(flight.buffer);
    }
  }

  Network &network;
  size_t own;
  Client *client = nullptr;
  std::vector<Flight> flights;
  int looks = -1; ///< since `arming`
};

struct Ear final : Link::Listener {
  void heard(int) override {}
  void aborted(int, uint32_t) override {}
  void lost(int rank) override { ranks |= 1u << rank; }
  void tick() override {}
  bool isEnding() const override { return ends; }

  std::atomic<unsigned> ranks{0}; ///< that were lost, by bit
  std::atomic<bool> ends{false};
};

bool comesTrue(const std::function<bool()> &condition, int64_t patience = 20 * kSecond) {
  for (Deadline deadline(patience); !condition(); usleep(1000))
    if (deadline.isOver())
      return false;
  return true;
}

/// One rank of several, with a window that the others store to.
struct Rank {
  Network &network;
  int own;
  LocalMeeting meeting;
  Link link;
  std::vector<char> window = std::vector<char>(kBytes);

  /// A piece that rank 1 has sent, as it seems. In order it is the second one: the first one was a greeting.
  void plant(PieceHead head, const std::vector<RangeHead> &ranges, size_t bytes) {
    head.ranges = static_cast<uint32_t>(ranges.size());
    Piece piece(sizeof head + ranges.size() * sizeof(RangeHead) + bytes, 9);
    std::memcpy(piece.data(), &head, sizeof head);
    if (!ranges.empty())
      std::memcpy(piece.data() + sizeof head, ranges.data(), ranges.size() * sizeof(RangeHead));
    std::lock_guard<std::mutex> held(network.lock);
    network.coming[static_cast<size_t>(own)].push_back(std::move(piece));
  }
};

/// Ranks do `body`, and leave together. `longest`: of their wires, by rank.
void run(int count, const std::function<void(Rank &)> &body, const std::vector<size_t> &longest = {}) {
  static std::atomic<int> jobs{0};
  const std::string job = std::to_string(++jobs);
  Network network(static_cast<size_t>(count));
  if (!longest.empty())
    network.longest = longest;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      Ranks ranks;
      ranks.rank = i;
      ranks.ranks = count;
      ranks.token = job;
      ranks.isLocal = true;
      Rank rank{network, i, {}, {}};
      ASSERT_EQ(rank.meeting.join(ranks, 1, 20 * kSecond).message, "");
      Hosts hosts;
      ASSERT_EQ(hosts.find(rank.meeting, "host " + std::to_string(i)).message, "");
      std::unique_ptr<Wire> wire(new ListWire(network, static_cast<size_t>(i)));
      ASSERT_EQ(rank.link.open(rank.meeting, hosts, {}, std::move(wire), "", kSecret, 20 * kSecond).message, "");
      rank.link.landing().open(kWindow, 1, rank.window.data(), nullptr, kBytes);
      EXPECT_FALSE(rank.meeting.barrier().failed());
      body(rank);
      EXPECT_FALSE(rank.meeting.barrier().failed());
      rank.link.listen(nullptr);
      network.isStuck = network.holdsBodies = false;
      rank.link.close();
    });
  for (std::thread &thread : threads)
    thread.join();
}

PieceHead second() { return {kSecret, 1, 1, 0, Deed()}; }

/// What becomes of rank 1 at rank 0 when that has come which `plant` adds; "" if it is not lost.
std::string outcomeOf(const std::function<void(Rank &)> &plant) {
  std::string outcome;
  run(2, [&](Rank &rank) {
    if (rank.own != 0)
      return;
    Ear ear;
    rank.link.listen(&ear);
    plant(rank);
    int64_t begin = now();
    if (comesTrue([&] { return ear.ranks == 2u; }, kSecond / 5))
      outcome = rank.link.whyLost(1);
    EXPECT_LT(now() - begin, 10 * kSecond);
    EXPECT_EQ(std::count(rank.window.begin(), rank.window.end(), 9), 0);
    rank.link.listen(nullptr);
  });
  return outcome;
}

RangeHead at(uint64_t offset, uint32_t bytes, bool isMirrored = false) {
  return {{kWindow, 1, offset}, bytes, isMirrored};
}

struct Case {
  const char *what;
  std::function<void(Rank &)> plant;
  bool isLost;
};

/// All at once, as a rank that is lost takes its second to leave.
void check(const std::vector<Case> &cases) {
  std::vector<std::thread> threads;
  for (const Case &each : cases)
    threads.emplace_back([&each] {
      EXPECT_EQ(outcomeOf(each.plant), each.isLost ? "sent what makes no sense" : "") << each.what;
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Link, ARankThatSendsNonsenseIsLostAtOnce) {
  auto piece = [](RangeHead range, size_t bytes) { return [=](Rank &rank) { rank.plant(second(), {range}, bytes); }; };
  auto withNumber = [](uint64_t number, int times) {
    return [=](Rank &rank) {
      PieceHead head = second();
      head.number = number;
      for (int i = 0; i < times; ++i)
        rank.plant(head, {}, 0);
    };
  };
  check({{"outside", piece(at(kBytes - 8, 16), 16), true},
         {"cut off", piece(at(0, 64), 8), true},
         {"nobody writes to this rank's mirrors of an axis's windows", piece(at(0, 16, true), 16), true},
         {"too long", piece(at(0, 8), kLongestBytes), true},
         {"it has come", withNumber(0, 1), true},
         {"too early", withNumber(2 + kMostEarly, 1), true},
         {"twice", withNumber(9, 2), true},
         {"as early as may be", withNumber(1 + kMostEarly, 1), false}});
}

TEST(Link, WhoDoesNotKnowTheJobIsNotHeard) {
  auto wrong = [](const PieceHead &head) { return [=](Rank &rank) { rank.plant(head, {at(kBytes, 16)}, 16); }; };
  check({{"another job's", wrong({kSecret + 1, 1, 1, 0, Deed()}), false},
         {"of a rank that is not there", wrong({kSecret, 1, 2, 0, Deed()}), false},
         {"of one below zero", wrong({kSecret, 1, -1, 0, Deed()}), false},
         {"of itself", wrong({kSecret, 1, 0, 0, Deed()}), false}});
}

TEST(Link, WhoListensLaterHearsOfAllThatAreLost) {
  run(3, [](Rank &rank) {
    if (rank.own != 0)
      return;
    {
      std::lock_guard<std::mutex> held(rank.network.lock);
      rank.network.lost[0] = {2, 1};
    }
    const std::string how = "ended, or its host cannot be reached (planted),";
    EXPECT_TRUE(comesTrue([&] { return rank.link.whyLost(1) == how && rank.link.whyLost(2) == how; }));
    Ear ear;
    rank.link.listen(&ear);
    EXPECT_EQ(ear.ranks, 6u);
    rank.link.listen(nullptr);
  });
}

TEST(Link, AWaitForWhatIsSentEndsWithTheJobAndKnowsTheRank) {
  run(3, [](Rank &rank) {
    if (rank.own != 0)
      return;
    EXPECT_EQ(rank.link.drain(20 * kSecond), -1);
    rank.network.isStuck = true;
    rank.link.to(2).close(Deed());
    rank.link.wake();
    EXPECT_EQ(rank.link.drain(kSecond / 20), 2);
    Ear ear;
    ear.ends = true;
    rank.link.listen(&ear);
    int64_t begin = now();
    EXPECT_EQ(rank.link.drain(60 * kSecond), 2);
    EXPECT_LT(now() - begin, 10 * kSecond);
    rank.network.isStuck = false;
    rank.link.listen(nullptr);
    EXPECT_EQ(rank.link.drain(20 * kSecond), -1);
  });
}

/// A rank that takes short packets gets short pieces, of all.
TEST(Link, PiecesAreAsLongAsAllRanksTakeThem) {
  for (size_t other : {kPieceBytes, kLongestBytes}) {
    auto body = [other](Rank &rank) {
      std::vector<char> mirror(kBytes, 7);
      if (rank.own == 0) {
        rank.link.to(1).add({mirror.data(), kBytes, {kWindow, 1, 0}, false});
        rank.link.to(1).close(Deed());
        rank.link.wake();
        EXPECT_EQ(rank.link.drain(20 * kSecond), -1);
        EXPECT_LE(rank.network.longestSent, other);
        EXPECT_GT(rank.network.longestSent, other - 8);
      } else {
        EXPECT_TRUE(comesTrue([&] { return __atomic_load_n(&rank.window.back(), __ATOMIC_ACQUIRE) == 7; }));
      }
      EXPECT_FALSE(rank.meeting.barrier().failed());
      if (rank.own == 1)
        EXPECT_EQ(std::count(rank.window.begin(), rank.window.end(), 7), static_cast<ptrdiff_t>(kBytes));
    };
    run(2, body, {kLongestBytes, other});
  }
}

/// The other side may wait for it, and what has come takes time to receive.
TEST(Link, WhatIsToBeSentGoesBeforeWhatHasCome) {
  run(2, [](Rank &rank) {
    if (rank.own != 0)
      return;
    {
      std::lock_guard<std::mutex> held(rank.network.lock);
      rank.network.arming[0] = [&rank] { rank.link.to(1).close(Deed()); };
    }
    EXPECT_TRUE(comesTrue([&] { return rank.network.looks >= 0; }));
    EXPECT_EQ(rank.network.looks, 0);
  });
}

TEST(Link, NothingOvertakesAPieceByTooMuch) {
  constexpr int kFlags = 500;
  constexpr size_t kBody = 32 << 10; // travels with its flag, in one piece
  run(2, [](Rank &rank) {
    std::vector<char> mirror(kBody, 7);
    auto flag = [&] {
      uint32_t word;
      std::memcpy(&word, rank.window.data(), sizeof word);
      return static_cast<int>(word);
    };
    if (rank.own == 0)
      rank.network.holdsBodies = true;
    EXPECT_FALSE(rank.meeting.barrier().failed());
    const int before = rank.network.sent;
    EXPECT_FALSE(rank.meeting.barrier().failed());
    if (rank.own == 0) {
      rank.link.to(1).add({mirror.data(), kBody, {kWindow, 1, 64}, false});
      for (uint32_t i = 1; i <= kFlags; ++i)
        rank.link.to(1).close({Deed::Raise, i, {kWindow, 1, 0}});
      rank.link.wake();
      auto sent = [&] { return rank.network.sent - before; };
      EXPECT_TRUE(comesTrue([&] { return sent() == static_cast<int>(kMostEarly) - 1; }));
      usleep(50000);
      EXPECT_EQ(sent(), static_cast<int>(kMostEarly) - 1);
      rank.network.holdsBodies = false;
      EXPECT_EQ(rank.link.drain(20 * kSecond), -1);
    } else {
      EXPECT_TRUE(comesTrue([&] { return flag() == kFlags; }));
      EXPECT_EQ(std::count(rank.window.begin() + 64, rank.window.end(), 7), static_cast<ptrdiff_t>(kBody));
    }
    EXPECT_FALSE(rank.meeting.barrier().failed());
  });
}

} // namespace
