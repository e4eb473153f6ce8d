// ggml_layer.cpp - one MoE layer as llama.cpp's graph of ggml operations, with a C interface for ggml_worker.py.
//
// The graph is the one that llama.cpp builds for merged gate and up weights: mul_mat_id, swiglu, mul_mat_id, product
// with the routing weights, sum of the k views.

#include "ggml-cpu.h"
#include "ggml.h"

#include <cstdlib>
#include <sys/mman.h>
#include <vector>

namespace {

constexpr size_t kHugePage = 2 << 20;

/// Memory of whole huge pages, as a program that wants its weights read fast would ask for.
void *hugeAlloc(size_t bytes) {
  bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void *data = nullptr;
  if (posix_memalign(&data, kHugePage, bytes))
    return nullptr;
  madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

struct Layer {
  int64_t hidden, inner, experts, k;
  int threads;
  ggml_context *weights = nullptr;
  ggml_tensor *wIn, *wOut;
  ggml_threadpool *pool;
};

struct Call {
  ggml_context *context;
  ggml_tensor *x, *ids, *scores, *y;
  ggml_cgraph *graph;
  ggml_cplan plan;
  std::vector<unsigned char> work;
};

ggml_tensor *weight(Layer *layer, ggml_type type, int64_t columns, int64_t rows) {
  ggml_tensor *t = ggml_new_tensor_3d(layer->weights, type, columns, rows, layer->experts);
  t->data = hugeAlloc(ggml_nbytes(t));
  return t;
}

} // namespace

extern "C" {

/// A layer with weights of bf16 or f32 on threads bound to `cores`; null if there is no memory.
Layer *layer_new(int64_t hidden, int64_t inner, int64_t experts, int64_t k, int bf16, const int *cores, int threads) {
  ggml_cpu_init();
  auto *layer = new Layer{hidden, inner, experts, k, threads};
  layer->weights = ggml_init({16 * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true});
  ggml_type type = bf16 ? GGML_TYPE_BF16 : GGML_TYPE_F32;
  layer->wIn = weight(layer, type, hidden, 2 * inner);
  layer->wOut = weight(layer, type, inner, hidden);
  ggml_threadpool_params params = ggml_threadpool_params_default(threads);
  params.strict_cpu = true;
  for (int i = 0; i < threads; ++i)
    params.cpumask[cores[i]] = true;
  layer->pool = ggml_threadpool_new(&params);
  return layer->wIn->data && layer->wOut->data && layer->pool ? layer : nullptr;
}

/// 0: w_in [E][2 I][H], 1: w_out [E][H][I].
void *layer_weights(Layer *layer, int which) { return (which ? layer->wOut : layer->wIn)->data; }

/// The graph of a call with so many tokens.
Call *call_new(Layer *layer, int64_t tokens) {
  auto *call = new Call;
  int64_t pairs = tokens * layer->k;
  size_t floats = static_cast<size_t>(pairs * (4 * layer->inner + 2 * layer->hidden) +
                                      tokens * layer->hidden * (layer->k + 2) + 4 * pairs);
  ggml_context *ctx = call->context = ggml_init({floats * 4 + (16 << 20), nullptr, /*no_alloc=*/false});
  call->x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, layer->hidden, tokens);
  call->ids = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, layer->k, tokens);
  call->scores = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 1, layer->k, tokens);

  ggml_tensor *rows = ggml_reshape_3d(ctx, call->x, layer->hidden, 1, tokens);
  ggml_tensor *both = ggml_mul_mat_id(ctx, layer->wIn, rows, call->ids);
  auto half = [&](size_t begin) {
    return ggml_view_3d(ctx, both, layer->inner, layer->k, tokens, both->nb[1], both->nb[2], begin * both->nb[0]);
  };
  ggml_tensor *inner = ggml_swiglu_split(ctx, half(0), half(static_cast<size_t>(layer->inner)));
  ggml_tensor *out = ggml_mul(ctx, ggml_mul_mat_id(ctx, layer->wOut, inner, call->ids), call->scores);
  for (int64_t i = 0; i < layer->k; ++i) {
    ggml_tensor *part = ggml_view_2d(ctx, out, layer->hidden, tokens, out->nb[2], static_cast<size_t>(i) * out->nb[1]);
    call->y = i == 0 ? part : ggml_add(ctx, call->y, part);
  }
  if (layer->k == 1)
    call->y = ggml_cont(ctx, call->y);
  call->graph = ggml_new_graph(ctx);
  ggml_build_forward_expand(call->graph, call->y);
  call->plan = ggml_graph_plan(call->graph, layer->threads, layer->pool);
  call->work.resize(call->plan.work_size);
  call->plan.work_data = call->work.data();
  return call;
}

void call_free(Call *call) {
  ggml_free(call->context);
  delete call;
}

/// 0: x [T][H] f32, 1: ids [T][k] i32, 2: weights [T][k] f32, 3: y [T][H] f32.
void *call_data(Call *call, int which) {
  ggml_tensor *all[] = {call->x, call->ids, call->scores, call->y};
  return all[which]->data;
}

/// 0, or ggml's status.
int call_run(Call *call) { return ggml_graph_compute(call->graph, &call->plan); }

/// Its threads sleep until the next run; otherwise they would wait for it spinning, for a tenth of a second.
void layer_rest(Layer *layer) { ggml_threadpool_pause(layer->pool); }
}
