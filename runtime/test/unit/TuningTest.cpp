//===- TuningTest.cpp - the dictionary of variants ----------------------------------------------------------------===//

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
