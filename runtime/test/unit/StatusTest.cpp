//===- StatusTest.cpp - text of errors
//-----------------------------------------------------------------------------===//

#include "core/Status.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace moert;

namespace {

TEST(Status, AFailureIsOneLine) {
  EXPECT_EQ(failure(kUserError, "cannot read '%s'", "a\nb\x1b[31m").message, "cannot read 'a\\nb\\x1b[31m'");
  // A message that holds another one is escaped twice.
  Status inner = failure(kUserError, "'%s'", "a\tb");
  EXPECT_EQ(failure(kUserError, "call 0: %s", inner.message.c_str()).message, "call 0: 'a\\x09b'");
}

TEST(Status, WhatIsPrintedStaysAsItIs) {
  for (const char *text : {"", "a\\b 'c' \"d\"", "naïve 模 \xf0\x9f\x98\x80", "\xff\xc2", "\xe2\x80"})
    EXPECT_EQ(printable(text), text);
}

TEST(Status, WhatTurnsOrMovesWhatFollowsIsEscaped) {
  EXPECT_EQ(printable("\x7f\r\xc2\x9b"), "\\x7f\\x0d\\u009b");
  EXPECT_EQ(printable("a\u202eb\u2066c\u200fd\u2028"), "a\\u202eb\\u2066c\\u200fd\\u2028");
}

TEST(Status, TextsAreCutBetweenCharacters) {
  const std::string text = "ab\u6a21\xf0\x9f\x98\x80z"; // 2, 3, 4 and 1 bytes
  const size_t fitting[] = {0, 1, 2, 2, 2, 5, 5, 5, 5, 9, 10, 10};
  for (size_t most = 0; most < sizeof fitting / sizeof *fitting; ++most)
    EXPECT_EQ(fittingBytes(text, most), fitting[most]) << most;
  EXPECT_EQ(fittingBytes(std::string(9, '\x80'), 6), 2u) << "no UTF-8: cut near there";
  char place[8];
  std::memset(place, 'x', sizeof place);
  copyText(place, sizeof place, text);
  EXPECT_STREQ(place, "ab\u6a21");
  copyText(place, sizeof place, "");
  EXPECT_STREQ(place, "");
}

TEST(Status, PlacesOfOthersAreReadToTheirEnd) {
  const char place[] = {'a', 'b', 'c', 'd'};
  EXPECT_EQ(readText(place, 4), "abcd");
  EXPECT_EQ(readText("a\0b", 3), "a");
}

} // namespace
