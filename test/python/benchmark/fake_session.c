/* A model without a compiler behind it: logits[b][0][v] = sum of row b's tokens + 1000 position[b] + 100000 keep + v.
 * It is compiled against the real header, so the benchmark's view of the structures is checked by it. */
#include "moert/session.h"

#include <stdlib.h>
#include <string.h>

struct moert_session {
  int32_t threads;
  const char *error;
  int64_t batch, length, values[3][4096];
  float logits[64];
};

static const char *const names[] = {"input_ids", "position", "logits_to_keep"};
static const moert_program_list programs;

const moert_program_list *moert_session_programs(void) { return &programs; }

int32_t moert_session_open(const moert_program_list *p, const moert_session_options *options, moert_session **session) {
  *session = calloc(1, sizeof **session);
  (*session)->threads = options->threads;
  if (p == &programs && options->pin && !options->weights && !options->verify_weights && !options->trace &&
      !options->count_experts && !options->device && !options->entry && !options->stream && !options->device_values &&
      !options->random_weights && !options->deadline_ms && !options->variant && !options->tuning)
    return 0;
  (*session)->error = "wrong options";
  return 1;
}

const char *moert_session_error(const moert_session *s) { return s->error; }

int32_t moert_session_find_input(const moert_session *s, const char *name) {
  for (int32_t i = 0; i < 3; ++i)
    if (strcmp(name, names[i]) == 0)
      return i;
  return -1;
}

int32_t moert_session_find_output(const moert_session *s, const char *name) { return strcmp(name, "logits") ? -1 : 0; }

int32_t moert_session_set_input(moert_session *s, int32_t index, int32_t dtype, int32_t rank, const int64_t *sizes,
                                const void *data) {
  int64_t count = 1;
  for (int32_t i = 0; i < rank; ++i)
    count *= sizes[i];
  if (dtype != MOERT_I64 || rank != (index == 0 ? 2 : 1)) {
    s->error = "wrong input";
    return 1;
  }
  if (index == 0) {
    s->batch = sizes[0];
    s->length = sizes[1];
  }
  memcpy(s->values[index], data, (size_t)count * 8);
  return 0;
}

int32_t moert_session_run(moert_session *s) {
  for (int64_t b = 0; b < s->batch; ++b) {
    int64_t sum = 1000 * s->values[1][b] + 100000 * s->values[2][0];
    for (int64_t i = 0; i < s->length; ++i) {
      if (s->values[0][b * s->length + i] == 99) {
        s->error = "token 99 is not in the vocabulary";
        return 2;
      }
      sum += s->values[0][b * s->length + i];
    }
    for (int64_t v = 0; v < 2; ++v)
      s->logits[2 * b + v] = (float)(sum + v);
  }
  return 0;
}

int32_t moert_session_output(moert_session *s, int32_t index, moert_tensor *output) {
  static uint16_t upper[64]; /* the upper halves of f32 are bf16 */
  for (int i = 0; i < 64; ++i) {
    uint32_t bits;
    memcpy(&bits, &s->logits[i], 4);
    upper[i] = (uint16_t)(bits >> 16);
  }
  moert_tensor t = {BF16 ? MOERT_BF16 : MOERT_F32, 3, {s->batch, 1, 2}, BF16 ? (const void *)upper : s->logits};
  *output = t;
  return index;
}

void moert_session_reset(moert_session *s) {}
int32_t moert_session_threads(const moert_session *s) { return s->threads; }
int64_t moert_session_state_bytes(const moert_session *s) { return (int64_t)1 << 33; }
int64_t moert_session_arena_bytes(const moert_session *s) { return 7; }
