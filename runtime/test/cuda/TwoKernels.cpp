//===- TwoKernels.cpp - a program for a GPU, and a session that runs it on the fake -------------------------------===//

#include "TwoKernels.h"

#include "CudaProgram.h"

#include <cstring>

using namespace moert;

namespace {

const moert_kernel kKernels[] = {{"scale", nullptr}, {"count", nullptr}};
const moert_value kInputs[] = {{"x", MOERT_F32, 2, {-1, 4}, 1, 0, -1, 0, 0, nullptr, 0}};
const moert_value kOutputs[] = {{"y", MOERT_F32, 2, {-1, 4}, 1, 0, -1, 0, 0, nullptr, 0}};
const moert_value kStates[] = {{"calls", MOERT_I64, 1, {1}, 1, 0, -1, 0, 0, nullptr, 0}};
const moert_parameter_desc kParameters[] = {{"w", MOERT_F32, 1, {4}, {-1, -1}, -1, 0},
                                            {"unused", MOERT_F32, 1, {1 << 20}, {-1, -1}, -1, 0}};
const char *const kSymbols[] = {"rows"};
const moert_cuda_image kImages[] = {{"scale", "cubin of scale", 15, "source of scale", 15},
                                    {"count", "cubin of count", 15, "source of count", 15}};

} // namespace

int32_t moert::runTwoKernels(moert_context *ctx) {
  int64_t rows = moert_input_size(ctx, 0, 0), sizes[2] = {rows, 4};
  uint64_t slots[] = {reinterpret_cast<uintptr_t>(moert_input(ctx, 0)),
                      reinterpret_cast<uintptr_t>(moert_parameter(ctx, 0)),
                      reinterpret_cast<uintptr_t>(moert_output(ctx, 0, 2, sizes)), static_cast<uint64_t>(rows)};
  moert_arena(ctx, 1000);
  moert_launch(ctx, &kKernels[0], slots, moert_blocks(ctx), rows, rows * 4);
  uint64_t others[] = {reinterpret_cast<uintptr_t>(moert_state(ctx, 0)), slots[1], slots[3]};
  moert_launch(ctx, &kKernels[1], others, 1, 1, 1);
  int32_t offsets[] = {0, 1, 3};
  moert_expert_load(ctx, "layer", offsets, 2);
  moert_check(ctx, rows != 13, "the program does not like 13 rows");
  return 0;
}

TwoKernels::TwoKernels()
    : maps{{0, MOERT_BF16, -3, 64, 8, 32, 64}, {1, MOERT_F32, 1, 4, 1, 4, 0}},
      launches{{0, 128, 0, 2, 4, 0, nullptr}, {1, 384, 2000, 3, 3, 2, maps}},
      code{"sm_90a", 2, kImages, launches, "the library"}, programs{&program, &cpuProgram},
      list{MOERT_ABI_VERSION, 2, programs} {
  program = cudaProgram("two-kernels");
  program.state_count = 1;
  program.parameter_count = 2;
  program.inputs = kInputs;
  program.outputs = kOutputs;
  program.states = kStates;
  program.symbols = kSymbols;
  program.parameters = kParameters;
  program.kernels = kKernels;
  program.cuda = &code;
  program.run = runTwoKernels;
  cpuProgram = program;
  cpuProgram.device = MOERT_CPU;
  cpuProgram.cuda = nullptr;
}

moert_session_options moert::onValuesOfTheGpu(void *stream) {
  moert_session_options options = {};
  options.device_values = 1;
  options.stream = stream;
  return options;
}

TestSession::TestSession(const TwoKernels &kernels, moert_session_options options) {
  options.random_weights = 1;
  code = moert_session_open(&kernels.list, &options, &session);
  for (int i = 0; i < 64 * 4; ++i)
    x[i] = static_cast<float>(i);
}

std::string TestSession::run(int64_t rows) {
  int64_t sizes[2] = {rows, 4};
  if (!(code = moert_session_set_input(session, 0, MOERT_F32, 2, sizes, x)))
    code = moert_session_run(session);
  return code ? error() : "";
}

void moert::executeTwoKernels(const std::string &kernel, void **arguments) {
  auto slot = [&](int number) { return *static_cast<uint64_t *>(arguments[number]); };
  if (kernel == "count") {
    ++*reinterpret_cast<int64_t *>(slot(0));
    return;
  }
  const auto *x = reinterpret_cast<const float *>(slot(0)), *w = reinterpret_cast<const float *>(slot(1));
  auto *y = reinterpret_cast<float *>(slot(2));
  for (uint64_t i = 0; i < slot(3) * 4; ++i)
    y[i] = x[i] * w[i % 4];
}
