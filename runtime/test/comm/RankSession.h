//===- RankSession.h - a rank's session of the toy program, and what has to come of it ----------------------------===//
#ifndef MOERT_TEST_COMM_RANKSESSION_H
#define MOERT_TEST_COMM_RANKSESSION_H

#include "ArchiveWriter.h"
#include "moert/session.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace moert::test {

constexpr int kWidth = 16;

/// Inputs of toy/rows.c, and the result.
struct RowsCall {
  std::vector<float> x, expected;
  std::vector<int32_t> to;
  float scale = 2;
  int64_t tokens;

  RowsCall(int64_t tokens, int ranks) : tokens(tokens) {
    auto w = [](int row, int j) { return static_cast<float>(1 + (row * kWidth + j) % 29); };
    for (int64_t t = 0; t < tokens; ++t) {
      // The last rank gets nothing in the first layer, if there are three.
      int d = static_cast<int>(t * 7 % (ranks > 2 ? ranks - 1 : ranks));
      to.push_back(d);
      for (int j = 0; j < kWidth; ++j) {
        x.push_back(static_cast<float>(t * 3 % 640 + j)); // the program does not like 669
        expected.push_back(x.back() * w(2 * d, j) * w(2 * ((d + 1) % ranks) + 1, j) * scale);
      }
    }
  }
};

/// An archive whose one entry is the parameter of so many ranks: all its elements are `value`.
inline void writeArchive(const std::string &path, int ranks, int64_t width, float value) {
  ArchiveWriter writer;
  std::vector<float> elements(static_cast<size_t>(2 * ranks * width), value);
  writer.add("w" + std::to_string(ranks), MOERT_F32, {2 * ranks, width}, elements.data());
  writer.weightsId = "89abcdef0123456789abcdef01234567";
  std::string bytes = writer.finish();
  FILE *file = std::fopen(path.c_str(), "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
}

/// A session that is closed with its owner.
class RankSession {
public:
  RankSession() = default;
  RankSession(const RankSession &) = delete;
  ~RankSession() { moert_session_close(session); }

  int32_t open(const char *entry, int rank, int ranks, int port, int64_t deadline, const char *weights,
               const char *token = "token", bool trace = false,
               const moert_program_list *programs = moert_session_programs()) {
    std::string root = port ? "127.0.0.1:" + std::to_string(port) : "local";
    moert_session_options options = {};
    options.weights = weights;
    options.entry = entry;
    options.threads = 2;
    options.deadline_ms = deadline;
    options.rank = rank;
    options.ranks = ranks;
    options.root = root.c_str();
    options.token = token;
    options.trace = trace;
    return moert_session_open(programs, &options, &session);
  }
  int32_t run(const RowsCall &call) {
    int64_t sizes[2] = {call.tokens, kWidth}, one = 1;
    int32_t code = moert_session_set_input(session, 0, MOERT_F32, 2, sizes, call.x.data());
    code = code ? code : moert_session_set_input(session, 1, MOERT_I32, 1, sizes, call.to.data());
    code = code ? code : moert_session_set_input(session, 2, MOERT_F32, 1, &one, &call.scale);
    return code ? code : moert_session_run(session);
  }
  std::string error() const { return moert_session_error(session); }
  template <typename T> std::vector<T> output(int index) const {
    moert_tensor value = {};
    if (moert_session_output(session, index, &value))
      return {};
    int64_t count = 1;
    for (int32_t d = 0; d < value.rank; ++d)
      count *= value.sizes[d];
    auto *data = static_cast<const T *>(value.data);
    return std::vector<T>(data, data + count);
  }
  /// "fine" if all rows are as expected.
  std::string check(const RowsCall &call) const {
    return output<float>(0) == call.expected ? "fine" : "wrong rows";
  }

  moert_session *session = nullptr;
};

} // namespace moert::test

#endif // MOERT_TEST_COMM_RANKSESSION_H
