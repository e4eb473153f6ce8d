//===- TextStreamTest.cpp - bytes held back -----------------------------------------------------------------------===//

#include "TextStream.h"

#include <gtest/gtest.h>
#include <vector>

using namespace moert;

namespace {

/// What each byte brings to light, and the rest, between bars.
std::string steps(const std::string &bytes, const std::string &stop = "") {
  TextStream stream(stop);
  std::string result;
  for (char c : bytes)
    result += stream.add(c) + "|";
  return result + stream.finish() + (stream.stopped() ? "!" : "");
}

TEST(TextStream, HoldsPartialCharacters) {
  EXPECT_EQ(steps("ab"), "a|b|");
  EXPECT_EQ(steps("\xc3\xa9x"), "|\xc3\xa9|x|");
  EXPECT_EQ(steps("\xe2\x82\xac"), "||\xe2\x82\xac|");
  EXPECT_EQ(steps("\xf0\x9f\x98\x80"), "|||\xf0\x9f\x98\x80|");
}

TEST(TextStream, PassesWhatIsNoUtf8) {
  EXPECT_EQ(steps("\xff\x80"), "\xff|\x80|");
  EXPECT_EQ(steps("\xe2\x82"), "||\xe2\x82"); // the rest at the end
  EXPECT_EQ(steps("\xe2 x"), "|\xe2 |x|");
  EXPECT_EQ(steps("\xc0\xaf"), "\xc0|\xaf|");
}

TEST(TextStream, StopsBeforeTheStopString) { EXPECT_EQ(steps("one END two", "END"), "o|n|e| ||||||||!"); }

TEST(TextStream, ShowsWhatOnlyLookedLikeTheStopString) {
  EXPECT_EQ(steps("aab", "aaX"), "||aab|");
  EXPECT_EQ(steps("aaaX", "aaX"), "||a||!");
}

TEST(TextStream, StopStringWithinCharacters) {
  EXPECT_EQ(steps("\xc3\xa9\xc3\xa8", "\xc3\xa8"), "|\xc3\xa9|||!");
  EXPECT_EQ(steps("\xc3\xa9", "\xa9"), "|\xc3|!");
}

TEST(TextStream, AllBytesArriveWhateverTheStopString) {
  uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    auto next = [&](uint32_t n) {
      return (state = state * 1664525 + 1013904223) >> 16 & 0xffff ? (state >> 16) % n : 0;
    };
    const char alphabet[] = {'a', 'b', '\xc3', '\xa9', '\xe2'};
    std::string text, stop;
    for (uint32_t i = 0, n = next(20); i < n; ++i)
      text += alphabet[next(5)];
    for (uint32_t i = 0, n = 1 + next(3); i < n; ++i)
      stop += alphabet[next(5)];
    TextStream stream(stop);
    std::string shown;
    for (char c : text)
      shown += stream.add(c);
    shown += stream.finish();
    size_t at = text.find(stop);
    EXPECT_EQ(shown, text.substr(0, at));
    EXPECT_EQ(stream.stopped(), at != std::string::npos);
  }
}

} // namespace
