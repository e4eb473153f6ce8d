//===- Options.h - the executable's command line ------------------------------------------------------------------===//
#ifndef MOERT_LAUNCHER_OPTIONS_H
#define MOERT_LAUNCHER_OPTIONS_H

#include "Sampler.h"
#include "moert/moert_model.h"

#include <string>
#include <vector>

namespace moert {

/// "NAME=@FILE" of --input and --expected-output.
struct NamedFile {
  std::string name, path;
};

/// One call of the program on tensors, as a command line or a line of a --calls file describes it.
struct Call {
  std::vector<NamedFile> inputs, expected;
  std::string outputDir;
  bool reset = false;  // only resets the states
  std::string variant; // not empty: only chooses this one for the calls that follow
};

/// "NAME=N" of --size.
struct NamedSize {
  std::string name;
  int64_t value = 0;
};

struct Prompt {
  std::string value; // the text, or the name of the file that holds it
  bool file = false;
};

/// What the executable shall do. Verify is what remains of a command line without another mode.
enum class Mode { None, Help, Version, Info, DumpSource, Generate, Tensors, Benchmark, Serve, Verify };

struct Options {
  Mode mode = Mode::None;
  std::string weights, trace;
  std::string entry, device; // empty: not given
  int64_t threads = 0;
  bool pin = false, verifyWeights = false;
  uint64_t randomWeights = 0; // 0: from the archive
  int64_t deadline = 0;       // milliseconds; 0: not given
  int64_t ranks = 0;          // to be started; 0: not given
  std::string variant;        // by name or number; empty: not given
  std::string comm;           // what they are: shm, local, nccl; empty: not given
  std::string root, hosts, hostName, interface; // of a job on several hosts; empty: not given
  int rank = 0;               // of this process; the first one alone prints and writes files
  bool kernels = false;
  std::string dumpDir;

  std::vector<Prompt> prompts;
  int missingPrompts = 0; // --generate without one
  bool ids = false;
  std::vector<std::string> stops;
  int64_t maxNewTokens = -1; // until the cache is full
  int64_t prefillChunk = 0;  // the whole prompt
  Sampling sampling;

  Call call;
  std::string calls;          // a file, and
  std::vector<Call> callList; // what it says, which is read before ranks are started
  double rtol = 1e-5, atol = 1e-6;

  int64_t promptTokens = -1, decodeTokens = -1, batch = -1, repeat = 5;
  std::vector<NamedSize> sizes;
  std::string samples;
  bool wait = false;
  bool tune = false; // a benchmark of the variants
};

Status parseOptions(int argc, const char *const *argv, Options &options);

/// The text of --help; `executable` is how it was called.
std::string helpText(const moert_program_list &programs, const std::string &executable);

/// Splits "NAME=@FILE".
Status parseNamedFile(const std::string &text, NamedFile &file);

/// Parses the lines of a --calls file.
Status parseCalls(const std::string &text, const std::string &path, std::vector<Call> &calls);

} // namespace moert

#endif // MOERT_LAUNCHER_OPTIONS_H
