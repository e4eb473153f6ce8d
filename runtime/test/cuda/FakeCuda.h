//===- FakeCuda.h - a CUDA that records, and fails where it is told to --------------------------------------------===//
//
// Its memory is the host's. What was called stands in `calls`, one short line each, so that a test compares whole runs.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_TEST_CUDA_FAKECUDA_H
#define MOERT_TEST_CUDA_FAKECUDA_H

#include "cuda/Api.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace moert {

class FakeCuda {
public:
  /// Only one at a time: the functions of the table have no other way to find it.
  FakeCuda();
  ~FakeCuda();

  const CudaApi &api() const { return table; }

  // The machine.
  int driver = 13000, devices = 1, major = 9, minor = 0, multiprocessors = 4;
  size_t memory = size_t(1) << 40;
  bool encodesMaps = true;

  /// Lets the next call of a function fail, by its name in the table; with a kernel's failure, all later ones too.
  void fail(const std::string &function, cudaError_t error) { failures[function] = error; }

  /// What a launch computes; arguments as cudaLaunchKernel has them.
  std::function<void(const std::string &kernel, void **arguments)> execute;

  std::vector<std::string> calls;
  /// The calls since the last time, without those that ask or select.
  std::vector<std::string> take();
  size_t blocksInUse() const { return blocks.size(); }

  // Used by the functions of the table.
  cudaError_t enter(const char *function, const std::string &line);
  CudaApi table;
  std::map<std::string, cudaError_t> failures;
  std::map<void *, size_t> blocks;
  std::map<const void *, std::string> functions;
  size_t used = 0;
  int events = 0;
  cudaError_t last = cudaSuccess;
};

} // namespace moert

#endif // MOERT_TEST_CUDA_FAKECUDA_H
