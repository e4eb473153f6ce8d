/* A language model small enough to be written by hand, with everything that a compiled one has: a dynamic batch, a
 * state, a parameter, kernels over blocks, generation info. The logits of a position are
 *     table[token] + 0.5 * table[token before it in this row],
 * and the token before it comes from the state where it belongs to an earlier call. */
#include "moert/moert_model.h"

#include <stddef.h>

/* With TOY_RANKS, rows of the batch are divided among so many ranks. */
#ifdef TOY_RANKS
enum { kSplit = 1, kAxes = 1 };
static const moert_axis axes[] = {{"dp", TOY_RANKS, 1}};
#else
enum { kSplit = 0, kAxes = 0 };
#define axes NULL
#endif

#ifndef TOY_FEATURES
#define TOY_FEATURES "sse,sse2"
#endif

enum { kVocabulary = 256, kCache = 64 };
enum { kTokens, kPosition, kKeep };

typedef struct step {
  const int64_t *tokens, *position, *keep;
  int64_t *history; /* [batch, kCache] */
  const float *table;
  float *logits;
  int64_t batch, length, kept;
} step;

static void remember(const void *args, int64_t block, int64_t blocks) {
  const step *s = args;
  for (int64_t b = block; b < s->batch; b += blocks)
    for (int64_t i = 0; i < s->length; ++i)
      s->history[b * kCache + s->position[b] + i] = s->tokens[b * s->length + i];
}

static void logits(const void *args, int64_t block, int64_t blocks) {
  const step *s = args;
  for (int64_t r = block; r < s->batch * s->kept; r += blocks) {
    int64_t b = r / s->kept, at = s->position[b] + s->keep[r % s->kept];
    const int64_t *row = s->history + b * kCache;
    const float *now = s->table + row[at] * kVocabulary;
    const float *before = at ? s->table + row[at - 1] * kVocabulary : 0;
    for (int v = 0; v < kVocabulary; ++v)
      s->logits[r * kVocabulary + v] = now[v] + (before ? 0.5f * before[v] : 0);
  }
}

static const moert_kernel kernels[] = {{"remember", remember}, {"logits", logits}};

/* Every token goes to the expert of its last two bits. */
static void countExperts(moert_context *ctx, const step *s) {
  int32_t count[4] = {0}, offsets[5] = {0};
  for (int64_t i = 0; i < s->batch * s->length; ++i)
    ++count[s->tokens[i] & 3];
  for (int e = 0; e < 4; ++e)
    offsets[e + 1] = offsets[e] + count[e];
  moert_expert_load(ctx, "layers.0.moe", offsets, 4);
}

static int32_t run(moert_context *ctx) {
  /* The arguments live in scratch memory, as a compiled program's buffers do. */
  step *s = moert_arena(ctx, sizeof(step));
  s->batch = moert_input_size(ctx, kTokens, 0);
  s->length = moert_input_size(ctx, kTokens, 1);
  s->kept = moert_input_size(ctx, kKeep, 0);
  s->tokens = moert_input(ctx, kTokens);
  s->position = moert_input(ctx, kPosition);
  s->keep = moert_input(ctx, kKeep);
  s->history = moert_state(ctx, 0);
  s->table = moert_parameter(ctx, 0);
  int64_t sizes[3] = {s->batch, s->kept, kVocabulary};
  s->logits = moert_output(ctx, 0, 3, sizes);
  countExperts(ctx, s);
  moert_launch(ctx, &kernels[0], s, moert_blocks(ctx), s->batch, s->batch * s->length);
  moert_launch(ctx, &kernels[1], s, moert_blocks(ctx), s->batch * s->kept, 2 * kVocabulary * s->batch * s->kept);
  return 0;
}

static const moert_value inputs[] = {
    {"tokens", MOERT_I64, 2, {-1, -2}, 0, kVocabulary - 1, -1, 0, kSplit, NULL, 0},
    {"position", MOERT_I64, 1, {-1}, 0, kCache - 1, 1, 1, kSplit, NULL, 0},
    {"keep", MOERT_I64, 1, {-3}, 0, kCache - 1, -1, 0, 0, NULL, 0},
};
static const moert_value outputs[] = {{"logits", MOERT_F32, 3, {-1, -3, kVocabulary}, 1, 0, -1, 0, kSplit, NULL, 0}};
static const moert_value states[] = {{"history", MOERT_I64, 2, {-1, kCache}, 1, 0, -1, 0, 0, NULL, 0}};
static const char *const symbols[] = {"batch", "sequence", "kept"};
static const moert_parameter_desc parameters[] = {{"table", MOERT_F32, 2, {kVocabulary, kVocabulary}, {-1, -1}, -1, 0}};
static const int64_t eos[] = {0};
static const moert_generation generation = {kTokens,     kPosition, kKeep, 0,  MOERT_VOCAB_BYTES,
                                            kVocabulary, kCache,    1,     eos};

static const moert_program program = {
    MOERT_ABI_VERSION,
    MOERT_CPU,
    "toy-bigram",
    "main",
    "00112233445566778899aabbccddeeff",
    "00112233445566778899aabbccddeeff",
    "0.1.0",
    "x86-64",
    TOY_FEATURES,
    "bigram.weights",
    3,
    1,
    1,
    1,
    3,
    2,
    inputs,
    outputs,
    states,
    symbols,
    parameters,
    kernels,
    &generation,
    NULL,
    kAxes,
    axes,
    NULL,
    (1u << kAxes) - 1,
    run,
};

static const moert_program *const programs[] = {&program};
const moert_program_list moert_model_programs = {MOERT_ABI_VERSION, 1, programs};
