/* What llama_worker.py asks of native/llama, without llama.cpp: of a text with n tokens that add up to t, the logits of
 * sequence s are 1000 n + t + v. Only a call where the text ends is computed, and only the kept state can be put back. */
#include <stdint.h>
#include <stdlib.h>

enum { VOCABULARY = 3, SEQUENCES = 4, LONGEST = 64 };

struct text {
  int length, sum[LONGEST]; /* sum[n]: of the first n tokens */
};

struct context {
  int batch, length;
  struct text texts[SEQUENCES], kept[SEQUENCES];
  float logits[SEQUENCES][VOCABULARY];
};

void *model_new(const char *path, const int *cores, int threads) { return path[0] && cores && threads ? malloc(1) : NULL; }
int model_vocabulary(const void *model) { return model ? VOCABULARY : 0; }
void model_rest(void *model) { (void)model; }

struct context *context_new(void *model, int batch, int length, int bf16, int flash) {
  (void)model, (void)bf16, (void)flash;
  struct context *c = batch <= SEQUENCES ? calloc(1, sizeof *c) : NULL;
  if (c)
    c->batch = batch, c->length = length;
  return c;
}

void context_free(struct context *c) { free(c); }

int context_run(struct context *c, const int32_t *tokens, int count, int position) {
  for (int s = 0; s < c->batch; ++s) {
    struct text *t = &c->texts[s];
    if (position != t->length || position + count > c->length)
      return 1;
    for (int i = 0; i < count; ++i, ++t->length)
      t->sum[t->length + 1] = t->sum[t->length] + tokens[s * count + i];
    for (int v = 0; v < VOCABULARY; ++v)
      c->logits[s][v] = 1000 * t->length + t->sum[t->length] + v;
  }
  return 0;
}

const float *context_logits(struct context *c, int s, int count) { return count ? c->logits[s] : NULL; }

void context_rewind(struct context *c, int position) {
  for (int s = 0; s < c->batch; ++s)
    c->texts[s].length = position;
}

int context_keep(struct context *c) {
  for (int s = 0; s < c->batch; ++s)
    c->kept[s] = c->texts[s];
  return 0;
}

int context_restore(struct context *c) {
  for (int s = 0; s < c->batch; ++s)
    c->texts[s] = c->kept[s];
  return 0;
}
