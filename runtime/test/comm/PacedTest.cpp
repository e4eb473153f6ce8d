//===- PacedTest.cpp - boxes arrive whole, as late as their link says ---------------------------------------------===//

#include "../paced/Courier.h"

#include <algorithm>
#include <gtest/gtest.h>

using moert::paced::Courier;
using moert::paced::Link;

namespace {

constexpr int64_t kLatency = 5000;

/// A link of a byte per nanosecond.
Link link() { return Link(1e9, kLatency); }

TEST(Paced, ALinkSendsOneBoxAfterTheOther) {
  Link l = link();
  EXPECT_EQ(l.send(100, 1000), 100 + 1000 + kLatency);
  EXPECT_EQ(l.send(200, 10), 100 + 1000 + 10 + kLatency) << "it waits for the first";
  EXPECT_EQ(l.send(50000, 10), 50000 + 10 + kLatency) << "the link is free";
  EXPECT_EQ(Link(2e6, 0).send(0, 1000), 500000);
}

TEST(Paced, TheRateHoldsForManyBoxes) {
  Link l = link();
  int64_t arrival = 0;
  for (int i = 0; i < 1000; ++i)
    arrival = l.send(i, 512);
  EXPECT_EQ(arrival, 1000 * 512 + kLatency);
}

/// Rows of two peers, each with a flag.
struct Windows {
  char rows[2][4][64] = {};
  uint32_t flags[2][2] = {};
};

TEST(Paced, AFlagIsRaisedWhenItsBoxArrives) {
  for (bool carries : {false, true}) {
    Windows w;
    Courier courier(link(), carries);
    char row[64];
    std::fill_n(row, sizeof row, 'x');
    auto put = [&](int peer, int place) {
      if (!carries)
        std::copy_n(row, 64, w.rows[peer][place]);
      courier.put(peer, w.rows[peer][place], row, 64);
    };
    put(0, 0);
    put(1, 0);
    put(0, 1);
    EXPECT_EQ(courier.deliver(1000000), Courier::kNever) << "nothing is handed over";
    int64_t first = courier.signal(0, &w.flags[0][0], 7, 1000);
    EXPECT_EQ(first, 1000 + 2 * 64 + 4 + kLatency) << "of this peer's rows, and the flag";
    row[0] = 'y'; // the sender has other uses for its row
    EXPECT_EQ(courier.signal(1, &w.flags[1][1], 7, 1000), first + 64 + 4);
    EXPECT_EQ(courier.deliver(first - 1), first);
    EXPECT_EQ(w.flags[0][0], 0u);
    EXPECT_EQ(w.rows[0][0][0], carries ? 0 : 'x');
    EXPECT_EQ(courier.deliver(first), first + 68);
    EXPECT_EQ(w.flags[0][0], 7u);
    EXPECT_EQ(w.flags[1][1], 0u);
    for (char c : w.rows[0][0])
      EXPECT_EQ(c, 'x');
    EXPECT_EQ(w.rows[0][1][63], 'x');
    EXPECT_EQ(w.rows[0][2][0], 0);
    EXPECT_EQ(w.rows[1][0][0], carries ? 0 : 'x');
    EXPECT_EQ(courier.deliver(first + 68), Courier::kNever);
    EXPECT_EQ(w.flags[1][1], 7u);
    EXPECT_EQ(w.rows[1][0][63], 'x');
    EXPECT_TRUE(courier.isEmpty());
    EXPECT_EQ(courier.boxes, 2u);
    EXPECT_EQ(courier.bytes, 3 * 64 + 2 * 4u);
  }
}

TEST(Paced, AFlagWithoutRowsTakesTheLatency) {
  uint32_t flag = 0;
  Courier courier(link(), true);
  EXPECT_EQ(courier.signal(0, &flag, 1, 0), 4 + kLatency);
  EXPECT_EQ(courier.signal(0, &flag, 2, 10 * kLatency), 10 * kLatency + 4 + kLatency);
  courier.deliver(4 + kLatency);
  EXPECT_EQ(flag, 1u);
  courier.deliver(Courier::kNever - 1);
  EXPECT_EQ(flag, 2u);
}

} // namespace
