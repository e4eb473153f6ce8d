//===- CudaProgram.h - what programs for a GPU have in common in tests --------------------------------------------===//
#ifndef MOERT_TEST_CUDA_CUDAPROGRAM_H
#define MOERT_TEST_CUDA_CUDAPROGRAM_H

#include "moert/moert_model.h"

namespace moert {

/// A program with one input, output and symbol and two kernels, of which the caller says the rest.
inline moert_program cudaProgram(const char *name) {
  moert_program program = {};
  program.abi_version = MOERT_ABI_VERSION;
  program.device = MOERT_CUDA;
  program.name = name;
  program.entry = "main";
  program.build_id = program.weights_id = "00000000000000000000000000000000";
  program.compiler = program.target_cpu = program.features = program.weights = "";
  program.input_count = program.output_count = program.symbol_count = 1;
  program.kernel_count = 2;
  return program;
}

} // namespace moert

#endif // MOERT_TEST_CUDA_CUDAPROGRAM_H
