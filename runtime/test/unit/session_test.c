/* The C API, from C: a session on the toy layer. Arguments: the archive, a folder for files. */
#include "moert/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: %s is false; last error: %s\n", __FILE__, __LINE__, #condition,                          \
              s ? moert_session_error(s) : "");                                                                        \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static moert_session *s;

/* Rows of ones; gives y[0] as raw bf16 and the number of calls. */
static int32_t runOnes(int64_t rows, float scale0, uint16_t *y0, int64_t *calls) {
  uint16_t x[64];
  float scale[8];
  for (int i = 0; i < 64; ++i)
    x[i] = 0x3f80;
  for (int i = 0; i < 8; ++i)
    scale[i] = i ? 1 : scale0;
  int64_t sizes[2] = {rows, 8};
  int32_t code = moert_session_set_input(s, 0, MOERT_BF16, 2, sizes, x);
  if (!code)
    code = moert_session_set_input(s, 1, MOERT_F32, 1, sizes, scale);
  if (!code)
    code = moert_session_run(s);
  moert_tensor y = {0}, n = {0};
  if (!code) {
    CHECK(moert_session_output(s, 0, &y) == 0 && y.dtype == MOERT_BF16 && y.rank == 2 && y.sizes[0] == rows);
    CHECK(moert_session_output(s, 1, &n) == 0 && n.rank == 1 && n.sizes[0] == 1);
    *y0 = rows ? *(const uint16_t *)y.data : 0;
    *calls = *(const int64_t *)n.data;
  }
  return code;
}

