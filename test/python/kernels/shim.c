/* The runtime's functions for one call in one process: no threads, and blocks run from the last to the first, so that a
 * kernel whose blocks depend on each other gives wrong results. Memory behind each output is checked for overruns; in
 * guarded memory, an access before its page or behind its end ends the process. */
#include "moert/moert_model.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIMIT 200
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
  int guarded;
  char message[512];
  jmp_buf leave;
};

/* The tests compile one function for the CPU. */
#define PROGRAM (*moert_model_programs.programs[0])

static const int element_size[] = {4, 2, 2, 8, 8, 4, 2, 1, 1, 1};

/* More than this nobody asks for who means it. */
#define MOST_BYTES ((int64_t)1 << 30)

static void out_of_memory(moert_context *ctx, const char *what, int64_t bytes) {
  snprintf(ctx->message, sizeof ctx->message, "out of memory: %s needs %lld bytes", what, (long long)bytes);
  longjmp(ctx->leave, 1);
}

/* Memory that ends where a page begins that nobody may touch. It is never freed. */
void *shim_guarded(int64_t bytes) {
  int64_t page = sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page + 2;
  char *base = mmap(NULL, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + page, (pages - 2) * page, PROT_READ | PROT_WRITE))
    abort();
  return base + (pages - 1) * page - bytes;
}

void *moert_input(moert_context *ctx, int32_t index) { return ctx->inputs[index]; }
int64_t moert_input_size(moert_context *ctx, int32_t index, int32_t dim) { return ctx->input_sizes[index][dim]; }
void *moert_state(moert_context *ctx, int32_t index) { return ctx->states[index]; }
const void *moert_parameter(moert_context *ctx, int32_t index) { return ctx->parameters[index]; }
int64_t moert_blocks(moert_context *ctx) { return ctx->blocks; }

void *moert_output(moert_context *ctx, int32_t index, int32_t rank, const int64_t *sizes) {
  int64_t bytes = element_size[PROGRAM.outputs[index].dtype];
  int is_large = 0;
  for (int32_t d = 0; d < rank; ++d)
    is_large |= __builtin_mul_overflow(bytes, ctx->output_sizes[index][d] = sizes[d], &bytes);
  if (is_large || bytes < 0 || bytes > MOST_BYTES)
    out_of_memory(ctx, "an output", bytes);
  ctx->output_bytes[index] = bytes;
  if (ctx->guarded)
    return ctx->outputs[index] = shim_guarded(bytes);
  ctx->outputs[index] = malloc(bytes + GUARD);
  memset(ctx->outputs[index], 0xa5, bytes + GUARD);
  return ctx->outputs[index];
}

void *moert_arena(moert_context *ctx, int64_t bytes) {
  if (bytes < 0 || bytes > MOST_BYTES)
    out_of_memory(ctx, "scratch memory", bytes);
  ctx->arena_bytes = bytes;
  if (ctx->guarded)
    return ctx->arena = shim_guarded((bytes + 63) / 64 * 64);
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

void moert_check_values(moert_context *ctx, int32_t holds, const char *message, int32_t count, const int64_t *values) {
  if (holds)
    return;
  int written = snprintf(ctx->message, sizeof ctx->message, "%s:", message);
  for (int32_t i = 0; i < count && written < (int)sizeof ctx->message; ++i)
    written += snprintf(ctx->message + written, sizeof ctx->message - written, " %lld", (long long)values[i]);
  longjmp(ctx->leave, 1);
}

void moert_check(moert_context *ctx, int32_t holds, const char *message) {
  moert_check_values(ctx, holds, message, 0, NULL);
}

void moert_check_call(moert_context *ctx, int32_t holds, const char *message) {
  moert_check_values(ctx, holds, message, 0, NULL);
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
int shim_run(moert_context *ctx) { return setjmp(ctx->leave) ? 1 : PROGRAM.run(ctx); }
/* Why the program ended the call. */
const char *shim_message(moert_context *ctx) { return ctx->message; }
/* Outputs and the arena of this call stand in guarded memory. */
void shim_guard(moert_context *ctx) { ctx->guarded = 1; }
const void *shim_output(moert_context *ctx, int index, int64_t *sizes) {
  memcpy(sizes, ctx->output_sizes[index], sizeof ctx->output_sizes[index]);
  return ctx->outputs[index];
}
/* Nonzero if a kernel wrote behind output `index`. */
int shim_overrun(moert_context *ctx, int index) {
  const unsigned char *end = (const unsigned char *)ctx->outputs[index] + ctx->output_bytes[index];
  for (int i = 0; i < GUARD && !ctx->guarded; ++i)
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
  for (int i = 0; i < LIMIT && !ctx->guarded; ++i)
    free(ctx->outputs[i]);
  if (!ctx->guarded)
    free(ctx->arena);
  free(ctx);
}
const moert_program *shim_program(void) { return &PROGRAM; }
