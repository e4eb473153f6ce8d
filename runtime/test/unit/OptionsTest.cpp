//===- OptionsTest.cpp - the command line -------------------------------------------------------------------------===//

#include "Options.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace moert;

namespace {

Status parse(std::vector<const char *> words, Options &options) {
  words.insert(words.begin(), "model");
  return parseOptions(static_cast<int>(words.size()), words.data(), options);
}

std::string error(std::vector<const char *> words) {
  Options options;
  Status s = parse(words, options);
  EXPECT_TRUE(!s.failed() || s.code == kUserError);
  return s.message;
}

TEST(Options, AreParsed) {
  Options o;
  ASSERT_FALSE(
      parse({"--generate", "a b", "--generate=--x", "--prompt-file", "-", "--temperature=0.5", "--top-p", "0.9",
             "--seed", "7", "--max-new-tokens", "3", "--stop", "\n", "--threads", "2", "--stop=END", "--generate", "-"},
            o)
          .failed());
  EXPECT_EQ(o.mode, Mode::Generate);
  ASSERT_EQ(o.prompts.size(), 4u);
  EXPECT_EQ(o.prompts[0].value, "a b");
  EXPECT_EQ(o.prompts[1].value, "--x");
  EXPECT_TRUE(o.prompts[2].file);
  EXPECT_EQ(o.prompts[3].value, "-");
  EXPECT_FALSE(o.prompts[3].file);
  EXPECT_EQ(o.sampling.temperature, 0.5);
  EXPECT_EQ(o.sampling.topP, 0.9);
  EXPECT_EQ(o.sampling.seed, 7u);
  EXPECT_EQ(o.maxNewTokens, 3);
  EXPECT_EQ(o.stops, (std::vector<std::string>{"\n", "END"}));
  EXPECT_EQ(o.threads, 2);
}

TEST(Options, FiltersOfSampling) {
  Options o;
  ASSERT_FALSE(parse({"--generate", "a", "--top-k=20", "--min-p", "0.05", "--repetition-penalty=1.1"}, o).failed());
  EXPECT_EQ(o.sampling.topK, 20);
  EXPECT_EQ(o.sampling.minP, 0.05);
  EXPECT_EQ(o.sampling.repetitionPenalty, 1.1);
}

TEST(Options, ThePromptMayBeLeftOut) {
  Options o;
  ASSERT_FALSE(parse({"--generate", "--prompt-file", "p", "--ids"}, o).failed());
  EXPECT_EQ(o.prompts.size(), 1u);
  EXPECT_TRUE(o.ids);
}

TEST(Options, APromptThatIsMissingIsAnError) {
  const char *none = "no prompt: give it after --generate, or a file with --prompt-file";
  const char *one = "a --generate has no prompt: give it one, or leave the flag out";
  EXPECT_EQ(error({"--generate"}), none);
  EXPECT_EQ(error({"--generate", "--ids"}), none);
  EXPECT_EQ(error({"--generate", "a", "--generate"}), one);
  EXPECT_EQ(error({"--generate", "--generate", "a"}), one);
  EXPECT_EQ(error({"--prompt-file", "p", "--generate"}), one);
  EXPECT_EQ(error({"--generate", "--generate", "--prompt-file", "p"}), one);
  EXPECT_EQ(error({"--generate", "--prompt-file", "p", "--generate", "a"}), one);
}

TEST(Options, OnlyWhatIsAListMayBeGivenTwice) {
  EXPECT_EQ(error({"--generate", "a", "--threads", "2", "--threads", "2"}), "--threads is given twice");
  EXPECT_EQ(error({"--input", "x=@a", "--output-dir", "a", "--output-dir=b"}), "--output-dir is given twice");
  EXPECT_EQ(error({"--input", "x=@a", "--input", "y=@a", "--expected-output", "z=@b", "--expected-output", "w=@b"}),
            "");
  EXPECT_EQ(error({"--benchmark", "--size", "a=1", "--size", "b=1"}), "");
  EXPECT_EQ(error({"--benchmark", "--size", "a=1", "--size", "b=1", "--size", "a=2"}), "--size: 'a' is given twice");
  EXPECT_EQ(error({"--tune", "--size", "a=1", "--size", "a=2"}), ""); // measures both
  EXPECT_EQ(error({"--prompt-file", "a", "--prompt-file", "b"}), "");
  EXPECT_EQ(error({"--benchmark", "--pin", "--pin", "--benchmark"}), ""); // says the same twice
}

TEST(Options, NamesAreNotEmpty) {
  for (const char *flag : {"--prompt-file=", "--calls=", "--samples=", "--trace=", "--weights="})
    EXPECT_EQ(error({"--benchmark", flag}), std::string(flag, std::strlen(flag) - 1) + ": expected the name of a file");
  for (const char *flag : {"--output-dir=", "--dump-source="})
    EXPECT_EQ(error({flag}), std::string(flag, std::strlen(flag) - 1) + ": expected the name of a folder");
}

TEST(Options, ErrorsNameTheFlag) {
  EXPECT_EQ(error({}), "nothing to do (--help shows what is possible)");
  EXPECT_EQ(error({"text"}), "unexpected argument 'text' (--help lists the flags)");
  EXPECT_EQ(error({"-h"}), "unexpected argument '-h' (--help lists the flags)");
  EXPECT_EQ(error({"--frobnicate"}), "unknown flag '--frobnicate' (--help lists the flags)");
  EXPECT_EQ(error({"--generate", "x", "--threads"}), "--threads needs a value: N");
  EXPECT_EQ(error({"--info=3"}), "--info takes no value");
  EXPECT_EQ(error({"--info", "--threads", "0"}), "--threads: expected an integer in 1..1024, got '0'");
  EXPECT_EQ(error({"--info", "--threads", "2x"}), "--threads: expected an integer in 1..1024, got '2x'");
  EXPECT_EQ(error({"--generate", "x", "--temperature", "nan"}),
            "--temperature: expected a number in 0..1e+06, got 'nan'");
  EXPECT_EQ(error({"--generate", "x", "--top-p", "1.5"}), "--top-p: expected a number in 0..1, got '1.5'");
  EXPECT_EQ(error({"--generate", "x", "--min-p", "-1"}), "--min-p: expected a number in 0..1, got '-1'");
  EXPECT_EQ(error({"--generate", "x", "--top-k", "0"}), "--top-k: expected an integer in 1..1099511627776, got '0'");
  EXPECT_EQ(error({"--generate", "x", "--repetition-penalty", "0"}),
            "--repetition-penalty: expected a number in 0.001..1000, got '0'");
  EXPECT_EQ(error({"--info", "--benchmark"}), "--benchmark and --info exclude each other");
  EXPECT_EQ(error({"--benchmark", "--temperature", "1"}), "--temperature is used together with --generate only");
  EXPECT_EQ(error({"--input", "x=y"}), "--input: expected NAME=@FILE, got 'x=y'");
  EXPECT_EQ(error({"--input", "=@y"}), "--input: expected NAME=@FILE, got '=@y'");
  EXPECT_EQ(error({"--calls", "f", "--input", "x=@y"}), "--calls and --input exclude each other");
  EXPECT_EQ(error({"--calls", "f", "--output-dir", "d"}), "--calls and --output-dir exclude each other");
  EXPECT_EQ(error({"--expected-output", "x=@y", "--calls", "f"}), "--calls and --expected-output exclude each other");
  EXPECT_EQ(error({"--calls", "f", "--generate", "a"}), "--generate and --calls exclude each other");
  EXPECT_EQ(error({"--output-dir", "d", "--generate", "a"}), "--generate and --output-dir exclude each other");
  EXPECT_EQ(error({"--output-dir", "d", "--input", "x=@y", "--generate", "a"}),
            "--generate and --output-dir exclude each other");
  EXPECT_EQ(error({"--benchmark", "--random-weights", "1", "--weights", "w"}),
            "--random-weights and --weights exclude each other");
}

TEST(Options, VerifyWeightsAloneIsAMode) {
  Options o;
  ASSERT_FALSE(parse({"--verify-weights"}, o).failed());
  EXPECT_EQ(o.mode, Mode::Verify);
}

TEST(Options, KernelsAndOutputsNeedNoOtherFlag) {
  Options info, run, compare;
  ASSERT_FALSE(parse({"--kernels"}, info).failed());
  EXPECT_EQ(info.mode, Mode::Info);
  // Of a program without inputs there is nothing else to say.
  ASSERT_FALSE(parse({"--output-dir", "out"}, run).failed());
  EXPECT_EQ(run.mode, Mode::Tensors);
  ASSERT_FALSE(parse({"--expected-output", "y=@y.npy"}, compare).failed());
  EXPECT_EQ(compare.mode, Mode::Tensors);
  EXPECT_EQ(error({"--benchmark", "--kernels"}), "--kernels and --benchmark exclude each other");
  EXPECT_EQ(error({"--generate", "a", "--output-dir", "out"}), "--output-dir and --generate exclude each other");
}

TEST(Calls, CommentsBeginWhereAWordMay) {
  std::vector<Call> calls;
  ASSERT_EQ(parseCalls("  # one\n--input x=@a#b --output-dir \"#c\" # two \"three\nreset#four\n", "f", calls).message,
            "f:3: unknown word 'reset#four' (known: --input, --output-dir, --expected-output, reset, variant)");
  EXPECT_EQ(calls[0].inputs[0].path, "a#b");
  EXPECT_EQ(calls[0].outputDir, "#c");
  calls.clear();
  ASSERT_EQ(parseCalls("reset # all\n#reset", "f", calls).message, "");
  EXPECT_EQ(calls.size(), 1u);
}

TEST(Calls, AreParsed) {
  std::vector<Call> calls;
  ASSERT_EQ(parseCalls("# two calls\n--input x=@a.npy --output-dir \"my dir\"\n\nreset\n\t--input x=@b.npy "
                       "--expected-output y=@c.npy",
                       "f", calls)
                .message,
            "");
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].inputs[0].path, "a.npy");
  EXPECT_EQ(calls[0].outputDir, "my dir");
  EXPECT_TRUE(calls[1].reset);
  EXPECT_EQ(calls[2].expected[0].name, "y");
}

