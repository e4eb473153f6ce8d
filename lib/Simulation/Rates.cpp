//===- Rates.cpp - what one rank of a cluster computes, reads and sends per second --------------------------------===//

#include "moe-mlir/Simulation/Rates.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

double Rates::seconds(double products, double bytes, int64_t elementBytes) const {
  return launch + std::max(products / (elementBytes > 2 ? vectorFlops : flops), bytes / bytesPerSecond);
}

double Rates::productSeconds(double products, double weightBytes, double rowBytes, int64_t elementBytes,
                             double rows) const {
  const double others = tileRows > 0 && rows > double(tileRows) ? 1 - double(tileRows) / rows : 0, first = 1 - others;
  return seconds(first * products, weightBytes + first * rowBytes, elementBytes) +
         seconds(others * products, others * rowBytes, elementBytes) - launch;
}

Rates sim::cpuRates(const Cluster &cluster) {
  const CpuMachine &cpu = cluster.cpu;
  const auto sharers = double(std::max(cpu.sharers, cluster.ranksPerNode));
  const double cores = double(cpu.cores) / sharers;
  Rates rates;
  rates.launch = cluster.launch;
  rates.flops = cpu.coreFlops * cores;
  rates.vectorFlops = cpu.coreVectorFlops * cores;
  rates.bytesPerSecond = std::min(cpu.coreBytesPerSecond * cores, cpu.memoryBytesPerSecond / sharers);
  rates.memoryBytes = cpu.memoryBytes / sharers;
  rates.tileRows = cpu.tileRows;
  return rates;
}

Expected<Rates> sim::ratesOf(const Cluster &cluster) {
  Rates rates;
  if (cluster.isCpu()) {
    rates = cpuRates(cluster);
  } else {
    const CudaDevice &gpu = cluster.device;
    rates.launch = cluster.launch;
    rates.flops = double(gpu.multiprocessors) * gpu.limitedHertz * gpu.tensorFlops;
    rates.vectorFlops = gpu.vectorFlopsPerSecond();
    rates.bytesPerSecond = gpu.reachableBytesPerSecond;
    rates.memoryBytes = gpu.memoryBytes;
  }
  if (rates.memoryBytes <= 0)
    return createStringError("cluster '" + cluster.name + "' does not say what memory its device has; add "
                             "'memoryBytes' to its 'device'");
  return rates;
}

double sim::sendSeconds(const Cluster &cluster, const Constants &constants, double bytes) {
  if (cluster.ranks() == 1)
    return 0;
  const double others = double(cluster.ranksPerNode - 1), far = double(cluster.ranks() - cluster.ranksPerNode);
  const double local = others * bytes / rateOf(cluster.local, constants);
  const double network = far * bytes / rateOf(cluster.network, constants);
  return std::max(local, network) + (far > 0 ? cluster.network.latency : cluster.local.latency);
}

double sim::largestOf(double sum, int64_t ranks, double free) {
  if (ranks == 1 || sum <= 0)
    return sum;
  // The mean of the larger of two opposite deviations is sqrt(2 / pi) of the standard one.
  const double deviation = std::sqrt(sum * (1 - 1 / double(ranks)) * std::max(free, 0.0));
  return sum + 0.798 * std::sqrt(std::log2(double(ranks))) * deviation;
}
