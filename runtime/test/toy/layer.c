/* A layer written by hand: y = bf16(x * scale * w + calls), where the state counts the calls. It knows nothing of text.
 * Some values of scale[0] ask for a failure that a correct program would not have, 671 for a count that is no
 * double. */
#include "moert/moert_model.h"

#include <string.h>

enum { kWidth = 8 };

typedef struct layer {
  const uint16_t *x;
  const float *scale, *w;
  uint16_t *y;
  int64_t rows, calls;
} layer;

static float widen(uint16_t value) {
  uint32_t bits = (uint32_t)value << 16;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

static uint16_t narrow(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void multiply(const void *args, int64_t block, int64_t blocks) {
  const layer *l = args;
  for (int64_t r = l->rows * block / blocks; r < l->rows * (block + 1) / blocks; ++r)
    for (int c = 0; c < kWidth; ++c)
      l->y[r * kWidth + c] = narrow(widen(l->x[r * kWidth + c]) * l->scale[r] * l->w[c] + (float)l->calls);
}

static const moert_kernel kernels[] = {{"multiply", multiply}};

static int32_t run(moert_context *ctx) {
  int64_t *calls = moert_state(ctx, 0);
  int64_t one[1] = {1}, rows = moert_input_size(ctx, 0, 0), sizes[2] = {rows, kWidth};
  const float *scale = moert_input(ctx, 1);
  if (rows && scale[0] == 666)
    return moert_fail(ctx, 70, "the layer was asked to fail");
  if (rows && scale[0] == 667)
    moert_arena(ctx, INT64_MAX / 2);
  if (rows && scale[0] == 668)
    return 0;
  moert_check(ctx, !rows || scale[0] != 669, "the layer does not like 669");
  int64_t both[2] = {rows, -670};
  moert_check_values(ctx, !rows || scale[0] != 670, "{0} rows, {1}, {2}, {x} and {", 2, both);
  if (rows && scale[0] == 671)
    *calls = INT64_C(1) << 53;
  layer l = {moert_input(ctx, 0), scale, moert_parameter(ctx, 0), moert_output(ctx, 0, 2, sizes), rows, *calls};
  *(int64_t *)moert_output(ctx, 1, 1, one) = ++*calls;
  moert_launch(ctx, &kernels[0], &l, 3 * moert_blocks(ctx), rows, rows * kWidth * 2);
  return 0;
}

static const moert_value inputs[] = {{"x", MOERT_BF16, 2, {-1, kWidth}, 1, 0, -1, 0, 0, NULL, 0},
                                     {"scale", MOERT_F32, 1, {-1}, 1, 0, -1, 0, 0, NULL, 0}};
static const moert_value outputs[] = {{"y", MOERT_BF16, 2, {-1, kWidth}, 1, 0, -1, 0, 0, NULL, 0},
                                      {"calls", MOERT_I64, 1, {1}, 1, 0, -1, 0, 0, NULL, 0}};
static const moert_value states[] = {{"calls", MOERT_I64, 1, {1}, 1, 0, -1, 0, 0, NULL, 0}};
static const char *const symbols[] = {"rows"};
static const moert_parameter_desc parameters[] = {{"w", MOERT_F32, 1, {kWidth}, {-1, -1}, -1, 0}};

static const moert_program program = {
    MOERT_ABI_VERSION,
    MOERT_CPU,
    "toy-layer",
    "main",
    "ffeeddccbbaa99887766554433221100",
    "ffeeddccbbaa99887766554433221100",
    "0.1.0",
    "x86-64",
    "sse2",
    "layer.weights",
    2,
    2,
    1,
    1,
    1,
    1,
    inputs,
    outputs,
    states,
    symbols,
    parameters,
    kernels,
    NULL,
    NULL,
    0,
    NULL,
    NULL,
    0,
    run,
};

static const moert_program *const programs[] = {&program};
const moert_program_list moert_model_programs = {MOERT_ABI_VERSION, 1, programs};
