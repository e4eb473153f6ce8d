/* moert.h - the runtime interface that compiled programs call.
 *
 * C ABI; nothing throws across it. No function here computes an operation of a model: programs load parameters,
 * obtain memory, launch kernels and report what they did. The op set of the compiler's `moert` dialect mirrors this
 * file, one op per function.
 */
#ifndef MOERT_MOERT_H
#define MOERT_MOERT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOERT_ABI_VERSION 9
#define MOERT_MAX_RANK 8

/* A function that cannot go on (no memory, an output of the wrong rank, a check that fails) ends the call: it does not
 * return to the program. Programs therefore own nothing that would have to be freed on the way. All functions are
 * called from the thread that runs the program, never from a kernel, but for moert_await, moert_await_arrivals,
 * moert_stored and moert_raise. */

/* One run of a program on one device of one rank: arena, thread pool, trace. Never global. */
typedef struct moert_context moert_context;

/* Element types. The values are part of the ABI and of the weight archive's format. */
typedef enum moert_dtype {
  MOERT_F32 = 0,
  MOERT_BF16 = 1,
  MOERT_F16 = 2,
  MOERT_F64 = 3,
  MOERT_I64 = 4,
  MOERT_I32 = 5,
  MOERT_I16 = 6,
  MOERT_I8 = 7,
  MOERT_U8 = 8,
  MOERT_BOOL = 9
} moert_dtype;

/* A block program. It is called once for each block in [0, blocks); blocks may run in any order and at the same time.
 * `args` points to the launch's argument slots (8 bytes each). */
typedef void (*moert_kernel_fn)(const void *args, int64_t block, int64_t blocks);

typedef struct moert_kernel {
  const char *name;   /* unique in the program; shown in traces */
  moert_kernel_fn fn; /* NULL in programs for a GPU, whose code is in moert_program::cuda */
} moert_kernel;

/* ---- values of the current call ------------------------------------------------------------------------------- */

/* Data of input `index` (row-major, contiguous). Valid until the program returns. */
void *moert_input(moert_context *ctx, int32_t index);
/* Size of dimension `dim` of input `index`. */
int64_t moert_input_size(moert_context *ctx, int32_t index, int32_t dim);
/* Buffer for output `index` with the given sizes (`rank` entries); the program fills it. */
void *moert_output(moert_context *ctx, int32_t index, int32_t rank, const int64_t *sizes);
/* Buffer of hidden state `index`: zeroed when created, kept between calls until reset. */
void *moert_state(moert_context *ctx, int32_t index);
/* Packed data of parameter `index` of the program's table, mapped read-only from the archive. 64-byte aligned. */
const void *moert_parameter(moert_context *ctx, int32_t index);

/* A constant of the program, `bytes` bytes at `data`, where kernels can read it: on a GPU a copy, which the first such call
 * of a session makes. */
const void *moert_constant(moert_context *ctx, const void *data, int64_t bytes);

/* ---- memory --------------------------------------------------------------------------------------------------- */

/* Scratch memory of at least `bytes` bytes, 64-byte aligned. One block for the whole call: a second request gets the
 * same memory, or moves it if it is larger, so a program asks once. Grows only; the content does not survive the call.
 */
void *moert_arena(moert_context *ctx, int64_t bytes);

/* ---- work ----------------------------------------------------------------------------------------------------- */

/* Number of blocks that a launch gets by default: one per thread that was asked for. */
int64_t moert_blocks(moert_context *ctx);
/* Runs all blocks of a kernel and returns when they are done. `rows` and `work` (floating-point operations, or elements
 * moved where there are none) describe the launch in traces and reports; they change nothing. */
void moert_launch(moert_context *ctx, const moert_kernel *kernel, const void *args, int64_t blocks, int64_t rows,
                  int64_t work);

/* A launch in a group. */
typedef struct moert_member {
  const moert_kernel *kernel;
  const void *args;
  int64_t blocks; /* of each phase, at least 1 */
  int64_t phases; /* at least 1; block b of phase s is called with the number s * blocks + b */
  int64_t lag;    /* at least 0 */
  int64_t rows, work;
} moert_member;

/* Runs all blocks of several launches at the same time, on a CPU, and returns when they are done. Blocks start in
 * order: of phase + lag, of the members, of their numbers. A block may wait for others that start before it. */
void moert_launch_group(moert_context *ctx, const moert_member *members, int32_t count);
/* For kernels on a CPU: waits until `counter`, to which other blocks of the group add, has reached `arrivals`. 1: all
 * that they stored before is there. 0: it took too long, and the call ends behind the launch. Outside of a group it
 * only looks. */
int32_t moert_await_arrivals(const int32_t *counter, int64_t arrivals);

/* Copies `bytes` bytes from `from`, in the memory of the program's device, to `to`: an element of a tensor that decides what
 * the host program does. On a GPU it waits for all launches before it, so that no such run can be captured in a graph. */
