//===- SessionStatesTest.cpp - every function of session.h in every state of a session ----------------------------===//
//
// A table says what each function of session.h gives in each state that a session can be in; another one, what it gives
// for arguments that are wrong. The first test fails if session.h has a function that is not in the table.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "cpu/Pool.h"
#include "moert/session.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// Two rows of ones for the toy layer, 64-byte aligned, so that the session uses them where they lie.
struct Inputs {
  alignas(64) uint16_t x[16];
  alignas(64) float scale[2] = {1, 1};
  int64_t sizes[2] = {2, 8};
  Inputs() { std::fill(x, x + 16, uint16_t(0x3f80)); }
} inputs;

int32_t setX(moert_session *s) { return moert_session_set_input(s, 0, MOERT_BF16, 2, inputs.sizes, inputs.x); }
int32_t setScale(moert_session *s) { return moert_session_set_input(s, 1, MOERT_F32, 1, inputs.sizes, inputs.scale); }

int32_t run(moert_session *s, float scale = 1) {
  inputs.scale[0] = scale;
  int32_t code = setX(s);
  code = code ? code : setScale(s);
  return code ? code : moert_session_run(s);
}

const char *const kArchive = TOY_LAYER_WEIGHTS;

moert_session *open(const char *weights, const char *entry = nullptr) {
  moert_session_options options = {};
  options.weights = weights;
  options.entry = entry;
  options.threads = 2;
  options.trace = options.count_experts = 1;
  moert_session *s = nullptr;
  moert_session_open(moert_session_programs(), &options, &s);
  return s;
}

/// A session in each state that it can be in, and how to get it there.
struct State {
  const char *name;
  bool isOpen, hasProgram, hasOutputs;
  const char *error; // of a session that is not open: text that its functions give
  std::function<moert_session *()> make;
};

const State kStates[] = {
    {"null", false, false, false, "there is no session", [] { return static_cast<moert_session *>(nullptr); }},
    {"no such entry", false, false, false, "the model has no entry 'none'", [] { return open(kArchive, "none"); }},
    {"no weights", false, true, false, "cannot open weights '/nonexistent'", [] { return open("/nonexistent"); }},
    {"opened", true, true, false, "", [] { return open(kArchive); }},
    {"some inputs", true, true, false, "",
     [] {
       auto *s = open(kArchive);
       EXPECT_EQ(setX(s), 0);
       return s;
     }},
    {"refused input", true, true, false, "",
     [] {
       auto *s = open(kArchive);
       EXPECT_EQ(setX(s) + setScale(s), 0);
       EXPECT_EQ(moert_session_set_input(s, 0, MOERT_F32, 2, inputs.sizes, inputs.x), 1);
       return s;
     }},
    {"run that lacked inputs", true, true, false, "",
     [] {
       auto *s = open(kArchive);
       EXPECT_EQ(moert_session_run(s), 1);
       return s;
     }},
    {"run", true, true, true, "",
     [] {
       auto *s = open(kArchive);
       EXPECT_EQ(run(s), 0);
       return s;
     }},
    {"run that the program left", true, true, false, "",
     [] {
       auto *s = open(kArchive);
       EXPECT_EQ(run(s), 0);
       EXPECT_EQ(run(s, 669), 1);
       return s;
     }},
    {"run that the program failed", true, true, false, "",
     [] {
       auto *s = open(kArchive);
       EXPECT_EQ(run(s, 666), 70);
       return s;
     }},
    {"reset", true, true, true, "",
     [] {
       auto *s = open(kArchive);
       EXPECT_EQ(run(s), 0);
       moert_session_reset(s);
       return s;
     }},
};

/// Functions that return a code: what is expected of it in a state that is not open follows from the state.
void expectCode(const State &state, moert_session *s, int32_t code, int32_t whenOpen, const char *error = "") {
  if (state.isOpen) {
    EXPECT_EQ(code, whenOpen) << moert_session_error(s);
    EXPECT_NE(std::strstr(moert_session_error(s), error), nullptr) << moert_session_error(s);
  } else {
    EXPECT_EQ(code, 1);
    EXPECT_NE(std::strstr(moert_session_error(s), state.error), nullptr) << moert_session_error(s);
    EXPECT_EQ(std::strchr(moert_session_error(s), '\n'), nullptr);
  }
}

