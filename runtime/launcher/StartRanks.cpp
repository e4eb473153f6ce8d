//===- StartRanks.cpp - which rank a process is, or the ranks that it starts --------------------------------------===//

#include "StartRanks.h"

#include "Console.h"
#include "Modes.h"
#include "RankProcesses.h"
#include "comm/Job.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/random.h>
#include <sys/stat.h>

namespace moert {

static const char *readEnvironment(const char *name) { return std::getenv(name); }

/// What can be read once only, and every rank needs.
static bool isStream(const std::string &path) {
  struct stat info;
  return path != "-" && stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

static Status readStreams(Options &options) {
  for (Prompt &prompt : options.prompts) {
    if (!prompt.file || !isStream(prompt.value))
      continue;
    std::string text;
    if (Status s = readAll(prompt.value, kMaxPromptBytes, text); s.failed())
      return s;
    prompt = {text, false};
  }
  return isStream(options.calls) ? readAll(options.calls, kMaxCallsBytes, options.callsText) : Status();
}

static bool readsInput(const Options &options) {
  auto isInput = [](const Prompt &prompt) { return prompt.file && prompt.value == "-"; };
  return options.mode == Mode::Serve || options.wait || options.calls == "-" ||
         std::any_of(options.prompts.begin(), options.prompts.end(), isInput);
}

/// What nobody can guess who is not given it.
static Status makeToken(std::string &token) {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    return failure(kUserError, "cannot get random bytes: %s", std::strerror(errno));
  for (unsigned char byte : bytes)
    token += format("%02x", byte);
  return {};
}

static Status startRanks(Options &options, const char *executable, bool &isOver) {
  RankJob job;
  job.count = static_cast<int>(options.ranks);
  job.executable = executable;
  job.readsInput = readsInput(options);
  job.patience = options.deadline ? options.deadline : 60000;
  if (Status s = readStreams(options); s.failed())
    return s;
  if (Status s = makeToken(job.token); s.failed())
    return s;
  return runRanks(job, isOver);
}

Status becomeRank(const moert_program &program, Options &options, const char *executable, bool &isOver) {
  Ranks ranks;
  if (program.axis_count == 0)
    return options.ranks ? failure(kUserError, "--ranks: the model is compiled for one process") : Status();
  if (Status s = findRanks(readEnvironment, ranks); s.failed())
    return s;
  if (options.ranks && !ranks.launcher.empty())
    return failure(kUserError, "--ranks starts processes of its own, and %s has started this one: leave it out",
                   ranks.launcher.c_str());
  if (options.ranks) {
    Ranks wanted;
    wanted.ranks = static_cast<int>(options.ranks);
    wanted.launcher = "--ranks";
    if (Status s = checkRankCount(program, wanted); s.failed())
      return s;
    if (Status s = startRanks(options, executable, isOver); s.failed() || isOver)
      return s;
    if (Status s = findRanks(readEnvironment, ranks); s.failed())
      return s;
  }
  options.rank = ranks.rank;
  if (options.rank)
    silence();
  return {};
}

} // namespace moert
