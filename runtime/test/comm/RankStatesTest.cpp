//===- RankStatesTest.cpp - states that ranks keep between calls, some of which are refused -----------------------===//
//
// Ranks have parts of the states, and a call that does not fit them is refused as it is without ranks: with the
// caller's sizes, on all of them, and with the states as they were.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Job.h"
#include "RankSession.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

using namespace moert;
using namespace moert::test;

namespace {

const char *const kArchive = TOY_BIGRAM_WEIGHTS;
constexpr int64_t kVocabulary = 256;

/// toy/bigram.c with a second state, whose size no rank divides; for so many ranks, or for one process. Several
/// variants stand on axes of their own.
struct Bigram {
  explicit Bigram(int ranks, int variants = 1) {
    static const char *const axisNames[] = {"dp", "dp.1"}, *const variantNames[] = {"one", "other"};
    const moert_program &toy = *moert_session_programs()->programs[0];
    states[0] = toy.states[0];
    states[1] = {"marks", MOERT_F32, 2, {-3, 5}, 1, 0, -1, 0, 0, nullptr, 0};
    for (int v = 0; v < variants; ++v) {
      axes[v] = {axisNames[v], std::max(ranks, 1), 1};
      std::copy_n(toy.inputs, 3, inputs[v]);
      outputs[v] = toy.outputs[0];
      for (moert_value *value : {&inputs[v][0], &inputs[v][1], &outputs[v]})
        value->axes = 1u << v;
      programs[v] = toy;
      programs[v].inputs = inputs[v];
      programs[v].outputs = &outputs[v];
      programs[v].states = states;
      programs[v].state_count = 2;
      programs[v].axes = axes;
      programs[v].axis_count = ranks ? variants : 0;
      programs[v].variant = variants > 1 ? variantNames[v] : nullptr;
      programs[v].variant_axes = ranks ? 1u << v : 0;
      pointers[v] = &programs[v];
    }
    list.count = variants;
  }
  moert_value states[2], inputs[2][3], outputs[2];
  moert_axis axes[2];
  moert_program programs[2];
  const moert_program *pointers[2];
  moert_program_list list = {MOERT_ABI_VERSION, 1, pointers};
};

/// A call on `batch` rows of `length` tokens, of which the logits of the last `kept` are wanted.
struct Step {
  int64_t batch, length, position, kept = 1;
  bool resets = false;
  int32_t variant = 0;
};

/// The error, or "fine" and all logits.
std::string take(RankSession &s, const Step &step) {
  std::vector<int64_t> tokens, positions(static_cast<size_t>(step.batch), step.position), keep;
  for (int64_t i = 0; i < step.batch * step.length; ++i)
    tokens.push_back((i * 37 + step.position * 11 + 1) % kVocabulary);
  for (int64_t k = 0; k < step.kept; ++k)
    keep.push_back(step.length - step.kept + k);
  if (step.resets)
    moert_session_reset(s.session);
  int64_t sizes[2] = {step.batch, step.length};
  int32_t code = moert_session_set_input(s.session, 0, MOERT_I64, 2, sizes, tokens.data());
  code = code ? code : moert_session_set_input(s.session, 1, MOERT_I64, 1, sizes, positions.data());
  code = code ? code : moert_session_set_input(s.session, 2, MOERT_I64, 1, &step.kept, keep.data());
  code = code ? code : moert_session_run(s.session);
  if (code)
    return s.error();
  std::vector<float> logits = s.output<float>(0);
  return "fine " + std::string(reinterpret_cast<const char *>(logits.data()), logits.size() * sizeof(float));
}

using Texts = std::vector<std::string>;

Texts takeAll(const Bigram &bigram, int rank, int ranks, int port, const std::vector<Step> &steps) {
  RankSession s;
  if (s.open("main", rank, ranks, port, ranks ? 20000 : 0, kArchive, "token", false, &bigram.list))
    return {s.error()};
  Texts texts;
  for (const Step &step : steps)
    if (bigram.list.count > 1 && moert_session_set_variant(s.session, step.variant))
      texts.push_back(s.error());
    else
      texts.push_back(take(s, step));
  return texts;
}

bool isFine(const std::string &text) { return text.rfind("fine", 0) == 0; }

/// In one process, which is asked for what is not refused alone, too: refused calls leave no trace.
Texts expectedOf(const std::vector<Step> &steps, const Texts &refusals) {
  Bigram bigram(0);
  Texts all = takeAll(bigram, 0, 0, 0, steps), refused, fine;
  std::vector<Step> others;
  for (size_t i = 0; i < all.size(); ++i)
    if (isFine(all[i])) {
      fine.push_back(all[i]);
      others.push_back(steps[i]);
    } else {
      refused.push_back(all[i]);
    }
  EXPECT_EQ(refused, refusals);
  EXPECT_TRUE(takeAll(bigram, 0, 0, 0, others) == fine);
  return all;
}

/// Which step is another one on a rank; logits are no text to show.
std::string difference(const Texts &texts, const Texts &expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (i >= texts.size() || texts[i] != expected[i])
      return "step " + std::to_string(i) + ": " +
             (i >= texts.size() ? "missing" : isFine(texts[i]) ? "other logits, or not refused" : texts[i]);
  return "fine";
}

void expectRanksDo(const Bigram &bigram, int ranks, const std::vector<Step> &steps, const Texts &expected) {
  std::vector<std::string> local(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      local[static_cast<size_t>(rank)] = difference(takeAll(bigram, rank, ranks, /*port=*/0, steps), expected);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &text : local)
    EXPECT_EQ(text, "fine") << ranks << " threads";
  for (const Ending &ending : Job(ranks).run([&](const Ranks &own) {
         return difference(takeAll(bigram, own.rank, ranks, own.port, steps), expected);
       }))
    EXPECT_EQ(ending.text, "fine") << ranks << " processes";
}

std::string hold(int64_t held, int64_t given, const char *what = "batch") {
  return std::string("the states hold ") + what + " = " + std::to_string(held) + ", this call has " +
         std::to_string(given) + " (reset the states first)";
}

TEST(RankStates, StayWhenACallIsRefused) {
  // Of two rows and of three the first one of two ranks has one; of four ranks some have none. Larger calls would need
  // memory that is not there yet.
  const std::vector<Step> steps = {{2, 5, 0},    {3, 1, 5},    {1, 1, 5}, {2, 1, 5},          {4, 1, 6},
                                   {0, 1, 6},    {40, 1, 6},   {2, 1, 6}, {2, 2, 7, 2},       {3, 2, 7, 2},
                                   {2, 1, 7},    {3, 2, 0, 2, true}, {2, 1, 2}, {3, 2, 2, 2}, {3, 1, 2},
                                   {5, 3, 0, 1, true}, {4, 1, 3}, {6, 1, 3}, {5, 1, 3}};
  Texts expected = expectedOf(steps, {hold(2, 3), hold(2, 1), hold(2, 4), hold(2, 0), hold(2, 40), hold(1, 2, "kept"),
                                      hold(2, 3), hold(3, 2), hold(2, 1, "kept"), hold(5, 4), hold(5, 6)});
  for (int ranks : {1, 2, 3, 4})
    expectRanksDo(Bigram(ranks), ranks, steps, expected);
}

TEST(RankStates, OfNoRowsAreStates) {
  const std::vector<Step> steps = {{0, 1, 0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 0, 1, true}, {0, 1, 1}, {1, 1, 1}};
  Texts expected = expectedOf(steps, {hold(0, 1), hold(1, 0)});
  expectRanksDo(Bigram(2), 2, steps, expected);
}

TEST(RankStates, StayWhenAnotherVariantIsRefused) {
  const std::vector<Step> steps = {{2, 5, 0, 1, false, 0}, {3, 1, 5, 1, false, 1},   {2, 1, 5, 1, false, 1},
                                   {1, 1, 6, 1, false, 0}, {2, 1, 6, 1, false, 0},   {70, 1, 7, 1, false, 1},
                                   {2, 1, 7, 1, false, 1}, {70, 1, 0, 1, true, 0},   {2, 1, 1, 1, false, 1},
                                   {70, 1, 1, 1, false, 1}};
  Texts expected = expectedOf(steps, {hold(2, 3), hold(2, 1), hold(2, 70), hold(70, 2)});
  expectRanksDo(Bigram(2, 2), 2, steps, expected);
}

TEST(RankStates, StayWhenRanksAreGivenDifferentCalls) {
  const std::vector<Step> steps = {{2, 5, 0}, {2, 1, 5}, {2, 1, 6}, {3, 2, 0, 1, true}, {3, 1, 2}};
  Texts expected = expectedOf(steps, {});
  Bigram bigram(2);
  std::vector<Ending> endings = Job(2).run([&](const Ranks &own) -> std::string {
    RankSession s;
    if (s.open("main", own.rank, 2, own.port, 20000, kArchive, "token", false, &bigram.list))
      return s.error();
    std::string errors;
    auto refuse = [&](const Step &step) {
      std::string text = take(s, step);
      errors += (isFine(text) ? "not refused" : text) + "\n";
    };
    Texts texts;
    // Before there are states: a call that both refuse, and one that is not the same.
    refuse({2, 1, 64});
    refuse({own.rank ? 2 : 4, 1, 0});
    texts.push_back(take(s, steps[0]));
    refuse({own.rank ? 3 : 2, 1, 5});
    texts.push_back(take(s, steps[1]));
    texts.push_back(take(s, steps[2]));
    // One rank alone has forgotten its states: to go on would give numbers of neither, with either batch.
    if (own.rank)
      moert_session_reset(s.session);
    refuse({2, 1, 7});
    refuse({3, 2, 0});
    texts.push_back(take(s, steps[3]));
    texts.push_back(take(s, steps[4]));
    return errors + difference(texts, expected);
  });
  for (const Ending &ending : endings)
    EXPECT_EQ(ending.text, "input 'position': element 0 is 64, outside 0..63\n"
                           "rank 1 was given inputs with batch = 2, rank 0 with batch = 4\n"
                           "rank 1 was given inputs with batch = 3, rank 0 with batch = 2\n"
                           "rank 0 has states, rank 1 was reset: reset all ranks\n"
                           "rank 0 has states, rank 1 was reset: reset all ranks\n"
                           "fine");
}

} // namespace
