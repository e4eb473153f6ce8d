//===- BoxesTest.cpp - what is stored for a rank of another host arrives whole and in order -----------------------===//

#include "comm/Boxes.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace moert;

namespace {

constexpr uint64_t kSecret = 99;
constexpr uint32_t kWindow = 3, kOpening = 5;

/// A window of another rank: its mirror here, and what is there.
struct Pair {
  explicit Pair(size_t bytes) : mirror(bytes), there(bytes) {
    landing.open(kWindow, kOpening, there.data(), nullptr, bytes);
  }

  void store(Outbox &box, size_t offset, size_t bytes, int value) {
    std::memset(&mirror[offset], value, bytes);
    box.add({&mirror[offset], bytes, {kWindow, kOpening, offset}, false});
  }
  Deed raise(size_t offset, uint32_t epoch) const { return {Deed::Raise, epoch, {kWindow, kOpening, offset}}; }
  uint32_t flag(size_t offset) const {
    uint32_t word;
    std::memcpy(&word, &there[offset], sizeof word);
    return word;
  }

  std::vector<char> mirror, there;
  Landing landing;
};

std::vector<std::vector<char>> pack(Outbox &box, size_t most, size_t longest = 0) {
  std::vector<std::vector<char>> pieces;
  std::vector<char> piece(most);
  longest = std::max(most, longest);
  for (PackedPiece packed; (packed = box.pack(piece.data(), most, longest, 1, kSecret)).bytes;) {
    EXPECT_LE(packed.bytes + packed.bodyBytes, packed.body ? longest : most);
    pieces.emplace_back(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(packed.bytes));
    pieces.back().insert(pieces.back().end(), packed.body, packed.body + packed.bodyBytes);
  }
  return pieces;
}

/// A piece of one range, as a wire gives it that keeps the body apart.
struct Apart {
  explicit Apart(const std::vector<char> &piece)
      : heads(piece.begin(), piece.begin() + kHeads), body(piece.begin() + kHeads, piece.end()) {}
  operator CamePiece() const { return {heads.data(), heads.size(), body.data(), body.size()}; }