using Check = std::function<void(const State &, moert_session *)>;

/// By function: right calls of it, and calls with each argument that can be wrong.
const std::map<std::string, Check> kFunctions = {
    {"moert_session_programs", [](const State &, moert_session *) { EXPECT_EQ(moert_session_programs()->count, 1); }},
    {"moert_session_open",
     [](const State &, moert_session *) {
       EXPECT_EQ(moert_session_open(moert_session_programs(), nullptr, nullptr), 1);
       auto fails = [](const moert_program_list *list, int32_t code, const char *error) {
         moert_session *other = nullptr;
         EXPECT_EQ(moert_session_open(list, nullptr, &other), code);
         EXPECT_NE(std::strstr(moert_session_error(other), error), nullptr) << moert_session_error(other);
         moert_session_close(other);
       };
       const moert_program *const none[] = {nullptr};
       const moert_program_list listed = {MOERT_ABI_VERSION, 1, none}, unlisted = {MOERT_ABI_VERSION, 1, nullptr},
                                empty = {MOERT_ABI_VERSION, 0, none};
       fails(nullptr, 1, "there is no list of programs");
       fails(&listed, 70, "an entry is missing");
       fails(&unlisted, 70, "it has no entry");
       fails(&empty, 70, "it has no entry");
     }},
    {"moert_session_close", [](const State &state, moert_session *) { moert_session_close(state.make()); }},
    {"moert_session_program",
     [](const State &state, moert_session *s) { EXPECT_EQ(moert_session_program(s) != nullptr, state.hasProgram); }},
    {"moert_session_device",
     [](const State &state, moert_session *s) {
       EXPECT_STREQ(moert_session_device(s), state.isOpen ? "cpu" : "none");
     }},
    {"moert_session_error",
     [](const State &state, moert_session *s) {
       EXPECT_NE(std::strstr(moert_session_error(s), state.error), nullptr) << moert_session_error(s);
     }},
    {"moert_session_find_input",
     [](const State &state, moert_session *s) {
       EXPECT_EQ(moert_session_find_input(s, "scale"), state.isOpen ? 1 : -1);
       EXPECT_EQ(moert_session_find_input(s, "y"), -1);
       EXPECT_EQ(moert_session_find_input(s, ""), -1);
       EXPECT_EQ(moert_session_find_input(s, nullptr), -1);
     }},
    {"moert_session_find_output",
     [](const State &state, moert_session *s) {
       EXPECT_EQ(moert_session_find_output(s, "calls"), state.isOpen ? 1 : -1);
       EXPECT_EQ(moert_session_find_output(s, "x"), -1);
       EXPECT_EQ(moert_session_find_output(s, nullptr), -1);
     }},
    {"moert_session_set_input",
     [](const State &state, moert_session *s) {
       auto set = [&](int32_t index, int32_t dtype, int32_t rank, const int64_t *sizes, const void *data,
                      const char *error) {
         expectCode(state, s, moert_session_set_input(s, index, dtype, rank, sizes, data), *error ? 1 : 0, error);
       };
       const int64_t negative[2] = {-1, 8}, huge[2] = {INT64_MAX / 2, 8}, none[2] = {0, 8};
       for (int32_t index : {-1, 2, INT32_MIN, INT32_MAX})
         set(index, MOERT_BF16, 2, inputs.sizes, inputs.x, "there is no input");
       for (int32_t dtype : {-1, 99, INT32_MIN, INT32_MAX, int32_t(MOERT_F32)})
         set(0, dtype, 2, inputs.sizes, inputs.x, "the program expects rows x 8 x bf16");
       for (int32_t rank : {-1, 0, 1, 3, 9, INT32_MIN, INT32_MAX})
         set(0, MOERT_BF16, rank, inputs.sizes, inputs.x, "the program expects rows x 8 x bf16");
       for (const int64_t *sizes : {negative, huge})
         set(0, MOERT_BF16, 2, sizes, inputs.x, "the program expects rows x 8 x bf16");
       set(0, MOERT_BF16, 2, nullptr, inputs.x, "input 'x' has no sizes");
       set(0, MOERT_BF16, 0, nullptr, inputs.x, "the program expects rows x 8 x bf16");
       set(0, MOERT_BF16, 2, inputs.sizes, nullptr, "input 'x' has no data");
       set(0, MOERT_BF16, 2, none, nullptr, "");
       set(0, MOERT_BF16, 2, inputs.sizes, inputs.x, "");
     }},
    {"moert_session_run",
     [](const State &state, moert_session *s) {
       // An input that was refused, or belonged to a run that failed, does not count.
       bool onlyScale = std::strcmp(state.name, "some inputs") == 0;
       expectCode(state, s, moert_session_run(s), 1, onlyScale ? "input 'scale' is missing" : "input 'x' is missing");
       expectCode(state, s, moert_session_run(s), 1, "input 'x' is missing");
       expectCode(state, s, run(s), 0);
     }},
    {"moert_session_output",
     [](const State &state, moert_session *s) {
       moert_tensor y = {};
       const char *none = "no run has succeeded";
       expectCode(state, s, moert_session_output(s, 0, &y), state.hasOutputs ? 0 : 1, state.hasOutputs ? "" : none);
       EXPECT_EQ(y.data != nullptr, state.hasOutputs);
       for (int32_t index : {-1, 2, INT32_MIN, INT32_MAX})
         expectCode(state, s, moert_session_output(s, index, &y), 1, state.hasOutputs ? "there is no output" : none);
       expectCode(state, s, moert_session_output(s, 1, nullptr), 1,
                  state.hasOutputs ? "there is no place for output 'calls'" : none);
     }},
    {"moert_session_reset",
     [](const State &state, moert_session *s) {
       moert_session_reset(s);
       moert_session_reset(s);
       expectCode(state, s, run(s), 0);
       if (!state.isOpen)
         return;
       moert_tensor calls;
       ASSERT_EQ(moert_session_output(s, 1, &calls), 0);
       EXPECT_EQ(*static_cast<const int64_t *>(calls.data), 1);
     }},
    {"moert_session_threads",
     [](const State &state, moert_session *s) {
       EXPECT_EQ(moert_session_threads(s), state.isOpen ? std::min(2, moert::availableCores()) : 0);
     }},
    {"moert_session_state_bytes",
     [](const State &state, moert_session *s) {
       expectCode(state, s, run(s), 0);
       EXPECT_EQ(moert_session_state_bytes(s), state.isOpen ? 64 : 0);
     }},
    {"moert_session_arena_bytes", [](const State &, moert_session *s) { EXPECT_EQ(moert_session_arena_bytes(s), 0); }},
    {"moert_session_write_trace",
     [](const State &state, moert_session *s) {
       std::string path = testing::TempDir() + "states.trace.json";
       expectCode(state, s, moert_session_write_trace(s, path.c_str()), 0);
       EXPECT_EQ(std::remove(path.c_str()) == 0, state.isOpen);
       expectCode(state, s, moert_session_write_trace(s, nullptr), 1, "its name is NULL");
       expectCode(state, s, moert_session_write_trace(s, ""), 1, "No such file or directory");
     }},
    // The toy layer has neither ranks nor experts.
    {"moert_session_traffic",
     [](const State &, moert_session *s) {
       int32_t ranks = 0;
       for (int32_t axis : {-1, 0, INT32_MIN, INT32_MAX}) {
         EXPECT_EQ(moert_session_traffic(s, axis, &ranks), nullptr);
         EXPECT_EQ(moert_session_traffic(s, axis, nullptr), nullptr);
       }
     }},
    {"moert_session_clear_traffic", [](const State &, moert_session *s) { moert_session_clear_traffic(s); }},
    // Nor has it variants.
    {"moert_session_variants",
     [](const State &state, moert_session *s) { EXPECT_EQ(moert_session_variants(s), state.isOpen ? 1 : 0); }},
    {"moert_session_variant_name",
     [](const State &, moert_session *s) {
       for (int32_t number : {-1, 0, 1, INT32_MIN, INT32_MAX})
         EXPECT_EQ(moert_session_variant_name(s, number), nullptr);
     }},
    {"moert_session_set_variant",
     [](const State &state, moert_session *s) {
       for (int32_t number : {-1, 0, INT32_MIN})
         expectCode(state, s, moert_session_set_variant(s, number), 0);
       expectCode(state, s, moert_session_set_variant(s, 1), 1, "there is no variant 1, the program has 1");
       expectCode(state, s, moert_session_set_variant(s, INT32_MAX), 1, "there is no variant 2147483647");
     }},
    {"moert_session_variant",
     [](const State &state, moert_session *s) { EXPECT_EQ(moert_session_variant(s), state.isOpen ? 0 : -1); }},
    {"moert_session_expert_layers",
     [](const State &, moert_session *s) { EXPECT_EQ(moert_session_expert_layers(s), 0); }},
    {"moert_session_expert_load",
     [](const State &, moert_session *s) {
       int32_t experts = 0;
       const int64_t *rows = nullptr;
       for (int32_t layer : {-1, 0, 1, INT32_MIN, INT32_MAX}) {
         EXPECT_EQ(moert_session_expert_load(s, layer, &experts, &rows), nullptr);
         EXPECT_EQ(moert_session_expert_load(s, layer, nullptr, nullptr), nullptr);
       }
     }},
    {"moert_session_clear_expert_load",
     [](const State &, moert_session *s) {
       moert_session_clear_expert_load(s);
       moert_session_clear_expert_load(s);
     }},
};

