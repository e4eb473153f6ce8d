//===- ClusterTest.cpp - descriptions of clusters -----------------------------------------------------------------===//

#include "moe-mlir/Simulation/Cluster.h"

#include "gtest/gtest.h"

#include <filesystem>

using namespace moe_mlir::sim;

static const std::string kGood = R"({"name": "X", "about": "", "device": "h200", "ranksPerNode": 4,
  "local": {"bytesPerSecond": 450e9, "latency": 1e-6}, "network": {"bytesPerSecond": 50e9, "latency": 5e-6},
  "storeBytesPerSecond": 5e9, "bulkBytesPerSecond": 25e9, "message": 5e-6, "launch": 2e-6})";

/// The good text with one part replaced; what is said about it.
static std::string errorOf(const std::string &part, const std::string &by) {
  std::string text = kGood;
  size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  text.replace(at, part.size(), by);
  auto cluster = parseCluster(text, "x.json");
  return cluster ? "none" : llvm::toString(cluster.takeError());
}

TEST(Cluster, ReadsADescription) {
  Cluster cluster = llvm::cantFail(parseCluster(kGood, "x.json"));
  EXPECT_EQ(cluster.deviceName, "H200 SXM");
  EXPECT_EQ(cluster.device.multiprocessors, 132);
  EXPECT_EQ(cluster.ranks(), 4);
  EXPECT_DOUBLE_EQ(cluster.local.bytesPerSecond, 450e9);
}

TEST(Cluster, SaysWhereADescriptionIsWrong) {
  EXPECT_EQ(errorOf("\"message\": 5e-6, ", ""), "x.json: cluster lacks 'message', a number");
  EXPECT_EQ(errorOf("\"latency\": 1e-6", "\"latency\": -1"),
            "x.json: cluster.local has 'latency' that is no number from 0 to 1");
  EXPECT_EQ(errorOf("\"latency\": 5e-6", "\"latency\": \"5\""),
            "x.json: cluster.network has 'latency' that is no number from 0 to 1");
  EXPECT_EQ(errorOf("\"latency\": 1e-6", "\"latency\": 1e-6, \"reachable\": 451e9"),
            "x.json: cluster.local has 'reachable' above 'bytesPerSecond'");
  EXPECT_EQ(errorOf("\"latency\": 1e-6", "\"delay\": 1e-6"),
            "x.json: cluster.local has no member 'delay'; its members are bytesPerSecond, reachable, latency");
  EXPECT_EQ(errorOf("\"ranksPerNode\": 4", "\"ranksPerNode\": 4.5"), "x.json: cluster has 'ranksPerNode' that is not "
                                                                     "whole");
  EXPECT_EQ(errorOf("\"h200\"", "\"b200\""),
            "x.json: cluster names a device 'b200' that is not known; it is " + moe_mlir::cudaDeviceKeys() +
                ", or an object");
  EXPECT_EQ(errorOf("\"h200\"", "{\"name\": \"D\"}"), "x.json: cluster.device lacks 'multiprocessors', a number");
  EXPECT_EQ(errorOf("\"h200\"", "{\"name\": \"D\", \"multiprocessors\": 3}"),
            "x.json: cluster.device has 'multiprocessors' that is no number from 4 to 4096");
  EXPECT_EQ(errorOf("\"h200\"", "7"), "x.json: cluster lacks 'device', an object");
  EXPECT_EQ(errorOf("{\"name\"", "[{\"name\"").substr(0, 8), "x.json: ");
  EXPECT_EQ(llvm::toString(parseCluster("[]", "x.json").takeError()),
            "x.json: a cluster is described by an object");
}

TEST(Cluster, ReadsHostsOfCpus) {
  auto device = [](const std::string &more) {
    return R"({"name": "D", "cores": 9, "coreFlops": 1e11, "coreVectorFlops": 5e10, "coreBytesPerSecond": 1e10,
               "memoryBytesPerSecond": 5e10)" +
           more + "}";
  };
  std::string text = kGood;
  text.replace(text.find("\"h200\""), 6, device(R"(, "tileRows": 32)"));
  Cluster cluster = llvm::cantFail(parseCluster(text, "x.json"));
  EXPECT_TRUE(cluster.isCpu());
  EXPECT_EQ(cluster.workers(), 2); // of each of four ranks
  EXPECT_EQ(cluster.cpu.tileRows, 32);
  EXPECT_EQ(cluster.cpu.tileColumns, 64);
  EXPECT_EQ(errorOf("\"h200\"", device(R"(, "tileRows": 0)")),
            "x.json: cluster.device has 'tileRows' that is no number from 1 to 1024");
  EXPECT_EQ(errorOf("\"h200\"", device(R"(, "tileColumns": 1.5)")),
            "x.json: cluster.device has 'tileColumns' that is not whole");
  EXPECT_EQ(errorOf("\"h200\"", device(R"(, "multiprocessors": 4)")).substr(0, 54),
            "x.json: cluster.device has no member 'multiprocessors'");
}

TEST(Cluster, IsFoundByNameAndSize) {
  EXPECT_EQ(llvm::cantFail(findCluster("H800", MOE_CLUSTERS)).ranks(), 8);
  EXPECT_EQ(llvm::cantFail(findCluster("4xh800", MOE_CLUSTERS)).ranks(), 4);
  Cluster large = llvm::cantFail(findCluster("2048xA100", MOE_CLUSTERS));
  EXPECT_EQ(large.nodes, 256);
  EXPECT_EQ(large.ranks(), 2048);
  auto error = [](const char *spec) { return llvm::toString(findCluster(spec, MOE_CLUSTERS).takeError()); };
  EXPECT_EQ(error("B200"), "no cluster is called 'B200'; there are a100, cpu, h100, h200, h800, l20, v100, or the path of a "
                           "description, FILE.json");
  EXPECT_EQ(error("12xH800"), "cluster '12xH800' has nodes of 8 ranks; 12 is no multiple of them");
  EXPECT_EQ(error("0xH800"), "cluster '0xH800' has no number of ranks from 1 to 65536");
  EXPECT_EQ(error("../h800"), "cluster '../h800' is no name; the path of a description ends in .json");
  EXPECT_EQ(error("missing.json"), "cannot read missing.json: No such file or directory");
}

TEST(Cluster, AllThatAreShippedAreValid) {
  int count = 0;
  for (const auto &file : std::filesystem::directory_iterator(MOE_CLUSTERS)) {
    const std::string name = file.path().stem().string();
    auto cluster = findCluster(name, MOE_CLUSTERS);
    ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
    EXPECT_EQ(llvm::StringRef(cluster->name).lower(), name);
    EXPECT_GE(cluster->ranksPerNode, 2) << name;
    ++count;
  }
  EXPECT_GE(count, 7);
  for (const char *name : {"a100", "h100", "h200", "h800", "l20", "v100"})
    EXPECT_EQ(llvm::cantFail(findCluster(name, MOE_CLUSTERS)).ranksPerNode, 8) << name;
}
