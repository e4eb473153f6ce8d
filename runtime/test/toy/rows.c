/* A program of several ranks as moe-compile would make it: two layers, each of which sends every row to the rank that
 * `to` names, multiplies it there by a row of that rank's part of the parameter, and sends it back. So
 *     y[t] = x[t] * w[2 * to[t]] * w[2 * ((to[t] + 1) mod ranks) + 1].
 * Entries differ in their axes: rows1 ... rows4 have ep, grid and both have dp and ep, and exchange rows on ep; grid
 * divides rows among the ranks of ep, both among all. ways has two variants, which do the same on axes of their own.
 *
 * TOY_EPOCH=N: the first exchange with windows that are new is number N + 1.
 * TOY_FAULT="RANK SIGNAL PHASE" in the environment: that rank of ep sends itself the signal at the beginning of the
 * phase. */
#include "moert/moert_model.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWidth = 16, kLayers = 2 };
enum { kX, kTo, kScale };
enum { kY, kRoom, kAgreed };

typedef struct layer {
  const moert_peers *peers;
  const float *x, *w; /* rows of this rank; a row of the parameter */
  const int32_t *to;
  float *y;
  int64_t tokens, room, turn; /* what is added to a destination */
} layer;

/* A part holds: flags, flags of rows that return, numbers of rows, then rows that come and rows that return. */
static uint32_t *flag(const moert_peers *p, int owner, int kind, int sender) {
  return (uint32_t *)(p->base[owner] + 64 * kind) + sender;
}
static float *rows(const layer *l, int owner, int kind, int sender) {
  return (float *)(l->peers->base[owner] + 64 * 3) + (kind * l->peers->ranks + sender) * l->room * kWidth;
}
static int64_t windowBytes(int ranks, int64_t room) {
  return 64 * 3 + 2 * ranks * room * kWidth * (int64_t)sizeof(float);
}

static void advance(const void *args, int64_t block, int64_t blocks) {
  const layer *l = args;
  (void)blocks;
  if (block == 0)
    ++*l->peers->epoch;
}

static void send(const void *args, int64_t block, int64_t blocks) {
  const layer *l = args;
  const moert_peers *p = l->peers;
  for (int peer = (int)block; peer < p->ranks; peer += (int)blocks) {
    int32_t count = 0;
    for (int64_t t = 0; t < l->tokens; ++t)
      if ((l->to[t] + l->turn) % p->ranks == peer)
        memcpy(rows(l, peer, 0, p->rank) + count++ * kWidth, l->x + t * kWidth, kWidth * sizeof(float));
    *flag(p, peer, 2, p->rank) = (uint32_t)count;
    __atomic_store_n(flag(p, peer, 0, p->rank), *p->epoch, __ATOMIC_RELEASE);
  }
}

static void multiply(const void *args, int64_t block, int64_t blocks) {
  const layer *l = args;
  const moert_peers *p = l->peers;
  for (int peer = (int)block; peer < p->ranks; peer += (int)blocks) {
    if (!moert_await(p, flag(p, p->rank, 0, peer), *p->epoch, peer, -1))
      return;
    const float *from = rows(l, p->rank, 0, peer);
    float *back = rows(l, peer, 1, p->rank);
    for (uint32_t i = 0; i < *flag(p, p->rank, 2, peer) * kWidth; ++i)
      back[i] = from[i] * l->w[i % kWidth];
    __atomic_store_n(flag(p, peer, 1, p->rank), *p->epoch, __ATOMIC_RELEASE);
  }
}

static void collect(const void *args, int64_t block, int64_t blocks) {
  const layer *l = args;
  const moert_peers *p = l->peers;
  for (int peer = (int)block; peer < p->ranks; peer += (int)blocks) {
    if (!moert_await(p, flag(p, p->rank, 1, peer), *p->epoch, peer, -1))
      return;
    const float *from = rows(l, p->rank, 1, peer);
    for (int64_t t = 0; t < l->tokens; ++t)
      if ((l->to[t] + l->turn) % p->ranks == peer) {
        memcpy(l->y + t * kWidth, from, kWidth * sizeof(float));
        from += kWidth;
      }
  }
}

static const moert_kernel kernels[] = {
    {"advance", advance}, {"send", send}, {"multiply", multiply}, {"collect", collect}};