TEST(SessionStates, CoverEveryFunctionOfTheHeader) {
  std::ifstream file(SESSION_HEADER);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::regex declaration("\nMOERT_API[^;(]*[ *](\\w+)\\(");
  std::set<std::string> declared, covered;
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it)
    declared.insert((*it)[1]);
  for (const auto &[name, check] : kFunctions)
    covered.insert(name);
  EXPECT_GT(declared.size(), 10u);
  EXPECT_EQ(declared, covered);
}

class SessionStates : public testing::TestWithParam<State> {};

TEST_P(SessionStates, EveryFunctionSucceedsOrSaysWhyNot) {
  for (const auto &[name, check] : kFunctions) {
    SCOPED_TRACE(name);
    moert_session *s = GetParam().make();
    check(GetParam(), s);
    // Whatever the call was, a session that is open still works.
    expectCode(GetParam(), s, run(s), 0);
    moert_session_close(s);
  }
}

/// What a function gives in a child of fork() is what it gives for a session that is not open, by another text. A wait
/// for threads that are only in the parent would not end.
TEST_P(SessionStates, EveryFunctionFailsInAChildOfFork) {
  moert_session *s = GetParam().make();
  State state = GetParam();
  state.isOpen = state.hasOutputs = false;
  state.error = s ? "the session was opened by another process" : state.error;
  state.make = [s] { return s; };
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);
    for (const auto &[name, check] : kFunctions) {
      SCOPED_TRACE(name);
      check(state, s);
    }
    moert_session *own = open(kArchive);
    EXPECT_EQ(run(own), 0) << moert_session_error(own);
    moert_session_close(own);
    _exit(HasFailure());
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // The parent's session is what it was.
  expectCode(GetParam(), s, run(s), 0);
  moert_session_close(s);
}

INSTANTIATE_TEST_SUITE_P(All, SessionStates, testing::ValuesIn(kStates), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

/// Data of an output may move or change in the run that reads it: it is copied, aligned as it is.
TEST(Session, CopiesItsOwnOutputWhenItIsAnInput) {
  moert_session *s = open(kArchive);
  ASSERT_EQ(run(s), 0);
  for (uint16_t expected : {0x4000, 0x4080}) { // y[0] = x[0] + calls
    moert_tensor y;
    ASSERT_EQ(moert_session_output(s, 0, &y), 0);
    auto *values = static_cast<uint16_t *>(const_cast<void *>(y.data));
    ASSERT_EQ(moert_session_set_input(s, 0, y.dtype, y.rank, y.sizes, values), 0);
    std::fill(values, values + 16, uint16_t(0));
    ASSERT_EQ(setScale(s), 0);
    ASSERT_EQ(moert_session_run(s), 0);
    EXPECT_EQ(values[0], expected);
  }
  moert_session_close(s);
}

} // namespace
