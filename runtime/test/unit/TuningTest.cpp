//===- TuningTest.cpp - the dictionary of variants ----------------------------------------------------------------===//

#include "Measurements.h"
#include "Modes.h"
#include "core/Tuning.h"
#include "core/Variants.h"

#include <fstream>

using namespace moert;

namespace {
const char *const kText = R"({
  "program": "0123",
  "window": 128,
  "entries": {
    "main": {
      "0": "ep=4",
      "7": "dp=4"
    },
    "layer0_moe": {}
  }
}
)";

/// The message of a text that is none.
std::string refused(const std::string &text) {
  Tuning tuning;
  Status s = tuning.parse(text, "d.json");
  EXPECT_EQ(s.code, kUserError) << text;
  EXPECT_EQ(s.message.find('\n'), std::string::npos);
  return s.message;
}

std::string with(const std::string &from, const std::string &to) {
  std::string text = kText;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}
} // namespace

TEST(Tuning, IsReadAsItIsWritten) {
  Tuning tuning;
  EXPECT_EQ(tuning.parse(kText, "d.json").message, "");
  EXPECT_EQ(tuning.print(), kText);
  EXPECT_EQ(tuning.program, "0123");
  EXPECT_EQ(*tuning.find("main", 127), "ep=4");
  EXPECT_EQ(tuning.find("main", 128), nullptr);
  EXPECT_EQ(*tuning.find("main", 7 * 128), "dp=4");
  EXPECT_EQ(*tuning.find("main", 8 * 128 - 1), "dp=4");
  EXPECT_EQ(tuning.find("main", 8 * 128), nullptr);
  EXPECT_EQ(tuning.find("layer0_moe", 0), nullptr);
  EXPECT_EQ(tuning.find("layer1_moe", 0), nullptr);
  Tuning none;
  EXPECT_EQ(none.parse(Tuning().print(), "d.json").message, "");
}

TEST(Tuning, KeysStandInOrder) {
  Tuning tuning;
  for (int64_t room : {900, 5, 300, 890})
    tuning.set("main", room, "room " + std::to_string(room));
  tuning.set("layer0_moe", 1, "a \"quoted\" \\ name");
  Tuning again;
  EXPECT_EQ(again.parse(tuning.print(), "d.json").message, "");
  EXPECT_EQ(again.print(), tuning.print());
  EXPECT_EQ(*again.find("main", 900), "room 900");
  EXPECT_EQ(*again.find("main", 895), "room 890");
  EXPECT_EQ(*again.find("main", 0), "room 5");
  EXPECT_EQ(*again.find("layer0_moe", 0), "a \"quoted\" \\ name");
}

TEST(Tuning, WhatIsNoDictionaryIsOneLine) {
  EXPECT_EQ(refused(""), "'d.json', line 1: expected an object; --tune writes such a file");
  EXPECT_EQ(refused(std::string(kText) + "x"),
            "'d.json', line 12: something behind the dictionary; --tune writes such a file");
  EXPECT_EQ(refused("{}"), "'d.json', line 1: expected program, window and entries; --tune writes such a file");
  EXPECT_EQ(refused(with("128", "64")),
            "'d.json', line 3: a window of another size than 128 tokens; --tune writes such a file");
  for (auto [from, to, message] : {std::tuple("\"window\"", "\"program\"", "line 3: expected program"),
                                   {"\"window\"", "\"width\"", "each once"},
                                   {"128", "-128", "expected a number"},
                                   {"128", "1e2", "another size"},
                                   {"128", "99999999999999999999999", "expected a number"},
                                   {"\"7\"", "\"0\"", "keys that do not grow"},
                                   {"\"7\"", "\"07\"", "a key that is no number of windows"},
                                   {"\"7\"", "\"-7\"", "a key that is no number of windows"},
                                   {"\"7\"", "\"9223372036854775808\"", "a key that is no number of windows"},
                                   {"\"7\"", "7", "expected a text in quotes"},
                                   {"\"dp=4\"", "[4]", "expected a text in quotes"},
                                   {"dp=4", "dp=\\u0034", "an escape that no name needs"},
                                   {"dp=4", "dp\n", "a text with a character that cannot be printed"},
                                   {"layer0_moe", "main", "an entry stands twice"},
                                   {"\"ep=4\",", "\"ep=4\"", "expected a comma or the end of an object"},
                                   {"\"main\":", "\"main\"", "expected a colon"}})
    EXPECT_NE(refused(with(from, to)).find(message), std::string::npos) << to << ": " << refused(with(from, to));
  for (size_t length = 0; length + 2 < std::string(kText).size(); ++length)
    refused(std::string(kText, length));
  refused(std::string(1 << 20, '{'));
  refused(std::string(1 << 20, '"'));
}

TEST(Tuning, FilesAreReadWithin) {
  std::string path = testing::TempDir() + "tuning.json";
  std::ofstream(path) << kText;
  Tuning tuning;
  EXPECT_EQ(tuning.read(path, false).message, "");
  EXPECT_EQ(tuning.print(), kText);
  std::ofstream(path) << std::string(Tuning::kMaxBytes + 1, ' ');
  EXPECT_EQ(tuning.read(path, true).message, "cannot read '" + path + "': more than 1048576 bytes");
  std::remove(path.c_str());
  EXPECT_EQ(tuning.read(path, true).message, "");
  EXPECT_TRUE(tuning.entries.empty());
  EXPECT_EQ(tuning.read(path, false).message, "cannot read '" + path + "': No such file or directory");
  EXPECT_EQ(tuning.read(testing::TempDir(), true).message, "cannot read '" + testing::TempDir() + "': a folder");
}

