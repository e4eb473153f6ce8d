/* session.h - runs a compiled program from C.
 *
 * The launcher of `--emit=exe` uses exactly these functions; `--emit=lib` exports them together with the program.
 *
 *   moert_session *s;
 *   if (moert_session_open(moert_session_programs(), NULL, &s) ||
 *       moert_session_set_input(s, 0, MOERT_F32, 2, sizes, data) || moert_session_run(s))
 *     fprintf(stderr, "%s\n", moert_session_error(s));
 *
 * Functions that return int32_t give 0, or an exit code of the tools: 1 the caller's input, 2 unsupported here, 70 an
 * internal error. A session serves one thread at a time; different sessions are independent.
 *
 * Every function may be called with a session that is NULL or that did not open. Those that return int32_t then fail,
 * with the code and the text of the opening; the others give NULL, 0 or -1, as said below, or do nothing. A pointer
 * that is given by the caller and must not be NULL is an error where it is. After moert_session_close the session is no
 * more: its pointer must not be used again.
 *
 * A session belongs to the process that opened it. In a child of fork() its threads do not exist: there every function
 * does what it does for a session that did not open, with a text that says so, and closing it frees nothing. A child
 * may open sessions of its own on a CPU; CUDA does not work in a child of a process that has used it.
 */
#ifndef MOERT_SESSION_H
#define MOERT_SESSION_H

#include "moert/moert_model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MOERT_API __attribute__((visibility("default")))

typedef struct moert_session moert_session;

/* All fields may be zero. */
typedef struct moert_session_options {
  const char *weights; /* archive; NULL: the path that the program records, relative to the file that holds it */
  int32_t threads;     /* threads, the caller included, at most the cores of the affinity mask; 0: as many as these */
  int32_t pin;         /* nonzero: binds each thread, the opening one included, to a core */
  int32_t verify_weights;  /* nonzero: reads all weights and compares their checksums */
  int32_t trace;           /* nonzero: records every launch for moert_session_write_trace */
  int32_t count_experts;   /* nonzero: counts the rows that each expert receives */
  const char *device;      /* "cpu", "cuda" or "cuda:N"; NULL: cuda:0 where the entry has code for it, else the CPU */
  const char *entry;       /* NULL: the only one */
  void *stream;            /* cudaStream_t on which a GPU works; NULL: one of the session's own */
  int32_t device_values;   /* nonzero: inputs and outputs are the GPU's, see moert_session_run */
  uint64_t random_weights; /* nonzero: parameters are made from this seed, there is no archive */
  int64_t deadline_ms;     /* that a run on a GPU may take, see moert_session_run; 0: 600000. That a wait for another
                              rank may take; 0: 60000. At most 1000000000 */
  int32_t rank, ranks;     /* which rank of how many this session is; ranks = 0: the environment says it */
  const char *root;        /* "HOST:PORT", where rank 0 listens; "local": all ranks are threads of this process; only
                              with ranks */
  const char *token;       /* what all sessions of the job know, at most 128 bytes; only with ranks; NULL: nothing */
  const char *variant;     /* by name or number: that of the runs, see moert_session_set_variant; NULL: none chosen */
  const char *tuning;      /* dictionary of variants; NULL: the one beside the archive, if there is one, and without
                              a variant; "": none */
  const char *comm;        /* "nccl": ranks on GPUs have their windows from NCCL; NULL: what the variable MOE_COMM says,
                              else they map each other's memory */
} moert_session_options;

/* A value of a call: row-major, contiguous. A bool is a byte that is 0 or 1; an input with others is an error. */
typedef struct moert_tensor {
  int32_t dtype; /* moert_dtype */
  int32_t rank;
  int64_t sizes[MOERT_MAX_RANK];
  const void *data;
} moert_tensor;

/* The programs that are linked into this file. */
MOERT_API const moert_program_list *moert_session_programs(void);

/* Chooses the program by entry and device, checks it and the CPU, maps the weights, starts the threads. `options` may
 * be NULL. On failure `*session` still holds an object that gives the error's text and must be closed (NULL only if
 * there is no memory for it); a NULL `session` is an error without a text. */
MOERT_API int32_t moert_session_open(const moert_program_list *programs, const moert_session_options *options,
                                     moert_session **session);

/* The program that the session runs, of several variants that of the last run; NULL if opening failed before one was
 * chosen. */
MOERT_API const moert_program *moert_session_program(const moert_session *session);

/* Frees the session and all that belongs to it. NULL, or a session that the parent of this process opened: does nothing.
 */
MOERT_API void moert_session_close(moert_session *session);

/* "cpu", or the GPU and its name: "cuda:0 (NVIDIA H200)"; "none" without an open session. */
MOERT_API const char *moert_session_device(const moert_session *session);

/* Text of the last failure: one line, never NULL. Valid until the next call with this session. */
MOERT_API const char *moert_session_error(const moert_session *session);

/* Index of the input or output of that name, or -1, also for a NULL name. */
MOERT_API int32_t moert_session_find_input(const moert_session *session, const char *name);
MOERT_API int32_t moert_session_find_output(const moert_session *session, const char *name);