static void expectError(const char *text) {
  if (!strstr(moert_session_error(s), text)) {
    fprintf(stderr, "expected an error with '%s', got '%s'\n", text, moert_session_error(s));
    exit(1);
  }
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
  /* Called by a word that names no file, as a shell does with programs of PATH, from another folder than its own. */
  if (strcmp(argv[0], "session") != 0) {
    CHECK(chdir("/") == 0);
    execl("/proc/self/exe", "session", argv[1], argv[2], NULL);
    return 1;
  }
  const moert_program_list *programs = moert_session_programs();
  CHECK(programs->count == 1);
  moert_session_options options = {0};

  /* The archive stands beside the executable, which holds the program. */
  CHECK(moert_session_open(programs, NULL, &s) == 0);
  moert_session_close(s);

  options.weights = "";
  CHECK(moert_session_open(programs, &options, &s) == 1);
  expectError("the name of the archive of weights is empty");
  moert_session_close(s);
  options.ranks = -1;
  CHECK(moert_session_open(programs, &options, &s) == 1);
  expectError("one of -1 ranks");
  moert_session_close(s);
  options.ranks = 0;
  options.deadline_ms = INT64_MAX; /* has no nanoseconds */
  CHECK(moert_session_open(programs, &options, &s) == 1);
  expectError("a deadline of 9223372036854775807 ms: expected 0..1000000000");
  moert_session_close(s);
  options.deadline_ms = 0;
  options.weights = "/nonexistent/weights";
  CHECK(moert_session_open(programs, &options, &s) == 1);
  expectError("cannot open weights '/nonexistent/weights'");
  moert_session_close(s);

  moert_program other = *programs->programs[0];
  const moert_program *const others[] = {&other};
  const moert_program_list old = {MOERT_ABI_VERSION, 1, others}, older = {98, 1, others};
  other.abi_version = 99;
  CHECK(moert_session_open(&old, NULL, &s) == 70);
  expectError("runtime ABI 99");
  CHECK(!moert_session_program(s) && moert_session_find_input(s, "x") == -1);
  moert_session_close(s);
  CHECK(moert_session_open(&older, NULL, &s) == 70);
  expectError("runtime ABI 98");
  moert_session_close(s);
  other.abi_version = MOERT_ABI_VERSION;
  other.device = MOERT_CUDA;
  CHECK(moert_session_open(&old, NULL, &s) == 70);
  expectError("the program needs a runtime with CUDA, which is not linked into this file");
  moert_session_close(s);

  options.weights = argv[1];
  options.threads = 3;
  options.trace = 1;
  options.verify_weights = 1;
  options.device = "cpu";
  options.entry = "main";
  CHECK(moert_session_open(programs, &options, &s) == 0);
  CHECK(moert_session_program(s) == programs->programs[0]);
  CHECK(moert_session_threads(s) >= 1 && moert_session_threads(s) <= 3); /* as there are cores */
  CHECK(moert_session_find_input(s, "scale") == 1 && moert_session_find_input(s, "y") == -1);
  CHECK(moert_session_find_output(s, "calls") == 1);

  moert_tensor none;
  CHECK(moert_session_output(s, 0, &none) == 1);
  expectError("no run has succeeded");
  CHECK(moert_session_run(s) == 1);
  expectError("input 'x' is missing");

  /* The state counts the calls, until it is reset. */
  uint16_t y = 0;
  int64_t calls = 0;
  CHECK(runOnes(4, 2, &y, &calls) == 0 && calls == 1 && y == 0x4000);
  CHECK(runOnes(2, 2, &y, &calls) == 0 && calls == 2 && y == 0x4040);
  CHECK(runOnes(0, 2, &y, &calls) == 0 && calls == 3);
  moert_session_reset(s);
  CHECK(runOnes(1, 1, &y, &calls) == 0 && calls == 1 && y == 0x3f80);

  /* Errors of inputs. */
  int64_t wide[2] = {2, 9}, two[1] = {2};
  float scale[2] = {1, 1};
  uint16_t x[18] = {0};
  CHECK(moert_session_set_input(s, 0, MOERT_BF16, 2, wide, x) == 1);
  expectError("input 'x' is 2 x 9 x bf16, the program expects rows x 8 x bf16");
  CHECK(moert_session_set_input(s, 0, MOERT_F32, 2, wide, x) == 1);
  CHECK(moert_session_set_input(s, 7, MOERT_F32, 2, wide, x) == 1);
  expectError("there is no input 7, the program has 2");
  CHECK(moert_session_set_input(s, 0, MOERT_BF16, 2, (int64_t[]){1, 8}, x) == 0);
  CHECK(moert_session_set_input(s, 1, MOERT_F32, 1, two, scale) == 0);
  CHECK(moert_session_run(s) == 1);
  expectError("input 'scale' has size 2 in dimension 0, but 'rows' is 1 in an earlier input");

  /* Errors of the program; the session stays usable. */
  CHECK(runOnes(1, 666, &y, &calls) == 70);
  expectError("the layer was asked to fail");
  CHECK(runOnes(1, 667, &y, &calls) == 1);
  expectError("out of memory: scratch memory needs");
  CHECK(runOnes(1, 668, &y, &calls) == 70);
  expectError("the program left output 'y' out");
  CHECK(runOnes(1, 669, &y, &calls) == 1);
  expectError("the layer does not like 669");
  CHECK(runOnes(1, 670, &y, &calls) == 1);
  expectError("1 rows, -670, {2}, {x} and {");
  CHECK(moert_session_output(s, 0, &none) == 1);
  CHECK(runOnes(1, 1, &y, &calls) == 0 && calls == 2);

  char path[4096];
  snprintf(path, sizeof path, "%s/session.trace.json", argv[2]);
  CHECK(moert_session_write_trace(s, path) == 0);
  CHECK(moert_session_write_trace(s, argv[2]) == 1);
  expectError("it is a folder, not a file");
  /* Nor what the program is and reads: second names of these files, which a trace would replace alone. */
  const char *own[2][2] = {{argv[1], "the program's archive of weights"}, {"/proc/self/exe", "the executable"}};
  for (int i = 0; i < 2; ++i) {
    snprintf(path, sizeof path, "%s/session.own%d", argv[2], i);
    remove(path);
    CHECK(linkat(AT_FDCWD, own[i][0], AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0);
    CHECK(moert_session_write_trace(s, path) == 1);
    expectError(own[i][1]);
    remove(path);
  }
  moert_session_close(s);
  return 0;
}
