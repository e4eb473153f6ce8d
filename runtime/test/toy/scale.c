/* Two entries: scale, y = x * w, for a GPU and for the CPU, and negate, y = -x, for the CPU only. The code for the GPU
 * is no machine code: what does not get as far as loading it is tested with this program, and the emulated GPU, which
 * compiles the source. */
#include "moert/moert_model.h"

#include <stddef.h>

enum { kWidth = 8 };

typedef struct arguments {
  const float *x, *w;
  float *y;
  int64_t rows;
} arguments;

static void multiply(const void *args, int64_t block, int64_t blocks) {
  const arguments *a = args;
  for (int64_t r = a->rows * block / blocks; r < a->rows * (block + 1) / blocks; ++r)
    for (int c = 0; c < kWidth; ++c)
      a->y[r * kWidth + c] = a->x[r * kWidth + c] * (a->w ? a->w[c] : -1);
}

static const moert_kernel cpuKernels[] = {{"scale", multiply}}, gpuKernels[] = {{"scale", NULL}};

static int32_t launch(moert_context *ctx, const moert_kernel *kernel, const float *w) {
  int64_t rows = moert_input_size(ctx, 0, 0), sizes[2] = {rows, kWidth};
  arguments a = {moert_input(ctx, 0), w, moert_output(ctx, 0, 2, sizes), rows};
  moert_launch(ctx, kernel, &a, moert_blocks(ctx), rows, rows * kWidth);
  return 0;
}
static int32_t scaleOnCpu(moert_context *ctx) { return launch(ctx, cpuKernels, moert_parameter(ctx, 0)); }
static int32_t scaleOnGpu(moert_context *ctx) { return launch(ctx, gpuKernels, moert_parameter(ctx, 0)); }
static int32_t negate(moert_context *ctx) { return launch(ctx, cpuKernels, NULL); }

static const moert_value inputs[] = {{"x", MOERT_F32, 2, {-1, kWidth}, 1, 0, -1, 0, 0, NULL, 0}};
static const moert_value outputs[] = {{"y", MOERT_F32, 2, {-1, kWidth}, 1, 0, -1, 0, 0, NULL, 0}};
static const char *const symbols[] = {"rows"};
static const moert_parameter_desc parameters[] = {{"w", MOERT_F32, 1, {kWidth}, {-1, -1}, -1, 0}};

/* The text of scale.cu, as the linker reads it. */
__asm__(".pushsection .rodata\n"
        "scale_source: .incbin \"" TOY_SCALE_SOURCE "\"\n"
        "scale_source_end: .byte 0\n"
        ".popsection\n");
extern const char scale_source[] __attribute__((visibility("hidden")));

static const char cubin[] = "not machine code";
static const moert_cuda_map maps[] = {{0, MOERT_F32, -4, kWidth, 8, kWidth, 0}};
static const moert_cuda_kernel launches[] = {{0, 64, 8 * kWidth * 4 + 8, 2, 4, 1, maps}};
static const moert_cuda_image images[] = {{"scale", cubin, sizeof cubin - 1, scale_source, TOY_SCALE_BYTES}};
static const moert_cuda_code cuda = {"sm_90a", 1, images, launches, "// the device library\n"};

#define PROGRAM(device, entry, weights, parameters_, kernels, cuda, run)                                               \
  {MOERT_ABI_VERSION,                                                                                                  \
   device,                                                                                                             \
   "toy-scale",                                                                                                        \
   entry,                                                                                                              \
   "0123456789abcdef0123456789abcdef",                                                                                 \
   "0123456789abcdef0123456789abcdef",                                                                                 \
   "0.1.0",                                                                                                            \
   "x86-64",                                                                                                           \
   "sse2",                                                                                                             \
   weights,                                                                                                            \
   1,                                                                                                                  \
   1,                                                                                                                  \
   0,                                                                                                                  \
   parameters_,                                                                                                        \
   1,                                                                                                                  \
   1,                                                                                                                  \
   inputs,                                                                                                             \
   outputs,                                                                                                            \
   NULL,                                                                                                               \
   symbols,                                                                                                            \
   parameters,                                                                                                         \
   kernels,                                                                                                            \
   NULL,                                                                                                               \
   cuda,                                                                                                               \
   0,                                                                                                                  \
   NULL,                                                                                                               \
   NULL,                                                                                                               \
   0,                                                                                                                  \
   run}
static const moert_program scaleGpu = PROGRAM(MOERT_CUDA, "scale", "scale.weights", 1, gpuKernels, &cuda, scaleOnGpu);
static const moert_program scaleCpu = PROGRAM(MOERT_CPU, "scale", "scale.weights", 1, cpuKernels, NULL, scaleOnCpu);
static const moert_program negateCpu = PROGRAM(MOERT_CPU, "negate", "", 0, cpuKernels, NULL, negate);

static const moert_program *const programs[] = {&scaleGpu, &scaleCpu, &negateCpu};
const moert_program_list moert_model_programs = {MOERT_ABI_VERSION, 3, programs};
