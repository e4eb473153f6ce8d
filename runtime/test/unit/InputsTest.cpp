//===- InputsTest.cpp - checks of inputs and programs -------------------------------------------------------------===//

#include "core/Inputs.h"
#include "cpu/Features.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace moert;

namespace {

const moert_value kInputs[] = {
    {"tokens", MOERT_I64, 2, {-1, -2}, 0, 9, -1, 0, 0, nullptr, 0},
    {"position", MOERT_I64, 1, {-1}, 0, 15, 1, 1, 0, nullptr, 0},
    {"mask", MOERT_BOOL, 1, {3}, 0, 1, -1, 0, 0, nullptr, 0},
};
const char *const kSymbols[] = {"batch", "sequence"};

int32_t runNothing(moert_context *) { return 0; }

moert_program makeProgram() {
  moert_program program = {};
  program.abi_version = MOERT_ABI_VERSION;
  program.name = "test";
  program.entry = "main";
  program.build_id = program.weights_id = "00000000000000000000000000000000";
  program.compiler = program.target_cpu = program.features = program.weights = "";
  program.inputs = kInputs;
  program.input_count = 3;
  program.symbols = kSymbols;
  program.symbol_count = 2;
  program.run = runNothing;
  return program;
}

/// The error of a call with these values, "" if there is none.
std::string check(std::vector<int64_t> tokens, int64_t batch, std::vector<int64_t> position,
                  std::vector<uint8_t> mask = {0, 1, 0}) {
  moert_program program = makeProgram();
  std::vector<Tensor> inputs(3);
  inputs[0].sizes[0] = batch;
  inputs[0].sizes[1] = batch ? static_cast<int64_t>(tokens.size()) / batch : 0;
  inputs[0].data = tokens.data();
  inputs[1].sizes[0] = static_cast<int64_t>(position.size());
  inputs[1].data = position.data();
  inputs[2].sizes[0] = 3;
  inputs[2].data = mask.data();
  std::vector<int64_t> symbols(2, -1);
  Status s;
  for (int32_t i = 0; i < 3 && !s.failed(); ++i)
    s = bindSizes(program, i, inputs[i], symbols);
  for (int32_t i = 0; i < 3 && !s.failed(); ++i)
    s = checkElements(program, i, inputs[i], symbols);
  return s.message;
}

TEST(Inputs, ChecksElements) {
  EXPECT_EQ(check({1, 2, 3, 4}, 2, {0, 0}), "");
  EXPECT_EQ(check({0, 9}, 1, {14}), "");
  EXPECT_EQ(check({}, 0, {}), "");
  EXPECT_EQ(check({1, 10}, 1, {0}), "input 'tokens': element 1 is 10, outside 0..9");
  EXPECT_EQ(check({-1}, 1, {0}), "input 'tokens': element 0 is -1, outside 0..9");
  EXPECT_EQ(check({1}, 1, {INT64_MAX}), "input 'position': element 0 is 9223372036854775807, outside 0..15");
  EXPECT_EQ(check({1, 2}, 1, {15}), "input 'position': element 0 is 15; with sequence = 2 it exceeds 16");
  EXPECT_EQ(check({1, 2}, 2, {3, 4}), "input 'position': element 1 is 4, but element 0 is 3; they must be equal");
  EXPECT_EQ(check({1, 2}, 2, {3}), "input 'position' has size 1 in dimension 0, but 'batch' is 2 in an earlier input");
  EXPECT_EQ(check({1}, 1, {0}, {0, 2, 0}), "input 'mask': element 1 is the byte 2; a bool is 0 or 1");
}

TEST(Inputs, ChecksIndices) {
  moert_program program = makeProgram();
  moert_value value = {"keep", MOERT_I16, 1, {-1}, 0, -1, -1, 0, 0, nullptr, 2};
  program.inputs = &value;
  auto check = [&](std::vector<int16_t> elements, int64_t sequence) {
    Tensor input;
    input.data = elements.data();
    input.sizes[0] = static_cast<int64_t>(elements.size());
    return checkElements(program, 0, input, {7, sequence}).message;
  };
  EXPECT_EQ(check({0, 3, -4, -1}, 4), "");
  EXPECT_EQ(check({}, 0), "");
  EXPECT_EQ(check({0, 4}, 4), "input 'keep': element 1 is 4, an index outside of sequence = 4");
  EXPECT_EQ(check({-5}, 4), "input 'keep': element 0 is -5, an index outside of sequence = 4");
  EXPECT_EQ(check({0}, 0), "input 'keep': element 0 is 0, an index outside of sequence = 0");
  value.hi = INT64_MAX;
  EXPECT_EQ(check({0, 3}, 4), "");
  EXPECT_EQ(check({-1}, 4), "input 'keep': element 0 is -1, less than 0");
}

/// Whether it has bounds or not.
TEST(Inputs, BoolsAreZeroOrOne) {
  moert_program program = makeProgram();
  const moert_value mask = {"mask", MOERT_BOOL, 1, {-1}, 0, -1, -1, 0, 0, nullptr, 0};
  program.inputs = &mask;
  uint8_t bytes[] = {0, 1, 255};
  Tensor input;
  input.data = bytes;
  input.sizes[0] = 2;
  EXPECT_EQ(checkElements(program, 0, input, {}).message, "");
  input.sizes[0] = 3;
  EXPECT_EQ(checkElements(program, 0, input, {}).message, "input 'mask': element 2 is the byte 255; a bool is 0 or 1");
}

TEST(Inputs, ChecksTypes) {
  moert_program program = makeProgram();
  auto check = [&](int32_t input, int32_t dtype, std::vector<int64_t> sizes) {
    return checkType(program, kInputs[input], dtype, static_cast<int32_t>(sizes.size()), sizes.data()).message;
  };
  EXPECT_EQ(check(0, MOERT_I64, {5, 0}), "");
  EXPECT_EQ(check(0, MOERT_I32, {5, 1}), "input 'tokens' is 5 x 1 x i32, the program expects batch x sequence x i64");
  EXPECT_EQ(check(0, MOERT_I64, {5}), "input 'tokens' is 5 x i64, the program expects batch x sequence x i64");
  EXPECT_EQ(check(2, MOERT_BOOL, {4}), "input 'mask' is 4 x bool, the program expects 3 x bool");
  EXPECT_NE(check(0, MOERT_I64, {-5, 1}), "");
  EXPECT_NE(check(0, MOERT_I64, {int64_t(1) << 40, int64_t(1) << 40}), "");
  // Programs add and multiply sizes, also those of inputs without elements.
  EXPECT_EQ(check(0, MOERT_I64, {int64_t(1) << 47, 0}), "");
  EXPECT_EQ(check(0, MOERT_I64, {int64_t(1) << 62, 0}),
            "input 'tokens' is 4611686018427387904 x 0 x i64, the program expects batch x sequence x i64");
}

TEST(Inputs, ChecksRangesOfSizes) {
  moert_program program = makeProgram();
  const int64_t ranges[] = {0, 4, 2, INT64_MAX}, both[] = {3, 8, 0, INT64_MAX};
  moert_value tokens = kInputs[0];
  auto check = [&](int64_t batch, int64_t sequence, bool isPart = false) {
    const int64_t sizes[] = {batch, sequence};
    return checkType(program, tokens, MOERT_I64, 2, sizes, isPart).message;
  };
  tokens.dim_ranges = ranges;
  EXPECT_EQ(check(0, 2), "");
  EXPECT_EQ(check(4, 1000), "");
  EXPECT_EQ(check(5, 2), "input 'tokens' is 5 x 2 x i64, the program expects batch (at most 4) x sequence (at least 2) "
                         "x i64");
  EXPECT_NE(check(4, 1), "");
  tokens.dim_ranges = both;
  EXPECT_EQ(check(3, 0) + check(8, 0), "");
  EXPECT_EQ(check(2, 0), "input 'tokens' is 2 x 0 x i64, the program expects batch (3 to 8) x sequence x i64");
  EXPECT_NE(check(9, 0), "");
  // Of what ranks divide, the range is that of all of it; other dimensions each rank has whole.
  EXPECT_EQ(check(1, 0, /*isPart=*/true), "");
  tokens.dim_ranges = ranges;
  EXPECT_NE(check(1, 1, /*isPart=*/true), "");
}

TEST(Program, IsValidated) {
  moert_program program = makeProgram();
  EXPECT_EQ(validateProgram(program).message, "");
  program.abi_version = MOERT_ABI_VERSION - 1;
  EXPECT_EQ(validateProgram(program).code, kInternal);
  program = makeProgram();
  program.symbol_count = 1; // "tokens" has a second one
  EXPECT_TRUE(validateProgram(program).failed());
  program = makeProgram();
  program.build_id = "short";
  EXPECT_TRUE(validateProgram(program).failed());
  program = makeProgram();
  program.weights_id = "short";
  EXPECT_TRUE(validateProgram(program).failed());
  program = makeProgram();
  moert_generation generation = {0, 1, 2, 0, MOERT_VOCAB_BYTES, 10, 16, 0, nullptr};
  program.generation = &generation; // there is no output
  EXPECT_TRUE(validateProgram(program).failed());
}

TEST(Program, AxesAreValidated) {
  moert_program program = makeProgram();
  moert_axis axes[] = {{"dp", 2, 4}, {"ep", 4, 1}};
  moert_value inputs[] = {kInputs[0], kInputs[1], kInputs[2]};
  moert_parameter_desc parameter = {"w", MOERT_F32, 2, {8, 3}, {1, -1}, -1, 0};
  program.axis_count = 2;
  program.variant_axes = 3;
  program.axes = axes;
  program.inputs = inputs;
  program.parameters = &parameter;
  program.parameter_count = 1;
  EXPECT_EQ(validateProgram(program).message, "");
  auto refuses = [&](auto &field, auto wrong) {
    auto right = field;
    field = wrong;
    EXPECT_EQ(validateProgram(program).code, kInternal);
    field = right;
    EXPECT_EQ(validateProgram(program).message, "");
  };
  refuses(inputs[0].axes, 4u);
  refuses(inputs[2].axes, 1u); // three elements that two ranks cannot share equally
  inputs[0].axes = 3;
  refuses(inputs[2].axes, 3u);
  refuses(parameter.axes[0], 2);
  refuses(parameter.axes[0], -2);
  refuses(parameter.axes[1], 1); // which divides dimension 0 already
  refuses(parameter.axes[1], 0); // a part would be of many pieces
  refuses(parameter.sizes[0], int64_t(9));
  refuses(parameter.rank, 0);
  parameter = {"w", MOERT_F32, 2, {8, 3}, {-1, -1}, 0, 12};
  EXPECT_EQ(validateProgram(program).message, "");
  refuses(parameter.slice_axis, 2);
  refuses(parameter.slice_step, int64_t(0));
  refuses(parameter.slice_step, int64_t(13)); // the last one would end behind the parameter
  refuses(parameter.axes[0], 0);              // which has no slices then
  parameter = {"w", MOERT_F32, 2, {4, 6}, {1, 0}, -1, 0};
  refuses(parameter.sizes[1], int64_t(5));
  refuses(parameter.sizes[0], int64_t(8));
  refuses(parameter.rank, 1);
  refuses(axes[0].ranks, 0);
  refuses(axes[0].ranks, 1 << 15); // more ranks in all than there may be
  refuses(axes[0].stride, 2);      // which is that of ranks that differ on the other axis
  refuses(axes[1].stride, 0);
  refuses(program.variant_axes, 2u); // then the other axis is for a job of more ranks
  refuses(program.variant_axes, 7u);
  refuses(program.axis_count, -1);
  refuses(program.axis_count, MOERT_MAX_AXES + 1);
  program.axis_count = 0; // then they mean nothing
  program.variant_axes = 0;
  parameter.axes[0] = parameter.axes[1] = 7;
  inputs[0].axes = 7;
  EXPECT_EQ(validateProgram(program).message, "");
}

TEST(Features, AreChecked) {
  EXPECT_FALSE(checkFeatures("").failed());
  EXPECT_FALSE(checkFeatures("sse,sse2,").failed());
  Status unknown = checkFeatures("sse2,warp9");
  EXPECT_EQ(unknown.code, kUnsupported);
  EXPECT_NE(unknown.message.find("'warp9'"), std::string::npos);
}

/// Asks for matrix registers in a process of its own, which gets them once and for all; the exit code says how it
/// ended.
[[noreturn]] void askForMatrixRegisters(bool smallSignalStack) {
  static char memory[4096];
  stack_t small = {};
  small.ss_sp = memory;
  small.ss_size = sizeof memory;
  if (smallSignalStack && sigaltstack(&small, nullptr))
    std::exit(3);
  Status status = checkFeatures("amx_tile");
  std::fprintf(stderr, "%s\n", status.message.c_str());
  std::exit(!status.failed() ? 0 : status.code == kUnsupported ? 1 : 2);
}

TEST(Features, MatrixRegistersNeedTheSystem) {
  std::ifstream info("/proc/cpuinfo");
  std::string text((std::istreambuf_iterator<char>(info)), {});
  if (text.find(" amx_tile") == std::string::npos) {
    EXPECT_EXIT(askForMatrixRegisters(false), testing::ExitedWithCode(1), "this CPU lacks amx_tile");
    return;
  }
  EXPECT_EXIT(askForMatrixRegisters(false), testing::ExitedWithCode(0), "");
  // Linux refuses while a thread's stack for signals is too small for them.
  EXPECT_EXIT(askForMatrixRegisters(true), testing::ExitedWithCode(1),
              "the system does not let this process use amx_tile.*recompile");
}

} // namespace
