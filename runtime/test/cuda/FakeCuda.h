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
#include <set>
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
  bool sharesMemory = false; ///< other processes map blocks by their handles

  /// Lets the next call of a function fail, by its name in the table; with a kernel's failure, all later ones too.
  void fail(const std::string &function, cudaError_t error) { failures[function] = error; }

  /// A kernel of this name never ends, nor does what is asked for after it, until `endHanging`. Waiting for it in a way
  /// that has no end stops the process.
  std::string hanging;
  void endHanging();
  /// So often it says "not ready" before the work is done.
  int delay = 0;

  /// Work on a stream is noted instead of done, as between cudaStreamBeginCapture and cudaStreamEndCapture. A call that
  /// cannot be captured fails, and makes the capture fail.
  void beginCapture();
  /// Whether the capture succeeded.
  bool endCapture();
  /// Does what was captured last. `slots`: number of a kernel's arguments that are values of 8 bytes.
  void replay();
  std::map<std::string, int> slots;
  /// Does what is asked for on a stream, or notes it.
  void onStream(std::function<void()> work);

  /// What a launch computes; arguments as cudaLaunchKernel has them.
  std::function<void(const std::string &kernel, void **arguments)> execute;

  std::vector<std::string> calls;
  /// The calls since the last time, without those that ask or select.
  std::vector<std::string> take();
  size_t blocksInUse() const { return blocks.size() + locked.size(); }

  // Used by the functions of the table.
  cudaError_t enter(const char *function, const std::string &line);
  CudaApi table;
  std::map<std::string, cudaError_t> failures;
  struct Block {
    size_t bytes;
    int file; ///< of memory that is shared
  };
  std::map<void *, Block> blocks;
  std::map<void *, size_t> mapped; ///< other processes' blocks
  std::map<const void *, std::string> functions;
  /// The error of a call that is not allowed in the state the fake is in. `waits`: it does not return before the work
  /// on the stream is done; `captures`: it becomes a part of a graph.
  cudaError_t checkState(const char *function, bool waits, bool captures);
  struct Node {
    std::string kernel; ///< empty: `work` is what is to be done
    std::vector<uint64_t> values;
    std::function<void()> work;
  };
  std::map<char *, size_t> shared; ///< memory of the host that a copy does not wait for
  std::set<void *> locked; ///< of those, what it has given
  std::vector<Node> graph;
  bool capturing = false, captureFailed = false;
  bool hangs = false;
  std::set<cudaEvent_t> late; // recorded behind a kernel that hangs
  size_t used = 0;
  int events = 0;
  cudaError_t last = cudaSuccess;
};

} // namespace moert

#endif // MOERT_TEST_CUDA_FAKECUDA_H
