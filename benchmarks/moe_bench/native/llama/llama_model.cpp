// llama_model.cpp - a model of llama.cpp on threads bound to cores, with a C interface for llama_worker.py.

#include "ggml-cpu.h"
#include "llama.h"

#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

struct Model {
  llama_model *model;
  ggml_threadpool *pool;
  int threads;
};

/// A cache of `batch` sequences and what computes on it.
struct Context {
  Model *owner;
  llama_context *context;
  int batch;
  llama_batch tokens;
  std::vector<std::vector<uint8_t>> kept; // of each sequence, see context_keep
};

/// Only what goes wrong; llama.cpp reports every tensor otherwise.
void report(ggml_log_level level, const char *text, void *) {
  if (level == GGML_LOG_LEVEL_ERROR)
    fputs(text, stderr);
}

} // namespace

extern "C" {

/// Reads a GGUF file into memory of the process; null if that fails.
Model *model_new(const char *path, const int *cores, int threads) {
  llama_log_set(report, nullptr);
  llama_backend_init();
  llama_model_params params = llama_model_default_params();
  params.load_mode = LLAMA_LOAD_MODE_NONE;
  llama_model *model = llama_model_load_from_file(path, params);
  if (!model)
    return nullptr;
  ggml_threadpool_params pool = ggml_threadpool_params_default(threads);
  pool.strict_cpu = true;
  for (int i = 0; i < threads; ++i)
    pool.cpumask[cores[i]] = true;
  return new Model{model, ggml_threadpool_new(&pool), threads};
}

int model_vocabulary(const Model *model) { return llama_vocab_n_tokens(llama_model_get_vocab(model->model)); }

/// An empty cache of `batch` sequences of at most `length` tokens, in the type of the weights; null if there is no
/// memory. A call may have as many tokens as fit into the cache; they are computed 512 at a time.
Context *context_new(Model *model, int batch, int length, int bf16, int flash) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(batch * length);
  params.n_batch = params.n_ctx;
  params.n_ubatch = 512;
  params.n_seq_max = static_cast<uint32_t>(batch);
  params.n_threads = params.n_threads_batch = model->threads;
  params.type_k = params.type_v = bf16 ? GGML_TYPE_BF16 : GGML_TYPE_F32;
  params.flash_attn_type = flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.no_perf = true;
  params.swa_full = false; // a layer with a window keeps no more than that, as in llama-cli and on the other sides
  llama_context *context = llama_init_from_model(model->model, params);
  if (!context)
    return nullptr;
  llama_attach_threadpool(context, model->pool, model->pool);
  return new Context{model, context, batch, llama_batch_init(batch * length, 0, 1), {}};
}

/// Forgets the tokens at `position` and behind.
void context_rewind(Context *context, int position) {
  llama_memory_seq_rm(llama_get_memory(context->context), -1, position, -1);
}

/// Keeps copies of every sequence's caches and states, for models whose states cannot go back. Not 0 if it fails.
int context_keep(Context *context) {
  context->kept.clear();
  for (int s = 0; s < context->batch; ++s) {
    std::vector<uint8_t> state(llama_state_seq_get_size(context->context, s));
    if (llama_state_seq_get_data(context->context, state.data(), state.size(), s) != state.size())
      return 1;
    context->kept.push_back(std::move(state));
  }
  return 0;
}

/// Forgets all tokens, and puts back what was kept, if anything was. Not 0 if it fails.
int context_restore(Context *context) {
  llama_memory_clear(llama_get_memory(context->context), /*data=*/false);
  for (int s = 0; s < static_cast<int>(context->kept.size()); ++s) {
    const std::vector<uint8_t> &state = context->kept[s];
    if (llama_state_seq_set_data(context->context, state.data(), state.size(), s) != state.size())
      return 1;
  }
  return 0;
}

/// Runs `count` tokens of every sequence ([batch][count]) at `position`, where its cache ends. The logits of each
/// sequence's last token can be read until the next call. Not 0 if it fails.
int context_run(Context *context, const int32_t *tokens, int count, int position) {
  llama_batch &b = context->tokens;
  b.n_tokens = context->batch * count;
  for (int s = 0; s < context->batch; ++s) {
    for (int i = 0; i < count; ++i) {
      int at = s * count + i;
      b.token[at] = tokens[at];
      b.pos[at] = position + i;
      b.n_seq_id[at] = 1;
      b.seq_id[at][0] = s;
      b.logits[at] = i == count - 1;
    }
  }
  int result = llama_decode(context->context, b);
  llama_synchronize(context->context);
  return result;
}

/// Logits of sequence `s` after a call with `count` tokens.
const float *context_logits(Context *context, int s, int count) {
  return llama_get_logits_ith(context->context, s * count + count - 1);
}

void context_free(Context *context) {
  llama_batch_free(context->tokens);
  llama_free(context->context);
  delete context;
}

/// Puts the threads to sleep until the next call.
void model_rest(Model *model) { ggml_threadpool_pause(model->pool); }
}
