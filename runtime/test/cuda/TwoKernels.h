//===- TwoKernels.h - a program for a GPU, and a session that runs it on the fake ---------------------------------===//
#ifndef MOERT_TEST_CUDA_TWOKERNELS_H
#define MOERT_TEST_CUDA_TWOKERNELS_H

#include "FakeCuda.h"
#include "moert/session.h"

#include <memory>

namespace moert {

/// y = x * w, by a kernel `scale` with one block per multiprocessor, and then a kernel `count` with one block and two
/// maps, which counts calls in a state. Any of the fields may be changed before a session is opened.
struct TwoKernels {
  TwoKernels();
  TwoKernels(const TwoKernels &) = delete;

  moert_cuda_map maps[2];
  moert_cuda_kernel launches[2];
  moert_cuda_code code;
  moert_program program, cpuProgram;
  const moert_program *programs[2];
  moert_program_list list;
};

/// What the program runs: both launches, and the output.
int32_t runTwoKernels(moert_context *ctx);

/// Options of a session on values of the GPU; `stream`: the caller's.
moert_session_options onValuesOfTheGpu(void *stream = nullptr);

/// A session with random weights.
class TestSession {
public:
  explicit TestSession(const TwoKernels &kernels, moert_session_options options = {});
  ~TestSession() { moert_session_close(session); }

  /// Runs on `rows` rows of four; gives the error.
  std::string run(int64_t rows);
  std::string error() const { return moert_session_error(session); }

  int32_t code = 0; // of the last function
  moert_session *session = nullptr;
  alignas(64) float x[64 * 4];
};

/// Computes what the two kernels would.
void executeTwoKernels(const std::string &kernel, void **arguments);

} // namespace moert

#endif // MOERT_TEST_CUDA_TWOKERNELS_H
