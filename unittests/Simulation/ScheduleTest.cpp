//===- ScheduleTest.cpp - text of a schedule ----------------------------------------------------------------------===//

#include "moe-mlir/Simulation/Schedule.h"

#include "gtest/gtest.h"

using namespace moe_mlir::sim;

static const char *const kOverlap =
    "overlap, chunk = 128, order = source, steps = [1, 3, 4], piece = 256, send = 12, slices = 8, return = 20";

static std::string errorOf(llvm::StringRef text) {
  auto schedule = parseSchedule(text);
  return schedule ? "none" : llvm::toString(schedule.takeError());
}

TEST(Schedule, PrintsWhatItReads) {
  const char *const parts =
      "overlap, chunk = 1, order = part, steps = [2], piece = 1, send = 1, slices = 1, return = 1";
  for (const char *text : {"plain", "parts = 4", kOverlap, parts})
    EXPECT_EQ(toString(llvm::cantFail(parseSchedule(text))), text);
  EXPECT_EQ(toString(llvm::cantFail(parseSchedule(" <parts=4> "))), "parts = 4");
  Schedule schedule = llvm::cantFail(parseSchedule(std::string("<") + kOverlap + ">"));
  EXPECT_EQ(schedule.steps, (llvm::SmallVector<int64_t>{1, 3, 4}));
  EXPECT_EQ(schedule.back, 20);
}

TEST(Schedule, SaysWhatIsWrong) {
  EXPECT_EQ(errorOf("<plain"), "schedule: '<' without '>'");
  EXPECT_EQ(errorOf("fast"), "schedule: 'fast' is not plain, parts = N, or overlap, ..");
  EXPECT_EQ(errorOf(""), "schedule: '' is not plain, parts = N, or overlap, ..");
  EXPECT_EQ(errorOf("plain, chunk = 1"), "schedule: 'plain, chunk = 1' is not plain, parts = N, or overlap, ..");
  EXPECT_EQ(errorOf("parts = 0"), "schedule: 'parts' is a number from 1 to 1048576, not '0'");
  EXPECT_EQ(errorOf("overlap, chunk = 128"), "schedule: an overlap lacks 'order'");
  EXPECT_EQ(errorOf("overlap, chunk = 128, chunk = 128"), "schedule: 'chunk' stands twice");
  EXPECT_EQ(errorOf("overlap, chunk = many"), "schedule: 'chunk' is a number from 1 to 1048576, not 'many'");
  EXPECT_EQ(errorOf("overlap, width = 1"),
            "schedule: 'width' is no number of an overlap; these are chunk, order, steps, piece, send, slices, return");
  EXPECT_EQ(errorOf("overlap, order = rank"), "schedule: 'order' is source or part, not 'rank'");
  EXPECT_EQ(errorOf("overlap, steps = 3"), "schedule: 'steps' is a list in brackets, not '3'");
  EXPECT_EQ(errorOf("overlap, steps = [1, -1]"),
            "schedule: 'steps' has ' -1'; a step is a number from 1 to 1048576");
}

TEST(Schedule, FitsRanksColumnsAndMultiprocessors) {
  auto check = [](int64_t ranks, int64_t columns, int64_t multiprocessors) {
    Schedule schedule = llvm::cantFail(parseSchedule(kOverlap));
    return llvm::toString(checkSchedule(schedule, ranks, columns, multiprocessors));
  };
  EXPECT_EQ(check(8, 8, 132), "");
  EXPECT_EQ(check(4, 8, 132), "schedule: 'steps' has 8 sources, there are 4 ranks");
  EXPECT_EQ(check(8, 7, 132), "schedule: 'slices' is 8, the result has 7 blocks of columns");
  EXPECT_EQ(llvm::toString(checkSchedule(llvm::cantFail(parseSchedule("parts = 5000")), 8, 8, 132)),
            "schedule: 'parts' is 5000, at most 4096 are simulated");
  EXPECT_EQ(check(8, 8, 20), "schedule: 'return' is 20 of 20 multiprocessors; some have to multiply");
}
