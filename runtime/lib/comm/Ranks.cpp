//===- Ranks.cpp - which rank of which job a process is -----------------------------------------------------------===//

#include "comm/Ranks.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace moert {

namespace {

constexpr int kMaxRanks = 1 << 16;
// Above the ports that systems give out by themselves.
constexpr int kFirstPort = 61440, kPorts = 4000;

/// Two jobs may get one port; their tokens differ.
int portFrom(const std::string &job) {
  uint32_t hash = 2166136261u; // FNV-1a
  for (unsigned char c : job)
    hash = (hash ^ c) * 16777619u;
  return kFirstPort + static_cast<int>(hash % kPorts);
}

/// The first host of "node[001-015,020],other": node001.
std::string firstHost(const std::string &list) {
  size_t end = list.find_first_of(",[");
  if (end == std::string::npos || list[end] == ',')
    return list.substr(0, end);
  std::string prefix = list.substr(0, end), rest = list.substr(end + 1);
  return prefix + rest.substr(0, rest.find_first_of(",-]"));
}

class Reader {
public:
  explicit Reader(ReadVariable read) : read(read) {}

  /// The variable's text; empty if it is not set.
  std::string text(const char *name) const {
    const char *value = read(name);
    return value ? value : "";
  }
  bool has(const char *name) const { return !text(name).empty(); }

  Status number(const char *name, int most, int &value) const {
    std::string written = text(name);
    char *end = nullptr;
    errno = 0;
    long parsed = std::strtol(written.c_str(), &end, 10);
    if (written.empty() || *end || errno || parsed < 0 || parsed > most)
      return failure(kUserError, "%s is '%s'; a number from 0 to %d is expected", name, written.c_str(), most);
    value = static_cast<int>(parsed);
    return {};
  }

private:
  ReadVariable read;
};

/// The variables of a launcher.
struct Launcher {
  const char *name, *rank, *ranks;
  const char *job; ///< names the job, so that two of them do not meet
};
constexpr Launcher launchers[] = {
    {"--ranks", "MOE_RANK", "MOE_RANKS", "MOE_TOKEN"},
    {"torchrun", "RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID"}, // not of a batch script outside of srun
    {"PMI", "PMI_RANK", "PMI_SIZE", "PMI_PORT"},
};

/// Where rank 0 is, and the name of the job, as `launcher` tells.
void findRoot(const Reader &env, const Launcher &launcher, Ranks &ranks) {
  std::string job = std::string(launcher.name) + " " + env.text(launcher.job);
  if (std::strcmp(launcher.name, "torchrun") == 0) {
    // MASTER_PORT is torchrun's own; a restart is another job.
    job += " " + env.text("MASTER_PORT") + " " + env.text("TORCHELASTIC_RESTART_COUNT");
    if (env.has("MASTER_ADDR"))
      ranks.host = env.text("MASTER_ADDR");
  } else if (std::strcmp(launcher.name, "srun") == 0) {
    job += "." + env.text("SLURM_STEP_ID");
    const char *list = env.has("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
    if (env.has(list))
      ranks.host = firstHost(env.text(list));
  }
  ranks.port = portFrom(job);
  ranks.token = job;
}

} // namespace

Status readRoot(const std::string &root, Ranks &ranks) {
  size_t colon = root.rfind(':');
  std::string port = colon == std::string::npos ? "" : root.substr(colon + 1);
  char *end = nullptr;
  long number = std::strtol(port.c_str(), &end, 10);
  if (colon == 0 || port.empty() || *end || number < 1 || number > 65535)
    return failure(kUserError, "the place of rank 0 is '%s'; HOST:PORT is expected", root.c_str());
  ranks.host = root.substr(0, colon);
  if (ranks.host.size() > 2 && ranks.host.front() == '[' && ranks.host.back() == ']') // [::1]
    ranks.host = ranks.host.substr(1, ranks.host.size() - 2);
  ranks.port = static_cast<int>(number);
  return {};
}

void findHost(ReadVariable read, Ranks &ranks) {
  Reader env(read);
  ranks.hostName = env.text("MOE_HOST_NAME");
  ranks.interface = env.text("MOE_INTERFACE");
}

Status findRanks(ReadVariable read, Ranks &ranks) {
  Reader env(read);
  ranks = Ranks();
  findHost(read, ranks);
  const Launcher *found = nullptr;
  for (const Launcher &launcher : launchers)
    if (!found && env.has(launcher.rank) && env.has(launcher.ranks))
      found = &launcher;
  if (!found)
    return {};
  if (Status bad = env.number(found->ranks, kMaxRanks, ranks.ranks); bad.failed())
    return bad;
  if (Status bad = env.number(found->rank, kMaxRanks, ranks.rank); bad.failed())
    return bad;
  if (ranks.rank >= ranks.ranks)
    return failure(kUserError, "%s is %d, but %s is %d; ranks count from 0", found->rank, ranks.rank, found->ranks,
                   ranks.ranks);
  ranks.launcher = found->name;
  findRoot(env, *found, ranks);
  if (env.has("MOE_TOKEN"))
    ranks.token = env.text("MOE_TOKEN");
  if (ranks.rank == 0 && env.has("MOE_LISTEN"))
    if (Status bad = env.number("MOE_LISTEN", 1 << 20, ranks.listening); bad.failed())
      return bad;
  return env.has("MOE_ROOT") ? readRoot(env.text("MOE_ROOT"), ranks) : Status();
}

} // namespace moert