/* Gives input `index` for the next run. Data that is 64-byte aligned is not copied and has to stay until the run
 * returns; other data, and that of an output of this session, is copied now. `sizes` may be NULL for rank 0, `data` for
 * no elements. Each run needs all inputs anew, also after one that failed; an input that is refused is missing. With
 * device_values, `data` is a pointer of the GPU, a multiple of 16, and is never copied; its elements are not checked.
 */
MOERT_API int32_t moert_session_set_input(moert_session *session, int32_t index, int32_t dtype, int32_t rank,
                                          const int64_t *sizes, const void *data);

/* Runs the program. Hidden states keep their content from run to run; they are created, zeroed, by the first run after
 * opening or reset, which also fixes their sizes (the batch).
 *
 * On a GPU, inputs are copied there, and outputs back at the end, for which the run waits. With device_values it copies
 * nothing and waits for nothing: it puts its launches on the stream. After one run with the same sizes it neither
 * reserves memory nor uploads weights, so that the run can be captured in a CUDA graph; but a program that decides by
 * elements of a tensor waits for them, and no graph can hold its runs. Whoever gave no stream waits by
 * cudaDeviceSynchronize. Errors of its launches appear in a later call of the session or of CUDA. Of several ranks each
 * gives and gets its parts of values that are divided, as many rows as it likes. A wait for a rank that ended in vain,
 * also in a replay of a graph, is an error of the next run, and of moert_session_output behind it.
 *
 * A run that has not ended deadline_ms after it began fails, and the error names the kernel; without deadline_ms the
 * entry alone, as to know the kernel costs an event for each launch. The GPU still works on it then: its inputs have to
 * stay, if their memory is page-locked. Later runs fail, too, until the GPU is done; then the session is as usable as
 * before. */
MOERT_API int32_t moert_session_run(moert_session *session);

/* A program with axes runs as several ranks, each with a session of its own, in a process or a thread. They open
 * together; each run is one of all of them, with the same inputs, which they divide, and the same outputs, which they
 * put together. Inputs that are wrong, do not fit the states, or are none that the graph was exported for, all ranks
 * refuse, and go on; they also reset together.
 * A run ends on all ranks when it fails on one, and the error says on which and why; then the ranks are not together
 * any more, and every later run fails. Closing needs nobody else. Bytes that this rank has sent to each rank of an axis
 * since opening or clearing: NULL without such an axis. */
MOERT_API const int64_t *moert_session_traffic(const moert_session *session, int32_t axis, int32_t *ranks);
MOERT_API void moert_session_clear_traffic(moert_session *session);

/* An entry may have several variants, which divide its work among the ranks in other ways. They take the same inputs
 * and weights, give the same outputs, and go on with each other's states. Their number is 1 without variants, and 0
 * without an open session; they have names ("dp=4") and numbers from 0 on. NULL: there is no such variant. */
MOERT_API int32_t moert_session_variants(const moert_session *session);
MOERT_API const char *moert_session_variant_name(const moert_session *session, int32_t variant);
/* Chooses the variant of the runs that follow, the same on all ranks; a number below 0: the one that the dictionary has
 * for the tokens of each call, or the first one. A session that was opened with a variant reads no dictionary, and
 * takes the first one. An error if there is none of that number. To go from one variant to another takes no memory and
 * moves nothing: the first run with sizes that were not there before takes what all of them need. */
MOERT_API int32_t moert_session_set_variant(moert_session *session, int32_t variant);
/* The variant of the last run, also of one that failed; before the first one 0, without an open session -1. */
MOERT_API int32_t moert_session_variant(const moert_session *session);

/* Output `index` of the last run; an error if that failed. The data belongs to the session and is valid until its next
 * run; with device_values it is a pointer of the GPU, the same in each run that needs no more memory than those before.
 */
MOERT_API int32_t moert_session_output(moert_session *session, int32_t index, moert_tensor *output);

/* Forgets the hidden states: the next run starts with zeroed ones, of any size. */
MOERT_API void moert_session_reset(moert_session *session);

/* Number of threads in use, and of bytes that the session holds for states and scratch memory (on a GPU: there); 0
 * without an open session. */
MOERT_API int32_t moert_session_threads(const moert_session *session);
MOERT_API int64_t moert_session_state_bytes(const moert_session *session);
MOERT_API int64_t moert_session_arena_bytes(const moert_session *session);

/* Writes the recorded launches as Chrome/Perfetto JSON. The file appears only when complete. All ranks of a program
 * call it; rank 0 writes one file for them. It never replaces the program's archive or library, nor the executable. */
MOERT_API int32_t moert_session_write_trace(moert_session *session, const char *path);

/* Rows per expert since opening or clearing: number of MoE layers seen, 0 unless the session counts; then name (NULL if
 * there is no such layer), experts and rows of one. `experts` and `rows` may be NULL. */
MOERT_API int32_t moert_session_expert_layers(const moert_session *session);
MOERT_API const char *moert_session_expert_load(const moert_session *session, int32_t layer, int32_t *experts,
                                                const int64_t **rows);
MOERT_API void moert_session_clear_expert_load(moert_session *session);

#ifdef __cplusplus
}
#endif
#endif /* MOERT_SESSION_H */