TEST(Calls, ChooseVariants) {
  std::vector<Call> calls;
  EXPECT_EQ(parseCalls("variant \"ep=2,schedule=<parts = 2>\"\n--input x=@a\n", "f", calls).message, "");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].variant, "ep=2,schedule=<parts = 2>");
  EXPECT_EQ(calls[1].variant, "");
  // A list of fields reads like words, if nobody quotes it.
  for (const char *line : {"variant \"\"", "variant", "variant ep=2,schedule=<parts = 2>"})
    EXPECT_EQ(parseCalls(line, "f", calls).message,
              "f:1: variant: expected one name or number; a name with blanks stands in double quotes");
}

TEST(Calls, ErrorsNameTheLine) {
  auto error = [](const char *text) {
    std::vector<Call> calls;
    return parseCalls(text, "f", calls).message;
  };
  EXPECT_EQ(error(""), "'f' holds no calls");
  EXPECT_EQ(error("reset\n--input x"), "f:2: expected NAME=@FILE, got 'x'");
  EXPECT_EQ(error("--input"), "f:1: '--input' has no value");
  EXPECT_EQ(error("\n--weights w"),
            "f:2: unknown word '--weights' (known: --input, --output-dir, --expected-output, reset, variant)");
  EXPECT_EQ(error("foo"), "f:1: unknown word 'foo' (known: --input, --output-dir, --expected-output, reset, variant)");
  EXPECT_EQ(error("--input \"x"), "f:1: a quote is not closed");
  EXPECT_EQ(error("\""), "f:1: a quote is not closed");
  EXPECT_EQ(error("reset\n--input x=@y --output-dir \"\""), "f:2: --output-dir: expected the name of a folder");
  EXPECT_EQ(error("--input x=@"), "f:1: expected NAME=@FILE, got 'x=@'");
  EXPECT_EQ(error("reset x"), "f:1: reset: expected nothing behind it");
  // The first folder would get nothing.
  EXPECT_EQ(error("--output-dir a --input x=@y --output-dir b"), "f:1: --output-dir is given twice");
}

TEST(Calls, AZeroByteEndsNoName) {
  std::vector<Call> calls;
  const std::string text = "reset\n--input x=@y --output-dir a" + std::string(1, '\0') + "b";
  EXPECT_EQ(parseCalls(text, "f", calls).message, "f:2: the line holds a zero byte");
}

} // namespace
