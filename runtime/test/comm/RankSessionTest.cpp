//===- RankSessionTest.cpp - a program that ranks run together, as threads and as processes -----------------------===//

#include "Job.h"
#include "RankSession.h"
#include "core/RandomWeights.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <thread>

using namespace moert;
using namespace moert::test;

namespace {

const char *const kArchive = TOY_ROWS_WEIGHTS;

/// One rank's work: calls of several sizes, of which some leave ranks without a token, twice.
std::string work(const char *entry, int rank, int ranks, int exchanging, int port) {
  RankSession s;
  if (s.open(entry, rank, ranks, port, 20000, kArchive))
    return s.error();
  for (int round = 0; round < 2; ++round)
    for (int64_t tokens : {7, 1, 64, 0, 3, 4099}) {
      RowsCall call(tokens, exchanging);
      if (s.run(call))
        return s.error();
      if (std::string text = s.check(call); text != "fine")
        return text;
    }
  return "fine";
}

struct Case {
  const char *entry;
  int ranks, exchanging;
};
const Case kCases[] = {{"rows1", 1, 1}, {"rows2", 2, 2}, {"rows3", 3, 3},
                       {"rows4", 4, 4}, {"grid", 4, 2},  {"both", 4, 2}};

void expectThreadsWork(const Case &c, int port) {
  std::vector<std::string> texts(static_cast<size_t>(c.ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < c.ranks; ++rank)
    threads.emplace_back([&, rank] {
      texts[static_cast<size_t>(rank)] = work(c.entry, rank, c.ranks, c.exchanging, port);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(texts, std::vector<std::string>(texts.size(), "fine")) << c.entry;
}

TEST(RankSession, ThreadsGetWhatOneWouldCompute) {
  for (const Case &c : kCases)
    expectThreadsWork(c, freePort());
}

TEST(RankSession, ThreadsNeedNoPort) {
  for (const Case &c : kCases)
    expectThreadsWork(c, /*port=*/0);
}

#ifndef TOY_THREADS_ONLY

TEST(RankSession, ProcessesGetWhatOneWouldCompute) {
  for (const Case &c : kCases)
    for (const Ending &ending : Job(c.ranks).run([&](const Ranks &ranks) {
           return work(c.entry, ranks.rank, ranks.ranks, c.exchanging, ranks.port);
         }))
      EXPECT_EQ(ending.text, "fine") << c.entry;
}

TEST(RankSession, TheLastAxisVariesFastest) {
  for (const Ending &ending : Job(4).run([](const Ranks &ranks) -> std::string {
         RankSession s;
         if (s.open("grid", ranks.rank, 4, ranks.port, 20000, kArchive) || s.run(RowsCall(9, 2)))
           return s.error();
         // Agreed on dp, of 10 * ep + dp; and collected on ep.
         std::vector<int64_t> agreed = s.output<int64_t>(2), room = s.output<int64_t>(1);
         return agreed == std::vector<int64_t>{1, 11} && room[0] == 5 ? "fine" : "other ranks";
       }))
    EXPECT_EQ(ending.text, "fine");
}

TEST(RankSession, SeveralAxesDivideTogether) {
  for (const Ending &ending : Job(4).run([](const Ranks &ranks) -> std::string {
         RankSession s;
         if (s.open("both", ranks.rank, 4, ranks.port, 20000, kArchive) || s.run(RowsCall(9, 2)))
           return s.error();
         // Collected on both axes; of nine rows a rank has two or, the last one, three.
         std::vector<int64_t> agreed = s.output<int64_t>(2), room = s.output<int64_t>(1);
         int64_t most = ranks.rank < 2 ? 2 : 3;
         return agreed == std::vector<int64_t>{1, 11, 1, 11} && room[0] == most ? "fine" : "other ranks";
       }))
    EXPECT_EQ(ending.text, "fine");
}

/// Bytes of the archive that this process has mapped.
size_t mappedBytes(const std::string &path) {
  std::ifstream maps("/proc/self/maps");
  size_t total = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) == std::string::npos)
      continue;
    char *end = nullptr;
    size_t begin = std::strtoul(line.c_str(), &end, 16);
    total += std::strtoul(end + 1, nullptr, 16) - begin;
  }
  return total;
}

TEST(RankSession, ARankMapsItsPartOfTheWeights) {
  // The toy's program with a parameter of 4 MiB.
  constexpr int64_t width = 1 << 18;
  std::string path = testing::TempDir() + "large.weights";
  writeArchive(path, 2, width, 3);
  moert_program large = *moert_session_programs()->programs[1];
  moert_parameter_desc parameter = large.parameters[0];
  parameter.sizes[1] = width;
  large.parameters = &parameter;
  const moert_program *const programs[] = {&large};
  const moert_program_list list = {MOERT_ABI_VERSION, 1, programs};
  for (const Ending &ending : Job(2).run([&](const Ranks &ranks) -> std::string {
         RankSession s;
         if (s.open("rows2", ranks.rank, 2, ranks.port, 20000, path.c_str(), "token", false, &list))
           return s.error();
         size_t bytes = mappedBytes(path);
         if (s.run(RowsCall(3, 2)))
           return s.error();
         // Its half, and the pages of header and table.
         return bytes >= 2 << 20 && bytes <= (2 << 20) + 4 * 4096 ? "fine" : std::to_string(bytes);
       }))
    EXPECT_EQ(ending.text, "fine");
}

TEST(RankSession, ARankMapsWhatItsVariantsReadTogether) {
  // A parameter of 4 MiB: quarters on ep, halves on ep.1, which is half of the ranks of a variant that has dp.1, too.
  constexpr int64_t width = 1 << 18;
  std::string path = testing::TempDir() + "parts.weights";
  writeArchive(path, 2, width, 3);
  const moert_axis axes[] = {{"ep", 4, 1}, {"dp.1", 2, 2}, {"ep.1", 2, 1}};
  moert_program one = *moert_session_programs()->programs[6], other = *moert_session_programs()->programs[7];
  moert_parameter_desc parameters[] = {one.parameters[0], one.parameters[1]};
  for (moert_parameter_desc &parameter : parameters)
    parameter.sizes[1] = width;
  parameters[1].axes[0] = 2;
  one.axes = other.axes = axes;
  one.axis_count = other.axis_count = 3;
  one.variant_axes = 1;
  other.variant_axes = 6;
  one.parameters = other.parameters = parameters;
  const moert_program *const programs[] = {&one, &other};
  const moert_program_list list = {MOERT_ABI_VERSION, 2, programs};
  std::vector<Ending> endings = Job(4).run([&](const Ranks &ranks) -> std::string {
    RankSession s;
    if (s.open("ways", ranks.rank, 4, ranks.port, 20000, path.c_str(), "token", false, &list))
      return s.error();
    // In MiB, without the pages of header and table.
    return std::to_string((mappedBytes(path) - 4096) >> 20);
  });
  // The second quarter is in the first half, but rank 1 has the second one.
  const char *const expected[] = {"2", "3", "3", "2"};
  for (size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(endings[rank].text, expected[rank]) << rank;
}

TEST(RankSession, RandomWeightsAreThoseOfTheWhole) {
  std::vector<float> w(4 * kWidth);
  fillRandom(5, "w2", MOERT_F32, w.data(), w.size() * sizeof(float));
  for (const Ending &ending : Job(2).run([&](const Ranks &ranks) -> std::string {
         std::string root = "127.0.0.1:" + std::to_string(ranks.port);
         moert_session_options options = {};
         options.entry = "rows2";
         options.random_weights = 5;
         options.ranks = ranks.ranks;
         options.rank = ranks.rank;
         options.root = root.c_str();
         RankSession s;
         if (moert_session_open(moert_session_programs(), &options, &s.session))
           return s.error();
         RowsCall call(4, 2);
         call.to.assign(4, 1);
         for (size_t i = 0; i < call.x.size(); ++i)
           call.expected[i] = call.x[i] * w[2 * kWidth + i % kWidth] * w[kWidth + i % kWidth] * call.scale;
         return s.run(call) ? s.error() : s.check(call);
       }))
    EXPECT_EQ(ending.text, "fine");
}

TEST(RankSession, EpochsBeginAgain) {
  setenv("TOY_EPOCH", "1073741820", 1); // 2^30 - 4: two runs of two exchanges
  std::vector<Ending> endings = Job(3).run([](const Ranks &ranks) -> std::string {
    RankSession s;
    if (s.open("rows3", ranks.rank, 3, ranks.port, 20000, kArchive))
      return s.error();
    std::string epochs;
    for (int call = 0; call < 5; ++call) {
      unsetenv(call ? "TOY_EPOCH" : "NONE");
      RowsCall rows(9, 3);
      if (s.run(rows))
        return s.error();
      if (s.check(rows) != "fine")
        return "wrong rows";
      epochs += std::to_string(s.output<int64_t>(1)[1]) + " ";
    }
    return epochs;
  });
  unsetenv("TOY_EPOCH");
  for (const Ending &ending : endings)
    EXPECT_EQ(ending.text, "1073741822 1073741824 2 4 6 ");
}

TEST(RankSession, RunsVariantsInTurn) {
  std::vector<Ending> endings = Job(2).run([](const Ranks &ranks) -> std::string {
    RankSession s;
    if (s.open("ways", ranks.rank, 2, ranks.port, 20000, kArchive))
      return s.error();
    if (moert_session_variants(s.session) != 2 || std::strcmp(moert_session_variant_name(s.session, 1), "other") != 0)
      return "other variants";
    std::string epochs;
    for (int32_t variant : {0, 1, 1, -1, 1}) {
      // Smaller calls go by what larger ones have reserved.
      RowsCall rows(epochs.empty() ? 40 : 9 + variant, 2);
      if (moert_session_set_variant(s.session, variant) || s.run(rows))
        return s.error();
      if (moert_session_variant(s.session) != std::max(variant, 0) || s.check(rows) != "fine")
        return "wrong rows";
      // Each counts exchanges of its own.
      epochs += std::to_string(s.output<int64_t>(1)[1]) + " ";
    }
    // What only one rank has chosen is an error of all, and the next run is as good as ever.
    RowsCall rows(9, 2);
    (void)moert_session_set_variant(s.session, ranks.rank);
    if (s.run(rows) != 1)
      return "ran two variants";
    std::string error = s.error();
    (void)moert_session_set_variant(s.session, 1);
    return s.run(rows) || s.check(rows) != "fine" ? s.error() : epochs + error;
  });
  for (const Ending &ending : endings)
    EXPECT_EQ(ending.text, "2 2 4 4 6 rank 1 was to run variant 1, rank 0 variant 0");
}

TEST(RankSession, SaysWhatWasSent) {
  std::string path = testing::TempDir() + "ranks.trace.json", archive = testing::TempDir() + "ranks.weights";
  std::filesystem::copy_file(kArchive, archive, std::filesystem::copy_options::overwrite_existing);
  std::vector<Ending> endings = Job(2).run([&](const Ranks &ranks) -> std::string {
    RankSession s;
    if (s.open("rows2", ranks.rank, 2, ranks.port, 20000, archive.c_str(), "token", /*trace=*/true))
      return s.error();
    RowsCall call(5, 2); // to ranks 0 1 0 1 0: rank 0 has two tokens, rank 1 three
    if (s.run(call) || moert_session_write_trace(s.session, path.c_str()))
      return s.error();
    int32_t count = 0;
    const int64_t *sent = moert_session_traffic(s.session, 0, &count);
    std::string text = std::to_string(count) + ": " + std::to_string(sent[0]) + " " + std::to_string(sent[1]);
    moert_session_clear_traffic(s.session);
    // One rank writes for all, and finds that this is no place for a trace.
    if (moert_session_write_trace(s.session, archive.c_str()) != (ranks.rank == 0))
      return "a trace in place of the archive";
    return sent[0] || sent[1] ? "not cleared" : text;
  });
  // A row has 64 bytes, and an exchange 8 more; each rank sends its rows elsewhere in one of the two layers.
  EXPECT_EQ(endings[0].text, "2: 0 144");
  EXPECT_EQ(endings[1].text, "2: 208 0");
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const char *part : {"\"name\":\"toy-rows, rank 0\"", "\"name\":\"toy-rows, rank 1\"", "\"bytes\":[0,72],",
                           "\"pid\":2", "\"phase\":\"layer 1: rows to ranks\"", "sent on ep"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

std::string openError(const moert_session_options &given) {
  RankSession s;
  moert_session_options options = given;
  options.weights = kArchive;
  EXPECT_NE(moert_session_open(moert_session_programs(), &options, &s.session), 0);
  return s.error();
}

TEST(RankSession, RefusesOtherNumbersOfRanks) {
  moert_session_options options = {};
  options.entry = "rows2";
  std::string alone = "the program is for 2 ranks (ep = 2), and this is one process: start it with --ranks 2, or by "
                      "torchrun, mpirun or srun";
  EXPECT_EQ(openError(options), alone);
  options.ranks = 3;
  options.root = "127.0.0.1:1";
  EXPECT_EQ(openError(options), "the program is for 2 ranks (ep = 2), but the session has 3");
  options.rank = 3;
  EXPECT_EQ(openError(options), "rank 3 of 3 ranks; ranks count from 0");
  options.rank = 0;
  options.root = nullptr;
  EXPECT_EQ(openError(options), "the session does not say where rank 0 is (HOST:PORT, or local)");
  options.root = "nowhere";
  EXPECT_EQ(openError(options), "the place of rank 0 is 'nowhere'; HOST:PORT is expected");
  options = {};
  options.entry = "grid";
  options.ranks = 2;
  options.root = "127.0.0.1:1";
  EXPECT_EQ(openError(options), "the program is for 4 ranks (dp = 2, ep = 2), but the session has 2");
}

#endif

} // namespace