/* TOY_TOKENS="RANK TOKENS": this rank says that it has so many. */
static int64_t saidTokens(int rank, int64_t tokens) {
  const char *fault = getenv("TOY_TOKENS");
  long long said = 0;
  int whose = 0;
  return fault && sscanf(fault, "%d %lld", &whose, &said) == 2 && whose == rank ? said : tokens;
}

static void beginPhase(moert_context *ctx, int rank, const char *phase) {
  const char *fault = getenv("TOY_FAULT");
  int whose = 0, number = 0, at = 0;
  moert_phase(ctx, phase);
  if (fault && sscanf(fault, "%d %d %n", &whose, &number, &at) == 2 && whose == rank && strcmp(fault + at, phase) == 0)
    raise(number);
}

/* `outer`: an axis whose number of this rank all tell each other, too. */
static int32_t runOn(moert_context *ctx, int32_t axis, int32_t outer, int32_t parameter) {
  static const char *const kOut[kLayers] = {"layer 0: rows to ranks", "layer 1: rows to ranks"};
  static const char *const kBack[kLayers] = {"layer 0: rows back", "layer 1: rows back"};
  int32_t rank = moert_rank(ctx, axis);
  int64_t tokens = moert_input_size(ctx, kX, 0), blocks = moert_blocks(ctx);
  int64_t room = moert_agree(ctx, axis, saidTokens(rank, tokens)), bytes = tokens * kWidth * (int64_t)sizeof(float);
  layer *l = moert_arena(ctx, (int64_t)sizeof(layer) + 512 + bytes);
  int32_t *offsets = (int32_t *)((char *)l + sizeof(layer));
  int64_t sizes[2] = {tokens, kWidth}, one = 1, two = 2;
  const float *scale = moert_input(ctx, kScale);
  l->tokens = tokens;
  l->room = room;
  l->x = moert_input(ctx, kX);
  l->to = moert_input(ctx, kTo);
  for (int64_t i = 0; i < tokens * kWidth; ++i)
    moert_check(ctx, l->x[i] != 669, "the program does not like 669");
  /* Until the windows are there, nobody knows how many ranks share them. */
  l->peers = moert_windows(ctx, axis, 64 * 3);
  l->peers = moert_windows(ctx, axis, windowBytes(l->peers->ranks, room));
  if (getenv("TOY_EPOCH") && *l->peers->epoch == 0)
    *l->peers->epoch = (uint32_t)atoi(getenv("TOY_EPOCH"));
  for (int i = 0; i < kLayers; ++i) {
    l->turn = i;
    l->w = (const float *)moert_parameter(ctx, parameter) + i * kWidth;
    l->y = i + 1 < kLayers ? (float *)((char *)l + sizeof(layer) + 512) : moert_output(ctx, kY, 2, sizes);
    moert_launch(ctx, &kernels[0], l, 1, 1, 1);
    beginPhase(ctx, rank, kOut[i]);
    moert_launch(ctx, &kernels[1], l, blocks, tokens, tokens * kWidth);
    offsets[0] = 0;
    for (int p = 0; p < l->peers->ranks; ++p) {
      offsets[p + 1] = offsets[p];
      for (int64_t t = 0; t < tokens; ++t)
        offsets[p + 1] += (l->to[t] + l->turn) % l->peers->ranks == p;
    }
    moert_traffic(ctx, axis, offsets, 0, kWidth * (int64_t)sizeof(float), 8);
    moert_launch(ctx, &kernels[2], l, blocks, tokens, tokens * kWidth);
    beginPhase(ctx, rank, kBack[i]);
    moert_launch(ctx, &kernels[3], l, blocks, tokens, tokens * kWidth);
    l->x = l->y;
  }
  for (int64_t i = 0; i < tokens * kWidth; ++i)
    l->y[i] *= scale[0];
  beginPhase(ctx, rank, "the end");
  int64_t *told = moert_output(ctx, kRoom, 1, &two);
  told[0] = room;
  told[1] = *l->peers->epoch;
  *(int64_t *)moert_output(ctx, kAgreed, 1, &one) = moert_agree(ctx, outer, 10 * rank + (axis != outer ? moert_rank(ctx, outer) : 0));
  return 0;
}

static int32_t runRows(moert_context *ctx) { return runOn(ctx, 0, 0, 0); }
static int32_t runGrid(moert_context *ctx) { return runOn(ctx, 1, 0, 0); }
static int32_t runOther(moert_context *ctx) { return runOn(ctx, 1, 1, 1); }

