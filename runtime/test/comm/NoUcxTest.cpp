//===- NoUcxTest.cpp - ranks of a build that found no headers of UCX ----------------------------------------------===//
//
// NoUcx.cpp is linked here, so that UcxWire.cpp stays in the library.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Job.h"
#include "RankSession.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace moert;
using namespace moert::test;

namespace {

/// What two ranks say that belong to these hosts, with the code in front if they cannot work.
std::vector<Ending> runOn(const char *first, const char *second) {
  return Job(2).run([&](const Ranks &ranks) -> std::string {
    setenv("MOE_HOST_NAME", ranks.rank ? second : first, 1);
    RankSession s;
    if (int32_t code = s.open("rows2", ranks.rank, 2, ranks.port, 20000, TOY_ROWS_WEIGHTS))
      return format("%d: ", code) + s.error();
    RowsCall call(12, 2);
    return s.run(call) ? s.error() : s.check(call);
  });
}

TEST(NoUcx, RanksOfSeveralHostsAreRefusedOnAllOfThem) {
  std::vector<Ending> endings = runOn("a", "b");
  for (int rank : {0, 1}) {
    const Ending &ending = endings[static_cast<size_t>(rank)];
    EXPECT_EQ(ending.text, format("%d: rank %d could not meet the others: ranks are on several hosts, and this program "
                                  "was made by a build without UCX: install libucx-dev where moe-compile is built, and "
                                  "build it again",
                                  kUnsupported, rank));
    EXPECT_LT(ending.seconds, 10); // nobody waits for the deadline
  }
}

TEST(NoUcx, RanksOfOneHostNeedNone) {
  for (const Ending &ending : runOn("a", "a"))
    EXPECT_EQ(ending.text, "fine");
}

} // namespace
