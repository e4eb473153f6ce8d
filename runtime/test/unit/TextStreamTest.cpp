//===- TextStreamTest.cpp - bytes held back -----------------------------------------------------------------------===//

#include "TextStream.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

using namespace moert;

namespace {

/// What each byte brings to light, and the rest, between bars.
std::string steps(const std::string &bytes, const std::vector<std::string> &stops = {}) {
  TextStream stream(stops);
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

TEST(TextStream, StopsBeforeTheStopString) { EXPECT_EQ(steps("one END two", {"END"}), "o|n|e| ||||||||!"); }

TEST(TextStream, ShowsWhatOnlyLookedLikeTheStopString) {
  EXPECT_EQ(steps("aab", {"aaX"}), "||aab|");
  EXPECT_EQ(steps("aaaX", {"aaX"}), "||a||!");
}

TEST(TextStream, StopStringWithinCharacters) {
  EXPECT_EQ(steps("\xc3\xa9\xc3\xa8", {"\xc3\xa8"}), "|\xc3\xa9|||!");
  EXPECT_EQ(steps("\xc3\xa9", {"\xa9"}), "|\xc3|!");
}

TEST(TextStream, TheFirstStopStringToBeCompleteStops) {
  EXPECT_EQ(steps("one END two", {"two", "END"}), "o|n|e| ||||||||!");
  EXPECT_EQ(steps("one two END", {"two", "END"}), "o|n|e| ||||||||!");
  EXPECT_EQ(steps("xabcd", {"abcde", "bc"}), "x|||a||!"); // complete before the one that began earlier
  EXPECT_EQ(steps("xabc", {"bc", "abc"}), "x||||!");      // complete together: the longer one
  EXPECT_EQ(steps("abcX", {"abcde", "cX"}), "|||ab|!");
}

TEST(TextStream, HoldsWhatMayBecomeAnyOfTheStopStrings) {
  EXPECT_EQ(steps("abx", {"abc", "bxy"}), "||a|bx");
  EXPECT_EQ(steps("aab", {"b", "aaaa"}), "||aa|!");
}

TEST(TextStream, AllBytesArriveWhateverTheStopStrings) {
  uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    auto next = [&](uint32_t n) {
      return (state = state * 1664525 + 1013904223) >> 16 & 0xffff ? (state >> 16) % n : 0;
    };
    const char alphabet[] = {'a', 'b', '\xc3', '\xa9', '\xe2'};
    std::string text;
    for (uint32_t i = 0, n = next(20); i < n; ++i)
      text += alphabet[next(5)];
    std::vector<std::string> stops(next(4));
    for (std::string &stop : stops)
      for (uint32_t i = 0, n = 1 + next(4); i < n; ++i)
        stop += alphabet[next(5)];
    // The shortest beginning of the text that ends with a stop string, without the longest one that it ends with.
    size_t end = 0, longest = 0;
    for (; end <= text.size() && !longest; ++end)
      for (const std::string &stop : stops)
        if (stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0)
          longest = std::max(longest, stop.size());
    TextStream stream(stops);
    std::string shown;
    for (char c : text)
      shown += stream.add(c);
    shown += stream.finish();
    EXPECT_EQ(shown, longest ? text.substr(0, end - 1 - longest) : text);
    EXPECT_EQ(stream.stopped(), longest != 0);
  }
}

} // namespace