static const char *const symbols[] = {"tokens", "ranks"};

#define VALUES(name, axes, ranks)                                                                                      \
  static const moert_value name##_inputs[] = {{"x", MOERT_F32, 2, {-1, kWidth}, 1, 0, -1, 0, axes, NULL, 0},           \
                                              {"to", MOERT_I32, 1, {-1}, 0, ranks - 1, -1, 0, axes, NULL, 0},          \
                                              {"scale", MOERT_F32, 1, {1}, 1, 0, -1, 0, 0, NULL, 0}};                  \
  static const moert_value name##_outputs[] = {{"y", MOERT_F32, 2, {-1, kWidth}, 1, 0, -1, 0, axes, NULL, 0},          \
                                               {"room", MOERT_I64, 1, {2}, 1, 0, -1, 0, 0, NULL, 0},                   \
                                               {"agreed", MOERT_I64, 1, {-2}, 1, 0, -1, 0, axes, NULL, 0}};

#define PARAMETERS(name, axis, ranks)                                                                                  \
  static const moert_parameter_desc name##_parameters[] = {                                                            \
      {"w" #ranks, MOERT_F32, 2, {2 * ranks, kWidth}, {axis, -1}, -1, 0}};

#define PROGRAM(name, axes, count, run)                                                                                \
  VARIANT(name, #name, name##_parameters, 1, axes, count, NULL, (1u << count) - 1, run)

#define VARIANT(name, entry, parameters, parameter_count, axes, count, variant, own, run)                              \
  {MOERT_ABI_VERSION,                                                                                                  \
   MOERT_CPU,                                                                                                          \
   "toy-rows",                                                                                                         \
   entry,                                                                                                              \
   "89abcdef0123456789abcdef01234567",                                                                                 \
   "89abcdef0123456789abcdef01234567",                                                                                 \
   "0.1.0",                                                                                                            \
   "x86-64",                                                                                                           \
   "sse2",                                                                                                             \
   "rows.weights",                                                                                                     \
   3,                                                                                                                  \
   3,                                                                                                                  \
   0,                                                                                                                  \
   parameter_count,                                                                                                    \
   2,                                                                                                                  \
   4,                                                                                                                  \
   name##_inputs,                                                                                                      \
   name##_outputs,                                                                                                     \
   NULL,                                                                                                               \
   symbols,                                                                                                            \
   parameters,                                                                                                         \
   kernels,                                                                                                            \
   NULL,                                                                                                               \
   NULL,                                                                                                               \
   count,                                                                                                              \
   axes,                                                                                                               \
   variant,                                                                                                            \
   own,                                                                                                                \
   run}

#define ROWS(n)                                                                                                        \
  VALUES(rows##n, 1, n)                                                                                                \
  PARAMETERS(rows##n, 0, n)                                                                                            \
  static const moert_axis rows##n##_axes[] = {{"ep", n, 1}};                                                           \
  static const moert_program rows##n = PROGRAM(rows##n, rows##n##_axes, 1, runRows);
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
VALUES(grid, 2, 2)
PARAMETERS(grid, 1, 2)
VALUES(both, 3, 2)
PARAMETERS(both, 1, 2)
static const moert_axis grid_axes[] = {{"dp", 2, 2}, {"ep", 2, 1}};
static const moert_program grid = PROGRAM(grid, grid_axes, 2, runGrid);
static const moert_program both = PROGRAM(both, grid_axes, 2, runGrid);

VALUES(one, 1, 2)
VALUES(other, 2, 2)
static const moert_axis ways_axes[] = {{"ep", 2, 1}, {"ep.1", 2, 1}};
static const moert_parameter_desc ways_parameters[] = {{"w2", MOERT_F32, 2, {4, kWidth}, {0, -1}, -1, 0},
                                                       {"w2", MOERT_F32, 2, {4, kWidth}, {1, -1}, -1, 0}};
static const moert_program one = VARIANT(one, "ways", ways_parameters, 2, ways_axes, 2, "ep=2", 1, runRows);
static const moert_program other = VARIANT(other, "ways", ways_parameters, 2, ways_axes, 2, "other", 2, runOther);

static const moert_program *const programs[] = {&rows1, &rows2, &rows3, &rows4, &grid, &both, &one, &other};
const moert_program_list moert_model_programs = {MOERT_ABI_VERSION, 8, programs};
