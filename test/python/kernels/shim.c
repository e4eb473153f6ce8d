/* The runtime's functions for one call in one process: no threads, and blocks run from the last to the first, so that a
 * kernel whose blocks depend on each other gives wrong results. Memory behind each output is checked for overruns. */
#include "moert/moert_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIMIT 16
#define LAUNCHES 64
#define GUARD 256

struct moert_context {
  void *inputs[LIMIT];
  int64_t input_sizes[LIMIT][MOERT_MAX_RANK];
  void *states[LIMIT];
  const void *parameters[LIMIT];
  int64_t blocks;
  void *outputs[LIMIT];
  int64_t output_bytes[LIMIT], output_sizes[LIMIT][MOERT_MAX_RANK];
  void *arena;
  int64_t launches, arena_bytes;
  int64_t experts_reported;
  const moert_kernel *launched[LAUNCHES];
  int64_t work[LAUNCHES];
};

/* The tests compile one function for the CPU. */
#define PROGRAM (*moert_model_programs.programs[0])

static const int element_size[] = {4, 2, 2, 8, 8, 4, 2, 1, 1, 1};

void *moert_input(moert_context *ctx, int32_t index) { return ctx->inputs[index]; }
int64_t moert_input_size(moert_context *ctx, int32_t index, int32_t dim) { return ctx->input_sizes[index][dim]; }
void *moert_state(moert_context *ctx, int32_t index) { return ctx->states[index]; }
const void *moert_parameter(moert_context *ctx, int32_t index) { return ctx->parameters[index]; }
int64_t moert_blocks(moert_context *ctx) { return ctx->blocks; }

void *moert_output(moert_context *ctx, int32_t index, int32_t rank, const int64_t *sizes) {
  int64_t bytes = element_size[PROGRAM.outputs[index].dtype];
  for (int32_t d = 0; d < rank; ++d)
    bytes *= ctx->output_sizes[index][d] = sizes[d];
  ctx->output_bytes[index] = bytes;
  ctx->outputs[index] = malloc(bytes + GUARD);
  memset(ctx->outputs[index], 0xa5, bytes + GUARD);
  return ctx->outputs[index];
}

void *moert_arena(moert_context *ctx, int64_t bytes) {
  ctx->arena_bytes = bytes;
  ctx->arena = aligned_alloc(64, (bytes + 127) / 64 * 64);
  memset(ctx->arena, 0xa5, bytes);
  return ctx->arena;
}

void moert_launch(moert_context *ctx, const moert_kernel *kernel, const void *args, int64_t blocks, int64_t rows,
                  int64_t work) {
  if (ctx->launches < LAUNCHES) {
    ctx->launched[ctx->launches] = kernel;
    ctx->work[ctx->launches] = work;
  }
  ++ctx->launches;
  for (int64_t block = blocks; block-- > 0;)
    kernel->fn(args, block, blocks);
}

void moert_expert_load(moert_context *ctx, const char *layer, const int32_t *offsets, int32_t experts) {
  ctx->experts_reported += offsets[experts];
}

void moert_check(moert_context *ctx, int32_t holds, const char *message) {
  if (holds)
    return;
  fprintf(stderr, "%s\n", message);
  abort();
}

int32_t moert_fail(moert_context *ctx, int32_t code, const char *message) {
  fprintf(stderr, "%s\n", message);
  return code;
}

/* ---- for the test ---- */

moert_context *shim_new(int64_t blocks) {
  syscall(SYS_arch_prctl, 0x1023, 18); /* leave to use matrix registers, where there are any */
  moert_context *ctx = calloc(1, sizeof *ctx);
  ctx->blocks = blocks;
  return ctx;
}
void shim_input(moert_context *ctx, int index, void *data, const int64_t *sizes, int rank) {
  ctx->inputs[index] = data;
  memcpy(ctx->input_sizes[index], sizes, rank * sizeof *sizes);
}
void shim_state(moert_context *ctx, int index, void *data) { ctx->states[index] = data; }
void shim_parameter(moert_context *ctx, int index, const void *data) { ctx->parameters[index] = data; }
int shim_run(moert_context *ctx) { return PROGRAM.run(ctx); }
const void *shim_output(moert_context *ctx, int index, int64_t *sizes) {
  memcpy(sizes, ctx->output_sizes[index], sizeof ctx->output_sizes[index]);
  return ctx->outputs[index];
}
/* Nonzero if a kernel wrote behind output `index`. */
int shim_overrun(moert_context *ctx, int index) {
  const unsigned char *end = (const unsigned char *)ctx->outputs[index] + ctx->output_bytes[index];
  for (int i = 0; i < GUARD; ++i)
    if (end[i] != 0xa5)
      return 1;
  return 0;
}
int64_t shim_arena_bytes(moert_context *ctx) { return ctx->arena_bytes; }
/* The first launches of the call: how many are kept, and one's kernel and work. */
int64_t shim_launches(moert_context *ctx) { return ctx->launches < LAUNCHES ? ctx->launches : LAUNCHES; }
const char *shim_launch_name(moert_context *ctx, int64_t index) { return ctx->launched[index]->name; }
int64_t shim_launch_work(moert_context *ctx, int64_t index) { return ctx->work[index]; }
int64_t shim_experts_reported(moert_context *ctx) { return ctx->experts_reported; }
void shim_free(moert_context *ctx) {
  for (int i = 0; i < LIMIT; ++i)
    free(ctx->outputs[i]);
  free(ctx->arena);
  free(ctx);
}
const moert_program *shim_program(void) { return &PROGRAM; }