  static constexpr ptrdiff_t kHeads = sizeof(PieceHead) + sizeof(RangeHead);
  std::vector<char> heads, body;
};

PieceHead headOf(const std::vector<char> &piece) {
  PieceHead head;
  std::memcpy(&head, piece.data(), sizeof head);
  return head;
}

bool unpack(void *landing, const CamePiece &piece) { return static_cast<Landing *>(landing)->unpack(piece); }

TEST(Boxes, ArriveWholeInAnyOrderOfPieces) {
  std::mt19937 random(1);
  struct Limits {
    size_t most, longest;
  };
  for (auto [most, longest] :
       {Limits{600, 600}, {1000, 1000}, {4096, 4096}, {kPieceBytes, kPieceBytes}, {20000, 100000}}) {
    Pair pair(1 << 20);
    Outbox box;
    Inbox inbox;
    for (uint32_t round = 1; round <= 4; ++round) {
      for (int i = 0; i < 60; ++i) {
        // Some are longer than a piece, and travel without being copied into it.
        size_t bytes = 1 + random() % (i % 10 ? 3000 : 150000), offset = 64 + random() % ((1 << 20) - 150100);
        pair.store(box, offset, bytes, static_cast<int>(random()));
      }
      box.close(pair.raise(4 * round, round));
    }
    auto pieces = pack(box, most, longest);
    EXPECT_TRUE(box.isEmpty());
    // Windows of 16 pieces are mixed up.
    for (size_t begin = 0; begin < pieces.size(); begin += 16)
      std::shuffle(pieces.begin() + static_cast<ptrdiff_t>(begin),
                   pieces.begin() + static_cast<ptrdiff_t>(std::min(begin + 16, pieces.size())), random);
    size_t apart = 0;
    for (const std::vector<char> &piece : pieces)
      if (headOf(piece).ranges == 1 && ++apart % 2)
        EXPECT_TRUE(inbox.add(Apart(piece), unpack, &pair.landing));
      else
        EXPECT_TRUE(inbox.add({piece.data(), piece.size()}, unpack, &pair.landing));
    EXPECT_GT(apart, 2u);
    EXPECT_EQ(inbox.count(), pieces.size());
    EXPECT_EQ(std::memcmp(&pair.mirror[64], &pair.there[64], (1 << 20) - 64), 0);
    for (uint32_t round = 1; round <= 4; ++round)
      EXPECT_EQ(pair.flag(4 * round), round);
  }
}

TEST(Boxes, WhatIsNotCopiedTravelsInFewPieces) {
  constexpr size_t kBytes = size_t(4) << 20;
  Pair pair(kBytes);
  Outbox box;
  Inbox inbox;
  pair.store(box, 64, 3, 1); // of no alignment
  pair.store(box, 1003, kBytes - 2048, 2);
  box.close(pair.raise(0, 1));
  auto pieces = pack(box, kPieceBytes, kLongestBytes);
  EXPECT_EQ(pieces.size(), 2 + (kBytes + kLongestBytes - 1) / kLongestBytes) << "the flag is behind a long box";
  for (const std::vector<char> &piece : pieces)
    EXPECT_TRUE(inbox.add({piece.data(), piece.size()}, unpack, &pair.landing));
  EXPECT_EQ(std::memcmp(&pair.mirror[64], &pair.there[64], kBytes - 64), 0);
  EXPECT_EQ(pair.flag(0), 1u);
}

TEST(Boxes, AFlagIsRaisedBehindAllThatWasStoredBefore) {
  Pair pair(4096);
  Outbox box;
  Inbox inbox;
  pair.store(box, 1024, 2048, 7);
  box.close(pair.raise(0, 1));
  auto pieces = pack(box, 1024);
  ASSERT_GT(pieces.size(), 2u);
  for (size_t i = pieces.size(); i-- > 1;)
    EXPECT_TRUE(inbox.add({pieces[i].data(), pieces[i].size()}, unpack, &pair.landing));
  EXPECT_EQ(pair.flag(0), 0u) << "the first piece is missing";
  EXPECT_EQ(pair.there[2000], 0);
  EXPECT_TRUE(inbox.add({pieces[0].data(), pieces[0].size()}, unpack, &pair.landing));
  EXPECT_EQ(pair.flag(0), 1u);
  EXPECT_EQ(pair.there[3071], 7);
}

/// Sends two long boxes of rows, and a row with a flag.
void sendLongBoxes(size_t rowBytes) {
  const size_t rows = 2 * ((kLongBox + rowBytes - 1) / rowBytes) + 1;
  Pair pair(rowBytes * (rows + 1));
  Outbox box;
  Inbox inbox;
  size_t longBoxes = 0;
  auto deliver = [&] {
    auto pieces = pack(box, kPieceBytes, kLongestBytes);
    for (const std::vector<char> &piece : pieces)
      EXPECT_TRUE(inbox.add({piece.data(), piece.size()}, unpack, &pair.landing));
    return pieces.size();
  };
  for (size_t row = 1; row <= rows; ++row) {
    std::memset(&pair.mirror[row * rowBytes], 7, rowBytes);
    bool isLong = box.add({&pair.mirror[row * rowBytes], rowBytes, {kWindow, kOpening, row * rowBytes}, false});
    longBoxes += isLong;
    EXPECT_EQ(deliver(), isLong ? 1u : 0u) << row;
    EXPECT_EQ(pair.there[row * rowBytes], isLong ? 7 : 0) << row;
  }
  EXPECT_EQ(longBoxes, 2u);
  EXPECT_EQ(pair.flag(0), 0u);
  box.close(pair.raise(0, 1));
  EXPECT_EQ(deliver(), 1u);
  EXPECT_EQ(pair.flag(0), 1u);
  EXPECT_EQ(std::memcmp(&pair.mirror[rowBytes], &pair.there[rowBytes], rowBytes * rows), 0);
}

TEST(Boxes, ALongBoxDoesNotWaitForItsFlagAndIsOnePiece) {
  for (size_t rowBytes : {size_t(64) << 10, size_t(10240), size_t(20480), size_t(28672)}) {
    SCOPED_TRACE(rowBytes);
    sendLongBoxes(rowBytes);
  }
}

TEST(Boxes, NeighboursTravelTogetherAndCopiesAtOnce) {
  Pair pair(4096);
  Outbox box;
  for (size_t row = 0; row < 8; ++row) { // in turn with what else belongs to a row
    pair.store(box, 64 + 32 * row, 32, static_cast<int>(row));
    pair.store(box, 1024 + 8 * row, 8, 9);
  }
  char news[8] = "news";
  box.copy({news, sizeof news, {kWindow, kOpening, 512}, false}, Deed());
  std::strcpy(news, "old");
  auto pieces = pack(box, 1024);
  ASSERT_EQ(pieces.size(), 1u) << "the copy alone: no flag has closed the box";
  box.close(pair.raise(0, 1));
  pieces.push_back(pack(box, 1024).front());
  EXPECT_EQ(headOf(pieces[1]).ranges, 2u);
  for (const std::vector<char> &piece : pieces)
    EXPECT_TRUE(pair.landing.unpack({piece.data(), piece.size()}));
  EXPECT_STREQ(&pair.there[512], "news");
  EXPECT_EQ(pair.there[127], 1);
  EXPECT_EQ(pair.there[64 + 255], 7);
  EXPECT_EQ(pair.there[1024 + 63], 9);
}

TEST(Boxes, NonsenseIsRefusedAndOldWindowsAreLeftAlone) {
  Pair pair(4096);
  auto send = [&](const StoredBytes &stored, const Deed &deed) {
    Outbox box;
    box.add(stored);
    box.close(deed);
    auto pieces = pack(box, 8192);
    return pair.landing.unpack({pieces[0].data(), pieces[0].size()});
  };
  std::vector<char> data(4096, 5);
  EXPECT_FALSE(send({data.data(), 4096, {kWindow, kOpening, 64}, false}, Deed())) << "beyond the end";
  EXPECT_FALSE(send({data.data(), 8, {kWindow, kOpening, UINT64_MAX - 3}, false}, Deed()));
  EXPECT_FALSE(send({data.data(), 8, {kWindow, kOpening, 64}, true}, Deed())) << "there are no mirrors";
  EXPECT_FALSE(send({data.data(), 8, {kWindow, kOpening, 64}, false}, pair.raise(4094, 1)));
  EXPECT_FALSE(send({data.data(), 8, {kWindow, kOpening, 64}, false}, pair.raise(2, 1)));
  std::memset(pair.there.data(), 0, 4096);
  EXPECT_TRUE(send({data.data(), 8, {kWindow, kOpening - 1, 64}, false}, {Deed::Raise, 1, {kWindow, kOpening - 1, 0}}));
  EXPECT_TRUE(send({data.data(), 8, {kWindow + 9, kOpening, 64}, false}, Deed()));
  EXPECT_EQ(pair.there, std::vector<char>(4096)) << "windows that are no more";

  Outbox box;
  pair.store(box, 64, 512, 1);
  box.close(pair.raise(0, 1));
  auto piece = pack(box, 4096)[0];
  for (size_t bytes = sizeof(PieceHead); bytes < piece.size(); bytes += 8)
    EXPECT_FALSE(pair.landing.unpack({piece.data(), bytes})) << "cut off";
  Apart apart(piece);
  for (CamePiece cut = apart; cut.bodyBytes;) {
    cut.bodyBytes -= 8;
    EXPECT_FALSE(pair.landing.unpack(cut)) << "its body is cut off";
  }
  PieceHead head = headOf(piece);
  head.ranges = 2;
  std::memcpy(apart.heads.data(), &head, sizeof head);
  EXPECT_FALSE(pair.landing.unpack(apart)) << "nothing is behind a body";
  Inbox inbox;
  apart.body.resize(kLongestBytes - apart.heads.size() + 8);
  EXPECT_FALSE(inbox.add(apart, unpack, &pair.landing)) << "too long with its body";
  head.number = uint64_t(1) << 60;
  std::memcpy(piece.data(), &head, sizeof head);
  EXPECT_FALSE(inbox.add({piece.data(), piece.size()}, unpack, &pair.landing));
}

TEST(Boxes, WhatIsWrongIsNotForgottenForWhatFollows) {
  Pair pair(4096);
  std::vector<char> data(64, 5);
  for (bool isFirst : {true, false}) {
    Outbox box;
    StoredBytes wrong{data.data(), 8, {kWindow, kOpening, 4092}, false};
    if (isFirst)
      box.add(wrong);
    box.add({data.data() + 16, 8, {kWindow, kOpening, 1024}, false});
    if (!isFirst)
      box.add(wrong);
    box.close(pair.raise(0, 1));
    auto piece = pack(box, 8192)[0];
    EXPECT_FALSE(pair.landing.unpack({piece.data(), piece.size()})) << isFirst;
    EXPECT_EQ(pair.flag(0), 0u) << "a flag says that all is there";
  }
}

/// A page that is news is seen as it was before or as it is now, never in between.
TEST(Boxes, WhatIsReadIsWhole) {
  constexpr size_t kPage = 32768;
  Pair pair(65536);
  std::vector<std::vector<char>> pieces;
  for (char value : {1, 2}) {
    Outbox box;
    std::vector<char> page(kPage, value);
    box.copy({page.data(), kPage, {kWindow, kOpening, 0}, false}, Deed());
    pieces.push_back(pack(box, kPieceBytes)[0]);
  }
  std::atomic<bool> isOver{false};
  std::thread writer([&] {
    for (size_t i = 0; !isOver; ++i)
      pair.landing.unpack({pieces[i % 2].data(), pieces[i % 2].size()});
  });
  std::vector<char> seen(kPage);
  size_t torn = 0;
  for (int i = 0; i < 20000; ++i) {
    pair.landing.read(seen.data(), pair.there.data(), kPage);
    torn += seen.front() != seen.back();
  }
  isOver = true;
  writer.join();
  EXPECT_EQ(torn, 0u);
}

TEST(Boxes, NothingIsKeptForARankThatIsLost) {
  Pair pair(4096);
  Outbox box;
  pair.store(box, 64, 512, 1);
  box.close(pair.raise(0, 1));
  box.shut();
  pair.store(box, 64, 512, 1);
  box.close(pair.raise(0, 2));
  EXPECT_TRUE(box.isEmpty());
  EXPECT_TRUE(pack(box, 4096).empty());
}

} // namespace
