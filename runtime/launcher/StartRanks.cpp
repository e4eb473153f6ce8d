//===- StartRanks.cpp - which rank a process is, or the ranks that it starts --------------------------------------===//

#include "StartRanks.h"

#include "Console.h"
#include "HostsFile.h"
#include "Modes.h"
#include "RankThreads.h"
#include "comm/Job.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/random.h>
#include <sys/stat.h>
#include <utility>

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
  return {};
}

static bool readsInput(const Options &options) {
  auto isInput = [](const Prompt &prompt) { return prompt.file && prompt.value == "-"; };
  return options.mode == Mode::Serve || options.wait ||
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

/// The ranks of this host. What its processes must know alike on all hosts follows from the command line, so that the
/// token keeps strangers out only if somebody has chosen it.
static Status describeHosts(const Options &options, RankJob &job) {
  constexpr size_t kMostBytes = size_t(1) << 20;
  std::string text;
  if (Status s = readAll(options.hosts, kMostBytes, text); s.failed())
    return s;
  HostShare share;
  std::string name = options.hostName.empty() ? ownHostName() : options.hostName;
  if (Status s = findShare(text, options.hosts, name, job.total, share); s.failed())
    return s;
  job.first = share.first;
  job.count = share.count;
  job.firsts = share.firsts;
  job.root = options.root;
  job.hostName = options.hostName;
  job.interface = options.interface;
  const char *token = readEnvironment("MOE_TOKEN");
  job.token = token && *token ? token : format("%s of %d ranks", options.root.c_str(), job.total);
  return {};
}

/// Ranks of a node are taken to be near each other; the results are the same if they are not. Said once, where rank 0
/// is.
static void warnOfSharedNodes(const moert_program &program, const RankJob &job) {
  for (int32_t a = 0; a < program.axis_count && job.first == 0; ++a) {
    const moert_axis &axis = program.axes[a]; // @local, @local.1 of a variant
    if (std::strncmp(axis.name, "local", 5) != 0 || (axis.name[5] && axis.name[5] != '.'))
      continue;
    const int each = axis.ranks * axis.stride, node = findSharedNode(job.firsts, each);
    if (node >= 0)
      return note("%s: warning: --hosts: ranks %d to %d are a node, and on several hosts; what travels inside of it "
                  "does so between hosts",
                  job.executable.c_str(), node * each, node * each + each - 1);
  }
}

static Status describe(Options &options, const char *executable, RankJob &job) {
  job.count = job.total = static_cast<int>(options.ranks);
  job.executable = executable;
  job.readsInput = readsInput(options);
  job.patience = options.deadline ? options.deadline : 60000;
  if (Status s = readStreams(options); s.failed())
    return s;
  return options.hosts.empty() ? makeToken(job.token) : describeHosts(options, job);
}

static Status checkHostFlags(const Options &options) {
  const bool areHosts = !options.hosts.empty();
  if (areHosts && (!options.ranks || options.root.empty()))
    return failure(kUserError, "--hosts says which ranks are started where: give --ranks and --root, too");
  if (areHosts && options.comm == "local")
    return failure(kUserError, "--comm local: ranks of several hosts cannot be threads of one process");
  for (auto [flag, value] : {std::pair<const char *, const std::string *>{"root", &options.root},
                             {"host-name", &options.hostName},
                             {"interface", &options.interface}})
    if (!areHosts && !value->empty())
      return failure(kUserError, "--%s is of a job on several hosts: give --hosts, too", flag);
  return {};
}

static Status checkFlags(const moert_program &program, const Options &options, const Ranks &ranks) {
  if (!options.ranks)
    return options.comm.empty() || options.comm == "nccl"
               ? Status()
               : failure(kUserError, "--comm says what the ranks are that --ranks starts: give --ranks");
  if (!ranks.launcher.empty())
    return failure(kUserError, "--ranks starts processes of its own, and %s has started this one: leave it out",
                   ranks.launcher.c_str());
  Ranks wanted;
  wanted.ranks = static_cast<int>(options.ranks);
  wanted.launcher = "--ranks";
  return checkRankCount(program, wanted);
}

namespace {
struct Threads {
  const Options &options;
  const char *token;
  RunRank run;
  const void *what;
};
} // namespace

static Status runThread(void *what, int rank) {
  auto &threads = *static_cast<const Threads *>(what);
  Options own = threads.options;
  own.rank = rank;
  return threads.run(threads.what, own, threads.token);
}

Status runAsRanks(const moert_program &program, Options &options, const char *executable, RunRank run,
                  const void *what) {
  if (program.axis_count == 0) {
    const char *flag = options.ranks                ? "ranks"
                       : !options.comm.empty()      ? "comm"
                       : !options.hosts.empty()     ? "hosts"
                       : !options.root.empty()      ? "root"
                       : !options.hostName.empty()  ? "host-name"
                       : !options.interface.empty() ? "interface"
                                                    : nullptr;
    return flag ? failure(kUserError, "--%s: the model is compiled for one process", flag)
                : run(what, options, nullptr);
  }
  Ranks ranks;
  if (Status s = findRanks(readEnvironment, ranks); s.failed())
    return s;
  if (Status s = checkHostFlags(options); s.failed())
    return s;
  if (Status s = checkFlags(program, options, ranks); s.failed())
    return s;
  if (options.ranks) {
    RankJob job;
    if (Status s = describe(options, executable, job); s.failed())
      return s;
    warnOfSharedNodes(program, job);
    Threads threads{options, job.token.c_str(), run, what};
    if (options.comm == "local")
      return runRankThreads(job, runThread, &threads);
    bool isOver = false;
    if (Status s = runRanks(job, isOver); s.failed() || isOver)
      return s;
    if (Status s = findRanks(readEnvironment, ranks); s.failed())
      return s;
  }
  options.rank = ranks.rank;
  if (options.rank)
    silence();
  return run(what, options, nullptr);
}

} // namespace moert