TEST(Tuning, StandsBesideTheArchive) {
  EXPECT_EQ(tuningPath("model.weights"), "model.tuning.json");
  EXPECT_EQ(tuningPath("/a.b/model"), "/a.b/model.tuning.json");
  EXPECT_EQ(tuningPath("a.b/x.y.weights"), "a.b/x.y.tuning.json");
  EXPECT_EQ(tuningPath("a/.weights"), "a/.weights.tuning.json");
  EXPECT_EQ(tuningPath(""), "");
}

namespace {
/// A program on the first of two axes.
moert_program lonely(const moert_axis *axes) {
  moert_program program = {};
  program.name = program.entry = "main";
  program.variant = "ep=4";
  program.axis_count = 2;
  program.axes = axes;
  program.variant_axes = 1;
  return program;
}
const moert_axis kAxes[] = {{"ep", 4, 1}, {"dp.1", 2, 2}};
} // namespace

TEST(Variants, OneThatIsAloneIsNone) {
  moert_program one = lonely(kAxes), other = one;
  other.variant = "dp=4";
  const moert_program *const programs[] = {&one, &other};
  EXPECT_EQ(variantTable({MOERT_ABI_VERSION, 1, programs}, one), "");
  EXPECT_EQ(variantTable({MOERT_ABI_VERSION, 2, programs}, one),
            "variants:\n  0  ep=4                     ep = 4\n  1  dp=4                     ep = 4\n");
}

TEST(Variants, TakeTheSameSizes) {
  const int64_t few[] = {0, 4}, again[] = {0, 4}, many[] = {0, 8};
  moert_value x = {"x", MOERT_F32, 1, {-1}, 1, 0, -1, 0, 0, few, 0}, y = x;
  const char *const symbols[] = {"t"};
  moert_program one = lonely(kAxes);
  one.abi_version = MOERT_ABI_VERSION;
  one.build_id = one.weights_id = "00000000000000000000000000000000";
  one.compiler = one.target_cpu = one.features = one.weights = "";
  one.axis_count = 1;
  one.symbols = symbols;
  one.symbol_count = one.input_count = 1;
  one.run = [](moert_context *) -> int32_t { return 0; };
  moert_program other = one;
  other.variant = "dp=4";
  one.inputs = &x, other.inputs = &y;
  const moert_program *const programs[] = {&one, &other};
  auto open = [&](const int64_t *ranges) {
    y.dim_ranges = ranges;
    return Variants().open({MOERT_ABI_VERSION, 2, programs}, one).message;
  };
  EXPECT_EQ(open(again), "");
  EXPECT_NE(open(many).find("its variants do not belong together"), std::string::npos);
  EXPECT_NE(open(nullptr).find("its variants do not belong together"), std::string::npos);
}

TEST(Variants, RoomOfRowsWithoutElements) {
  moert_value x = {};
  x.dtype = MOERT_F32;
  moert_program program = lonely(kAxes);
  program.inputs = &x;
  std::vector<Tensor> inputs(1);
  inputs[0].rank = 3;
  auto room = [&](int64_t rows, int64_t more, int64_t columns) {
    inputs[0].sizes[0] = rows;
    inputs[0].sizes[1] = more;
    inputs[0].sizes[2] = columns;
    return roomOf(program, inputs, 4);
  };
  EXPECT_EQ(room(3, 3, 8), 3);
  EXPECT_EQ(room(0, 3, 8), 0);
  EXPECT_EQ(room(int64_t(1) << 40, int64_t(1) << 40, 0), Tuning::kMaxRoom);
  EXPECT_EQ(room(INT64_MAX, 1, 0), Tuning::kMaxRoom);
  Tuning tuning, again;
  tuning.set("main", Tuning::kMaxRoom, "ep=4");
  EXPECT_EQ(again.parse(tuning.print(), "d.json").message, "");
}

TEST(Variants, TheFastestHasTheLeastMedian) {
  // Of an even number of times it lies between the two in the middle, as rows show it.
  EXPECT_EQ(fastest({{6, 6}, {10, 1}, {7, 7}}), 1u);
  EXPECT_EQ(fastest({{3, 1, 2}, {1, 9, 9}}), 0u);
}

TEST(Variants, PartsAreUnited) {
  auto text = [](std::vector<ParameterPart> parts) {
    std::string result;
    for (const ParameterPart &part : unite(std::move(parts)))
      result += std::to_string(part.begin) + "+" + std::to_string(part.bytes) + " ";
    return result;
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({{4, 2}, {0, 1}}), "0+1 4+2 ");
  EXPECT_EQ(text({{4, 4}, {0, 2}, {2, 2}}), "0+8 ");
  EXPECT_EQ(text({{0, 8}, {2, 2}, {7, 3}}), "0+10 ");
}
