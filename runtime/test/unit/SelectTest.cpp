//===- SelectTest.cpp - the choice among the programs of a file ---------------------------------------------------===//

#include "core/Select.h"

#include <gtest/gtest.h>

using namespace moert;

namespace {

moert_program makeProgram(const char *entry, int32_t device) {
  moert_program program = {};
  program.abi_version = MOERT_ABI_VERSION;
  program.entry = entry;
  program.device = device;
  return program;
}

const moert_program kCuda0 = makeProgram("layer0_moe", MOERT_CUDA), kCpu0 = makeProgram("layer0_moe", MOERT_CPU),
                    kCpu1 = makeProgram("layer1_moe", MOERT_CPU);
const moert_program *const kPrograms[] = {&kCuda0, &kCpu0, &kCpu1};
const moert_program_list kBoth = {MOERT_ABI_VERSION, 2, kPrograms};
const moert_program_list kAll = {MOERT_ABI_VERSION, 3, kPrograms};

std::string error(const moert_program_list &programs, const char *entry, const char *device) {
  Selection selection;
  Status s = selectProgram(programs, entry, device, selection);
  EXPECT_TRUE(!s.failed() || s.code == kUserError);
  EXPECT_EQ(s.failed(), selection.program == nullptr);
  return s.message;
}

Selection choose(const moert_program_list &programs, const char *entry, const char *device) {
  Selection selection;
  EXPECT_EQ(selectProgram(programs, entry, device, selection).message, "");
  return selection;
}

TEST(Select, TakesTheFirstDeviceOfTheOnlyEntry) {
  EXPECT_EQ(choose(kBoth, nullptr, nullptr).program, &kCuda0);
  EXPECT_EQ(choose(kBoth, nullptr, "cpu").program, &kCpu0);
  EXPECT_EQ(choose(kAll, "layer1_moe", nullptr).program, &kCpu1);
}

TEST(Select, ReadsTheNumberOfTheGpu) {
  EXPECT_EQ(choose(kBoth, nullptr, "cuda").ordinal, 0);
  EXPECT_EQ(choose(kBoth, "layer0_moe", "cuda:13").ordinal, 13);
  EXPECT_EQ(choose(kBoth, "layer0_moe", "cuda:13").program, &kCuda0);
  for (const char *text : {"", "gpu", "CPU", "cuda:", "cuda:-1", "cuda:1x", "cuda1", "cuda:99999"})
    EXPECT_EQ(error(kBoth, nullptr, text), format("unknown device '%s' (known: cpu, cuda, cuda:N)", text));
}

TEST(Select, ErrorsListWhatThereIs) {
  EXPECT_EQ(error(kAll, nullptr, nullptr),
            "the model has several entries: choose one of layer0_moe, layer1_moe (--entry)");
  EXPECT_EQ(error(kAll, "main", nullptr), "the model has no entry 'main' (it has layer0_moe, layer1_moe)");
  EXPECT_EQ(error(kAll, "layer1_moe", "cuda:0"), "'layer1_moe' was not compiled for cuda (it was for cpu)");
}

TEST(Select, RejectsListsOfOtherVersions) {
  Selection selection;
  EXPECT_EQ(selectProgram({1, 3, kPrograms}, nullptr, nullptr, selection).message,
            "the program was compiled for runtime ABI 1, this runtime has ABI 9");
  EXPECT_EQ(selectProgram({MOERT_ABI_VERSION, 0, kPrograms}, nullptr, nullptr, selection).code, kInternal);
}

} // namespace
