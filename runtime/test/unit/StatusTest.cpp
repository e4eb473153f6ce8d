//===- StatusTest.cpp - text of errors
//-----------------------------------------------------------------------------===//

#include "core/Status.h"

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

} // namespace
