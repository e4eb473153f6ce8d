/* moert_model.h - compiled programs as an object: what they need, and how to run them.
 *
 * A model object defines one symbol, `moert_model_programs`. The launcher (`--emit=exe`) and the C API of session.h
 * (`--emit=lib`) both work from it.
 */
#ifndef MOERT_MOERT_MODEL_H
#define MOERT_MOERT_MODEL_H

#include "moert/moert.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The programs of an object have at most so many axes together; of a parameter the first dimensions may be divided
 * among ranks. */
#define MOERT_MAX_AXES 16
#define MOERT_DIVIDED_DIMS 2

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
  /* Bit a: dimension 0 is divided among the ranks of axis a, and so among those of all axes named here, in their order
   * in the job. If it is no symbol, its size is that of all of it, and a multiple of these ranks. 0: every rank has all
   * of it. Means nothing in a program without axes. */
  uint32_t axes;
  /* Inputs: least and greatest size of each dimension, in turn, of all of it where ranks divide it. NULL: any. */
  const int64_t *dim_ranges;
  /* Integer inputs: 0, or 1 + the symbol of a size n; then every element is in [-n, n). */
  int32_t index_of;
} moert_value;

/* Ranks in one direction of the job's grid: rank r of the job has the number r / stride % ranks on it. A job has as
 * many ranks as the axes of a program give; its last one, of stride 1, varies fastest. Of a dimension of n elements that
 * is divided among W ranks, rank r has [n*r/W, n*(r+1)/W). */
typedef struct moert_axis {
  const char *name;
  int32_t ranks;
  int32_t stride;
} moert_axis;

/* A packed parameter in the archive. `key` is the entry's name there; variants may have several parameters of one entry,
 * each another part of it. */
typedef struct moert_parameter_desc {
  const char *key;
  int32_t dtype;
  int32_t rank;
  int64_t sizes[MOERT_MAX_RANK]; /* packed sizes of all of it, as in the archive */
  /* >= 0: the dimension is divided equally among the ranks of this axis; -1, or without axes: it is not. If dimension 1
   * is, each rank has one element of dimension 0, so that its part is one piece. */
  int32_t axes[MOERT_DIVIDED_DIMS];
  /* >= 0: of that, ranks of this axis have slices that stand with gaps, each beginning `slice_step` elements behind the
   * one before; the program knows where the gaps are. -1, or without axes: none. */
  int32_t slice_axis;
  int64_t slice_step;
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

typedef enum moert_device_kind { MOERT_CPU = 0, MOERT_CUDA = 1 } moert_device_kind;

/* A matrix for TMA, made at launch: rows x columns elements of type `dtype`, row-major, at the pointer that stands in
 * argument slot `slot`; boxes of box_rows x box_columns. */
typedef struct moert_cuda_map {
  int32_t slot;
  int32_t dtype;
  int64_t rows; /* >= 0, or -(1 + s): the value of slot s */
  int64_t columns;
  int32_t box_rows, box_columns;
  int32_t swizzle; /* bytes: 0, 32, 64 or 128 */
} moert_cuda_map;

/* How a kernel is launched: blocks == 1 ? 1 : blocks * blocks_per_sm blocks, where the program counts one block per
 * multiprocessor. Its arguments are `slot_count` slots of 8 bytes, and then the maps (128 bytes, 64-byte aligned). */
typedef struct moert_cuda_kernel {
  int32_t image; /* index of the image that holds the code */
  int32_t threads;
  int32_t shared_bytes; /* dynamic */
  int32_t blocks_per_sm;
  int32_t slot_count;
  int32_t map_count;
  const moert_cuda_map *maps;
} moert_cuda_kernel;

/* Machine code with the text it was compiled from. It holds one kernel, an extern "C" function `name`. */
typedef struct moert_cuda_image {
  const char *name;
  const void *cubin;
  int64_t cubin_bytes;
  const char *source; /* not terminated */
  int64_t source_bytes;
} moert_cuda_image;

typedef struct moert_cuda_code {
  const char *arch; /* "sm_90a" */
  int32_t image_count;
  const moert_cuda_image *images;
  const moert_cuda_kernel *kernels; /* moert_program::kernel_count entries, in the order of moert_program::kernels */
  const char *library;              /* text of the device library that the sources include as "device.cuh" */
} moert_cuda_code;

/* One function of the model, compiled for one kind of device. */
typedef struct moert_program {
  uint32_t abi_version;   /* MOERT_ABI_VERSION */
  int32_t device;         /* moert_device_kind */
  const char *name;       /* model name */
  const char *entry;      /* name of the function: "main", "layer0_moe" */
  const char *build_id;   /* 32 hex digits: equal for equal programs */
  const char *weights_id; /* 32 hex digits that the archive carries: equal for equal weights, whatever reads them */
  const char *compiler;   /* version of moe-compile */
  const char *target_cpu; /* LLVM's name of the CPU whose instructions it uses */
  const char *features;   /* instruction sets the code uses, "avx2,fma,...", names as in /proc/cpuinfo */
  const char *weights;    /* archive's path relative to the program's file; "" if there is none */
  int32_t input_count, output_count, state_count, parameter_count, symbol_count, kernel_count;
  const moert_value *inputs;
  const moert_value *outputs;
  const moert_value *states;  /* hidden: allocated by the runtime, sized by the symbols */
  const char *const *symbols; /* names of the dynamic symbols, e.g. "batch" */
  const moert_parameter_desc *parameters;
  const moert_kernel *kernels;
  const moert_generation *generation; /* NULL if unknown */
  const moert_cuda_code *cuda;        /* NULL unless device is MOERT_CUDA */
  int32_t axis_count;                 /* 0: one process runs it */
  const moert_axis *axes;
  const char *variant;   /* what tells it from others of its entry: "dp=4"; NULL: there are none */
  uint32_t variant_axes; /* bit a: its ranks stand on axis a; without variants all bits */
  int32_t (*run)(moert_context *ctx); /* 0, or the code given to moert_fail */
} moert_program;

/* The programs of an object. Those of one entry stand together, CUDA before CPU. Several for one device are variants:
 * they divide the same inputs, outputs, states and weights in other ways, and have one table of axes, of parameters and
 * of kernels. The first one runs where nobody says which. */
typedef struct moert_program_list {
  uint32_t abi_version; /* MOERT_ABI_VERSION */
  int32_t count;        /* at least 1 */
  const moert_program *const *programs;
} moert_program_list;

extern const moert_program_list moert_model_programs;

#ifdef __cplusplus
}
#endif
#endif /* MOERT_MOERT_MODEL_H */
