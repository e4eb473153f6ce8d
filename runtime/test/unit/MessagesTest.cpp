//===- MessagesTest.cpp - requests from outside, and answers ------------------------------------------------------===//

#include "Messages.h"
#include "core/OutputFile.h"

#include <gtest/gtest.h>

#include <thread>
#include <unistd.h>

using namespace moert;

namespace {

const moert_value kInputs[] = {
    {"x", MOERT_BF16, 2, {-1, 2}, 1, 0, -1, 0, 0, nullptr, 0},
    {"flags", MOERT_BOOL, 1, {3}, 1, 0, -1, 0, 0, nullptr, 0},
    {"depth", MOERT_I64, 0, {}, 1, 0, -1, 0, 0, nullptr, 0},
};
const char *const kSymbols[] = {"rows"};

moert_program makeProgram() {
  moert_program program = {};
  program.name = "test";
  program.inputs = kInputs;
  program.input_count = 3;
  program.symbols = kSymbols;
  program.symbol_count = 1;
  return program;
}

std::string number(uint64_t value) { return std::string(reinterpret_cast<char *>(&value), sizeof value); }

std::string message(const Words &words, const std::string &data, uint64_t claimed) {
  std::string text;
  for (const std::string &word : words)
    text += word + '\0';
  return number(text.size()) + number(claimed) + text + data;
}
std::string message(const Words &words, const std::string &data) { return message(words, data, data.size()); }

/// The input of a process, fed by a thread.
class Input {
public:
  explicit Input(std::string bytes) {
    int ends[2];
    if (pipe(ends) != 0)
      abort();
    file = ends[0];
    writer = std::thread([bytes = std::move(bytes), end = ends[1]] {
      (void)writeAll(end, bytes.data(), bytes.size());
      close(end);
    });
  }
  ~Input() {
    char piece[4096];
    while (read(file, piece, sizeof piece) > 0) {
    }
    writer.join();
    close(file);
  }
  int file;

private:
  std::thread writer;
};

const Words kRun{"run", "flags", "bool", "3", "x", "f32", "1 2", "depth", "i64", ""};
std::string elements() {
  const float x[] = {1.5f, -2};
  return std::string("\0\2\1", 3) + std::string(reinterpret_cast<const char *>(x), sizeof x) + number(7);
}

/// The error of the first request.
std::string error(const std::string &bytes) {
  Input input(bytes);
  MessageReader reader(input.file);
  Words words;
  if (Status s = reader.next(words); s.failed())
    return s.message;
  std::vector<Tensor> inputs;
  moert_program program = makeProgram();
  return readArrays(reader, words, program, inputs).message;
}

TEST(Messages, AreReadOneAfterTheOther) {
  Input input(message({"skipped", ""}, std::string(200'000, 'a')) + message({"generate"}, "text") +
              message({"reset"}, ""));
  MessageReader reader(input.file);
  Words words;
  ASSERT_FALSE(reader.next(words).failed());
  EXPECT_EQ(words, (Words{"skipped", ""}));
  ASSERT_FALSE(reader.next(words).failed());
  std::string text;
  ASSERT_FALSE(reader.readText(text, 4).failed());
  EXPECT_EQ(text, "text");
  ASSERT_FALSE(reader.next(words).failed());
  EXPECT_EQ(words, Words{"reset"});
  ASSERT_FALSE(reader.next(words).failed());
  EXPECT_TRUE(words.empty());
}

TEST(Messages, ArraysKeepTheirMemory) {
  Input input(message(kRun, elements()) + message(kRun, elements()));
  MessageReader reader(input.file);
  moert_program program = makeProgram();
  std::vector<Tensor> inputs;
  void *before = nullptr;
  for (int i = 0; i < 2; ++i) {
    Words words;
    ASSERT_FALSE(reader.next(words).failed());
    ASSERT_FALSE(readArrays(reader, words, program, inputs).failed());
    EXPECT_EQ(inputs[0].dtype, MOERT_BF16);
    EXPECT_EQ(static_cast<uint16_t *>(inputs[0].data)[0], 0x3fc0);
    EXPECT_EQ(static_cast<uint16_t *>(inputs[0].data)[1], 0xc000);
    EXPECT_EQ(std::string(static_cast<char *>(inputs[1].data), 3), std::string("\0\1\1", 3));
    EXPECT_EQ(*static_cast<int64_t *>(inputs[2].data), 7);
    EXPECT_TRUE(!before || before == inputs[0].data);
    before = inputs[0].data;
  }
}

TEST(Messages, WhatIsNoRequestEndsTheInput) {
  EXPECT_EQ(error("hello\n"), "a request is cut off");
  EXPECT_EQ(error("the quick brown fox jumps"),
            "what came is no request: its words have 7163385811044755572 bytes, expected 1..1048576");
  EXPECT_EQ(error(number(0) + number(0)), "what came is no request: its words have 0 bytes, expected 1..1048576");
  EXPECT_EQ(error(number(3) + number(0) + "run"), "what came is no request: its words do not end with a zero byte");
  EXPECT_EQ(error(number(4) + number(0) + "ru"), "a request is cut off");
  EXPECT_EQ(error(number(4) + number(0)), "a request is cut off");
  EXPECT_EQ(error(message(kRun, elements().substr(1), 19)), "a request is cut off");
}

TEST(Messages, ArraysAreChecked) {
  auto changed = [&](size_t word, const char *text, uint64_t claimed = 19) {
    Words words = kRun;
    words[word] = text;
    return error(message(words, elements(), claimed));
  };
  EXPECT_EQ(error(message(kRun, elements())), "");
  EXPECT_EQ(changed(1, "y"), "there is no input 'y' (the program has 'x', 'flags', 'depth')");
  EXPECT_EQ(changed(1, "x"), "input 'x' is 3 x bool, the program expects rows x 2 x bf16");
  EXPECT_EQ(changed(2, "i65"), "input 'flags': 'i65' of sizes '3' is no array");
  EXPECT_EQ(changed(5, "f64"), "input 'x' is 1 x 2 x f64, the program expects rows x 2 x bf16");
  EXPECT_EQ(changed(6, "1 3"), "input 'x' is 1 x 3 x bf16, the program expects rows x 2 x bf16");
  for (const char *sizes :
       {"1  2", " 1 2", "1 2 ", "-1 2", "1,2", "+1 2", "0x1 2", "9223372036854775808 2", "1 1 1 1 1 1 1 1 2"})
    EXPECT_EQ(changed(6, sizes), std::string("input 'x': 'f32' of sizes '") + sizes + "' is no array");
  EXPECT_EQ(changed(6, "2 2"), "the data have 19 bytes, the arrays 27");
  EXPECT_EQ(changed(6, "1 2", 20), "the data have 20 bytes, the arrays 19");
  EXPECT_EQ(changed(6, "2305843009213693951 2"), "input 'x' is too large");
  EXPECT_EQ(changed(6, "4611686018427387904 2"),
            "input 'x' is 4611686018427387904 x 2 x bf16, the program expects rows x 2 x bf16");
  Words words(kRun.begin(), kRun.end() - 3);
  EXPECT_EQ(error(message(words, elements())), "input 'depth' is missing (i64)");
  words.pop_back();
  EXPECT_EQ(error(message(words, elements())), "an array is described by three words: name, type, sizes");
  words = kRun;
  words.insert(words.end(), kRun.begin() + 1, kRun.begin() + 4);
  EXPECT_EQ(error(message(words, elements())), "input 'flags' is given twice");
}

TEST(Messages, MemoryIsTakenAsTheDataCome) {
  // 2^40 rows are claimed: either the system refuses to reserve so much, or the data end.
  Words words = kRun;
  words[6] = "1099511627776 2";
  std::string message_ = error(message(words, "few bytes", (uint64_t(1) << 43) + 11));
  EXPECT_TRUE(message_ == "a request is cut off" || message_.find("out of memory") == 0) << message_;
}

TEST(Messages, TextsHaveALimit) {
  Input input(message({"generate"}, "12345"));
  MessageReader reader(input.file);
  Words words;
  ASSERT_FALSE(reader.next(words).failed());
  std::string text;
  EXPECT_EQ(reader.readText(text, 4).message, "the text has 5 bytes, expected at most 4");
}

TEST(Messages, AreWrittenAsTheyAreRead) {
  std::vector<float> large(100'000, 3);
  int8_t small[] = {1, 2, 3};
  std::vector<moert_tensor> arrays{{MOERT_I8, 1, {3}, small},
                                   {MOERT_F32, 2, {50'000, 2}, large.data()},
                                   {MOERT_I8, 1, {0}, nullptr},
                                   {MOERT_I8, 1, {3}, small}};
  Words words{"done"};
  for (const moert_tensor &array : arrays)
    describeArray("a", array, words);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    EXPECT_FALSE(writeMessage(ends[1], words, "", arrays).failed());
    close(ends[1]);
  });
  MessageReader reader(ends[0]);
  Words read;
  ASSERT_FALSE(reader.next(read).failed());
  EXPECT_EQ(read, words);
  EXPECT_EQ(read, (Words{"done", "a", "i8", "3", "a", "f32", "50000 2", "a", "i8", "0", "a", "i8", "3"}));
  EXPECT_EQ(reader.left(), 400'006u);
  std::string text;
  ASSERT_FALSE(reader.readText(text, 1'000'000).failed());
  std::string bytes(reinterpret_cast<char *>(large.data()), 400'000);
  EXPECT_EQ(text, "\1\2\3" + bytes + "\1\2\3");
  writer.join();
  close(ends[0]);
}

} // namespace