void moert_read(moert_context *ctx, void *to, const void *from, int64_t bytes);

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

struct moert_notes;
struct moert_hosts;

/* What kernels see of the ranks of an axis. A rank stores to the windows of the others and reads its own. */
typedef struct moert_peers {
  char *const *base; /* by rank on the axis: its windows, at this process's addresses */
  int32_t rank, ranks;
  uint32_t *epoch;  /* the exchange that this rank is in */
  uint32_t *abort;  /* not 0: a rank is lost (its number in the job + 1); waits end */
  uint32_t *status; /* not 0: the first wait that ended without its flag: peer + 1. In a program for a GPU the flag's
                     * number + 1 stands behind it; 0: it has none */
  int64_t patience; /* nanoseconds that a wait may take */
  uint32_t *waits;  /* peer + 1 while a wait for it lasts, for what others say of it; may be NULL */
  struct moert_notes *notes; /* what the runtime remembers of waits, for errors and traces; may be NULL */
  struct moert_hosts *hosts; /* NULL: all ranks of the axis share a host; else stores to others and flags are told */
} moert_peers;

/* This rank's number on an axis of the program. */
int32_t moert_rank(moert_context *ctx, int32_t axis);
/* The largest of the values of all ranks of the axis, which all call it. */
int64_t moert_agree(moert_context *ctx, int32_t axis, int64_t value);
/* Windows of at least `bytes` bytes, the same on all ranks of the axis, which all call it: zeroed when they are made,
 * 64-byte aligned. Grows only; growing zeroes them, and the epoch. Valid until the program returns. */
const moert_peers *moert_windows(moert_context *ctx, int32_t axis, int64_t bytes);
/* In a program for a GPU `peers` are in its memory, where the host cannot look: the address `offset` bytes into this
 * rank's own windows, which are there, too. */
void *moert_part(moert_context *ctx, const moert_peers *peers, int64_t offset);
/* What the launches that follow are for, in errors and traces. The text stays where it is as long as the program. */
void moert_phase(moert_context *ctx, const char *phase);
/* Adds to the bytes that this rank has sent to each other rank p of the axis:
 * (offsets ? offsets[p+1] - offsets[p] : rows) * row_bytes + fixed_bytes. To be called behind the launch that sent
 * them; `fixed_bytes` is not 0 behind one that has signalled, unless kernels that run beside it wait for the flags. */
void moert_traffic(moert_context *ctx, int32_t axis, const int32_t *offsets, int64_t rows, int64_t row_bytes,
                   int64_t fixed_bytes);
/* What the flags count for which the next launch waits, for errors: each source has `each` of them, `stride` apart, for
 * chunks of its rows; with `slices` for chunks of its sums, slice by slice. */
void moert_flags(moert_context *ctx, int64_t each, int64_t slices, int64_t stride);
/* For kernels on a CPU: waits until `flag`, in the own window, has reached `epoch` (their difference is not below zero
 * as a signed number). 1: all that its peer stored before is there. 0: it did not come, which `status` then says.
 * `number`: that of the flag in its window, for errors and traces; -1: it has none. */
int32_t moert_await(const moert_peers *peers, const uint32_t *flag, uint32_t epoch, int32_t peer, int64_t number);
/* For kernels on a CPU, unless `hosts` is NULL: behind a store of `bytes` bytes at `to`, in the windows of rank `peer`. If
 * that rank is on another host, base[peer] is a mirror of its windows here. */
void moert_stored(const moert_peers *peers, int32_t peer, const void *to, int64_t bytes);
/* The same for a flag there, in place of a store with release: it becomes `epoch` when all that was told before is there.
 */
void moert_raise(const moert_peers *peers, int32_t peer, uint32_t *flag, uint32_t epoch);

/* ---- reports -------------------------------------------------------------------------------------------------- */

/* Adds the rows that each expert received in this call: offsets[e+1] - offsets[e], e in [0, experts). Does nothing
 * unless the run counts loads. `layer` is the name of the MoE layer. */
void moert_expert_load(moert_context *ctx, const char *layer, const int32_t *offsets, int32_t experts);
/* Ends the call with the error `message`, which is the caller's fault (code 1), unless `holds` is not zero. For what
 * only the program can find out about its inputs, as an index that it computes from them. */
void moert_check(moert_context *ctx, int32_t holds, const char *message);
/* The same for a condition on the call's sizes, before the first launch: it fails on all ranks alike, so they refuse
 * the call together and go on. */
void moert_check_call(moert_context *ctx, int32_t holds, const char *message);
/* As moert_check, where {0}, {1}, ... in `message` stand for the `count` numbers of `values`. */
void moert_check_values(moert_context *ctx, int32_t holds, const char *message, int32_t count, const int64_t *values);
/* Ends the call with an error: the program returns the code after this. `code` as the tools' exit codes. */
int32_t moert_fail(moert_context *ctx, int32_t code, const char *message);

#ifdef __cplusplus
}
#endif
#endif /* MOERT_MOERT_H */
