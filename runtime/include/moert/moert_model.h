/* moert_model.h - a compiled program as an object: what it needs, and how to run it.
 *
 * A model object defines one symbol, `moert_model_program`. The launcher (`--emit=exe`) and the C API below
 * (`--emit=lib`) both work from it.
 */
#ifndef MOERT_MOERT_MODEL_H
#define MOERT_MOERT_MODEL_H

#include "moert/moert.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A dimension: >= 0 is its size; -(1 + s) is the dynamic symbol s. All dimensions with one symbol agree in a call. */
typedef struct moert_value {
  const char *name;
  int32_t dtype; /* moert_dtype */
  int32_t rank;
  int64_t sizes[MOERT_MAX_RANK];
  /* Integer inputs: every element must be in [lo, hi]; with symbol >= 0, element + size(symbol) <= hi + 1.
   * Not checked when lo > hi. */
  int64_t lo, hi;
  int32_t symbol;
  /* Nonzero: all elements must be equal (rows of one length). */
  int32_t uniform;
} moert_value;

/* A packed parameter in the archive. `key` is the entry's name there. */
typedef struct moert_parameter_desc {
  const char *key;
  int32_t dtype;
  int32_t rank;
  int64_t sizes[MOERT_MAX_RANK]; /* packed sizes */
} moert_parameter_desc;

typedef enum moert_vocabulary { MOERT_VOCAB_NONE = 0, MOERT_VOCAB_BYTES = 1, MOERT_VOCAB_IDS = 2 } moert_vocabulary;

/* What text generation needs; present if the exported model said it. */
typedef struct moert_generation {
  int32_t tokens;     /* input [B, S] i64 */
  int32_t position;   /* input [B] i64: position of each row's first token */
  int32_t keep;       /* input [K] i64: indices in [0, S) whose logits are wanted; -1 if the program has none */
  int32_t logits;     /* output [B, K, V] (or [B, S, V] without keep) */
  int32_t vocabulary; /* moert_vocabulary */
  int64_t vocab_size;
  int64_t cache_length; /* tokens per row that the states hold */
  int32_t eos_count;
  const int64_t *eos;
} moert_generation;

typedef struct moert_program {
  uint32_t abi_version;   /* MOERT_ABI_VERSION */
  const char *name;       /* model name */
  const char *build_id;   /* 32 hex digits; the archive carries the same */
  const char *compiler;   /* version of moe-compile */
  const char *target_cpu; /* as given to --target-cpu */
  const char *features;   /* instruction sets the code uses, "avx2,fma,...", names as in /proc/cpuinfo */
  const char *weights;    /* archive's path relative to the program's file */
  int32_t input_count, output_count, state_count, parameter_count, symbol_count, kernel_count;
  const moert_value *inputs;
  const moert_value *outputs;
  const moert_value *states;  /* hidden: allocated by the runtime, sized by the symbols */
  const char *const *symbols; /* names of the dynamic symbols, e.g. "batch" */
  const moert_parameter_desc *parameters;
  const moert_kernel *kernels;
  const moert_generation *generation; /* NULL if unknown */
  int32_t (*run)(moert_context *ctx); /* 0, or the code given to moert_fail */
} moert_program;

extern const moert_program moert_model_program;

#ifdef __cplusplus
}
#endif
#endif /* MOERT_MOERT_MODEL_H */
