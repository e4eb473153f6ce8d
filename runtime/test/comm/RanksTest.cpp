//===- RanksTest.cpp - who a process is, from the variables of launchers ------------------------------------------===//

#include "comm/Ranks.h"

#include <gtest/gtest.h>
#include <map>

using namespace moert;

namespace {

using Variables = std::map<std::string, std::string>;
Variables *variables;

const char *readVariable(const char *name) {
  auto entry = variables->find(name);
  return entry == variables->end() ? nullptr : entry->second.c_str();
}

Status find(Variables set, Ranks &ranks) {
  variables = &set;
  return findRanks(readVariable, ranks);
}

Ranks found(Variables set) {
  Ranks ranks;
  Status status = find(std::move(set), ranks);
  EXPECT_EQ(status.message, "");
  return ranks;
}

std::string error(Variables set) {
  Ranks ranks;
  return find(std::move(set), ranks).message;
}

TEST(Ranks, WithoutALauncherThereIsOne) {
  Ranks ranks = found({{"RANK", "3"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "7"}}); // half of what launchers set
  EXPECT_EQ(ranks.rank, 0);
  EXPECT_EQ(ranks.ranks, 1);
  EXPECT_EQ(ranks.launcher, "");
}

TEST(Ranks, EachLauncherIsRead) {
  Ranks torchrun = found({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(torchrun.rank, 3);
  EXPECT_EQ(torchrun.ranks, 8);
  EXPECT_EQ(torchrun.host, "node7");
  EXPECT_NE(torchrun.port, 29500) << "torchrun listens there itself";
  Ranks mpirun = found({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "n.1"}});
  EXPECT_EQ(mpirun.launcher, "mpirun");
  EXPECT_EQ(mpirun.host, "127.0.0.1");
  Ranks srun = found({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_JOB_ID", "12"},
                      {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NODELIST", "gpu[003-004,010],login"}});
  EXPECT_EQ(srun.rank, 5);
  EXPECT_EQ(srun.host, "gpu003");
  EXPECT_EQ(found({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}).ranks, 4);
}

TEST(Ranks, OursComesFirstAndTheRootCanBeSaid) {
  Ranks ranks = found({{"MOE_RANK", "1"}, {"MOE_RANKS", "2"}, {"MOE_TOKEN", "secret"}, {"MOE_ROOT", "[::1]:4000"},
                       {"RANK", "0"}, {"WORLD_SIZE", "9"}});
  EXPECT_EQ(ranks.ranks, 2);
  EXPECT_EQ(ranks.token, "secret");
  EXPECT_EQ(ranks.host, "::1");
  EXPECT_EQ(ranks.port, 4000);
}

TEST(Ranks, JobsAndRestartsDoNotMeet) {
  auto torchrun = [](const char *port, const char *restart) {
    return found({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", port}, {"TORCHELASTIC_RESTART_COUNT", restart}});
  };
  EXPECT_EQ(torchrun("29500", "0").token, torchrun("29500", "0").token);
  EXPECT_NE(torchrun("29500", "0").token, torchrun("29500", "1").token);
  EXPECT_NE(torchrun("29500", "0").token, torchrun("29501", "0").token);
}

TEST(Ranks, NonsenseIsAnError) {
  EXPECT_EQ(error({{"MOE_RANK", "2"}, {"MOE_RANKS", "2"}}), "MOE_RANK is 2, but MOE_RANKS is 2; ranks count from 0");
  EXPECT_EQ(error({{"MOE_RANK", "0"}, {"MOE_RANKS", "0"}}), "MOE_RANK is 0, but MOE_RANKS is 0; ranks count from 0");
  EXPECT_EQ(error({{"RANK", "1x"}, {"WORLD_SIZE", "2"}}), "RANK is '1x'; a number from 0 to 65536 is expected");
  EXPECT_EQ(error({{"RANK", "0"}, {"WORLD_SIZE", "-2"}}), "WORLD_SIZE is '-2'; a number from 0 to 65536 is expected");
  EXPECT_EQ(error({{"RANK", "0"}, {"WORLD_SIZE", "99999999999999999999"}}),
            "WORLD_SIZE is '99999999999999999999'; a number from 0 to 65536 is expected");
  for (const char *root : {"host", ":5", "host:", "host:0", "host:70000", "host:5x"})
    EXPECT_EQ(error({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MOE_ROOT", root}}),
              "the place of rank 0 is '" + std::string(root) + "'; HOST:PORT is expected");
}

} // namespace
