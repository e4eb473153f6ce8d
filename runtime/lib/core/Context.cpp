//===- Context.cpp - the functions of moert.h ---------------------------------------------------------------------===//

#include "core/Context.h"

#include <immintrin.h>

using namespace moert;

/// Ends the call from a function that has no way to return an error. A compiled program owns nothing that would have
/// to be freed on the way out, so leaving its frames behind is safe.
[[noreturn]] static void outOfMemory(moert_context *ctx, const char *what, uint64_t bytes) {
  ctx->failure =
      failure(kUserError, "out of memory: %s needs %llu bytes", what, static_cast<unsigned long long>(bytes));
  longjmp(ctx->leave, 1);
}

extern "C" {

void *moert_input(moert_context *ctx, int32_t index) { return ctx->inputs[index].data; }

int64_t moert_input_size(moert_context *ctx, int32_t index, int32_t dim) { return ctx->inputs[index].sizes[dim]; }

void *moert_output(moert_context *ctx, int32_t index, int32_t rank, const int64_t *sizes) {
  const moert_value &declared = ctx->program->outputs[index];
  Tensor &output = ctx->outputs[index];
  uint64_t bytes = 0;
  if (rank != declared.rank || !tensorBytes(declared.dtype, rank, sizes, bytes)) {
    ctx->failure = failure(kInternal, "the program asked for output '%s' with an invalid size", declared.name);
    longjmp(ctx->leave, 1);
  }
  if (!output.memory.reserve(bytes))
    outOfMemory(ctx, declared.name, bytes);
  output.dtype = declared.dtype;
  output.rank = rank;
  for (int32_t i = 0; i < rank; ++i)
    output.sizes[i] = sizes[i];
  output.present = true;
  return output.data = output.memory.data();
}

void *moert_state(moert_context *ctx, int32_t index) {
  return static_cast<char *>(ctx->stateMemory.data()) + ctx->stateOffsets[index];
}

const void *moert_parameter(moert_context *ctx, int32_t index) { return ctx->parameters[index]; }

void *moert_arena(moert_context *ctx, int64_t bytes) {
  if (bytes < 0 || !ctx->arena.reserve(static_cast<size_t>(bytes)))
    outOfMemory(ctx, "scratch memory", static_cast<uint64_t>(bytes));
  return ctx->arena.data();
}

int64_t moert_blocks(moert_context *ctx) { return ctx->pool.threads(); }

void moert_launch(moert_context *ctx, const moert_kernel *kernel, const void *args, int64_t blocks, int64_t rows,
                  int64_t work) {
  if (!ctx->trace) {
    ctx->pool.run(kernel->fn, args, blocks);
    return;
  }
  int64_t begin = now();
  ctx->pool.run(kernel->fn, args, blocks);
  ctx->trace->launch(kernel->name, begin, now(), blocks, rows, work);
}

void moert_expert_load(moert_context *ctx, const char *layer, const int32_t *offsets, int32_t experts) {
  if (ctx->load)
    ctx->load->add(layer, offsets, experts);
}

void moert_check(moert_context *ctx, int32_t holds, const char *message) {
  if (holds)
    return;
  ctx->failure = failure(kUserError, "%s", message);
  longjmp(ctx->leave, 1);
}

int32_t moert_fail(moert_context *ctx, int32_t code, const char *message) {
  ctx->failure = failure(code, "%s", message);
  return code;
}

} // extern "C"

Status moert_context::prepareStates() {
  if (program->state_count == 0)
    return {};
  if (statesLive) {
    for (int32_t i = 0; i < program->state_count; ++i)
      for (int32_t d = 0; d < program->states[i].rank; ++d) {
        int64_t size = program->states[i].sizes[d];
        if (size < 0 && resolveSize(size, symbols) != resolveSize(size, stateSymbols))
          return moert::failure(kUserError, "the states hold %s = %lld, this call has %lld (reset the states first)",
                                program->symbols[-(size + 1)], static_cast<long long>(resolveSize(size, stateSymbols)),
                                static_cast<long long>(resolveSize(size, symbols)));
      }
    return {};
  }
  uint64_t total = 0;
  for (int32_t i = 0; i < program->state_count; ++i) {
    const moert_value &state = program->states[i];
    int64_t sizes[MOERT_MAX_RANK];
    for (int32_t d = 0; d < state.rank; ++d)
      sizes[d] = resolveSize(state.sizes[d], symbols);
    uint64_t bytes;
    stateOffsets[i] = total;
    if (!tensorBytes(state.dtype, state.rank, sizes, bytes) || bytes > (uint64_t(1) << 62) - total)
      return moert::failure(kUserError, "state '%s' would be too large", state.name);
    total += alignTo(bytes, kArchiveAlignment);
  }
  // Fresh memory is zero, and so is what resetStates() left.
  if (!stateMemory.reserve(total))
    return moert::failure(kUserError, "out of memory: the states need %llu bytes",
                          static_cast<unsigned long long>(total));
  stateBytes = total;
  std::copy(symbols.begin(), symbols.end(), stateSymbols.begin());
  statesLive = true;
  return {};
}

void moert_context::resetStates() {
  // Now rather than at the next call, whose time somebody may be waiting for. Giving the pages back instead would make
  // the next call fault them in again, which costs more than writing them.
  if (statesLive)
    std::memset(stateMemory.data(), 0, stateBytes);
  statesLive = false;
}

Status moert_context::run() {
  for (Tensor &output : outputs)
    output.present = false;
  failure.code = kFine;
  // The calling program may run with other rounding or flushed denormals; the workers do not.
  unsigned mode = _mm_getcsr();
  _mm_setcsr(0x1f80);
  volatile int32_t code = kInternal;
  if (setjmp(leave) == 0)
    code = program->run(this);
  _mm_setcsr(mode);
  if (failure.failed())
    return failure;
  if (code != 0)
    return moert::failure(kInternal, "the program ended with code %d and without a message", code);
  for (int32_t i = 0; i < program->output_count; ++i)
    if (!outputs[i].present)
      return moert::failure(kInternal, "the program left output '%s' out", program->outputs[i].name);
  return {};
}
