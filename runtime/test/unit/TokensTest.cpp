//===- TokensTest.cpp - programs that generate no text ------------------------------------------------------------===//

#include "Modes.h"

#include <gtest/gtest.h>

using namespace moert;

namespace {

std::string error(const char *entry, int32_t states, const moert_generation *generation = nullptr) {
  moert_program program = {};
  program.entry = entry;
  program.state_count = states;
  program.generation = generation;
  return checkGeneration(program, "generate").message;
}

/// Each advice leads to a program that can.
TEST(Tokens, TheErrorSaysWhatIsMissing) {
  EXPECT_EQ(error("main", 0), "--generate: the model keeps no cache: export it by "
                              "python -m moe_mlir export, without --no-cache, or run it with --input");
  EXPECT_EQ(error("layer0_moe", 0), "--generate: text comes from the entry 'main' alone: run 'layer0_moe' with "
                                    "--input");
  EXPECT_EQ(error("main", 8), "--generate: the exported file does not name token inputs and "
                              "vocabulary, or the model has other inputs, too: export it by python -m moe_mlir export, "
                              "without --force-experts, or run it with --input");
  moert_generation generation = {};
  EXPECT_EQ(error("main", 8, &generation), "");
}

} // namespace
