//===- RankCalls.cpp - the functions of moert.h for ranks ---------------------------------------------------------===//

#include "core/Context.h"

using namespace moert;

extern "C" {

int32_t moert_rank(moert_context *ctx, int32_t axis) { return ctx->job->axis(axis).rank(); }

int64_t moert_agree(moert_context *ctx, int32_t axis, int64_t value) {
  int64_t largest = 0;
  if (ctx->hasFailed(ctx->job->agree(axis, value, largest)))
    ctx->leaveCall();
  return largest;
}

const moert_peers *moert_windows(moert_context *ctx, int32_t axis, int64_t bytes) {
  if (bytes < 0 && ctx->hasFailed(failure(kInternal, "the program asked for windows of an invalid size")))
    ctx->leaveCall();
  // Also without a byte the program gets a window, as kernels may be given its address.
  if (ctx->hasFailed(ctx->job->openWindows(axis, bytes ? static_cast<size_t>(bytes) : 1)))
    ctx->leaveCall();
  return &ctx->job->axis(axis).peers;
}

void moert_phase(moert_context *ctx, const char *phase) {
  if (ctx->rehearses)
    return;
  ctx->phase = phase;
  if (ctx->job)
    ctx->job->setPhase(phase);
}

void moert_flags(moert_context *ctx, int64_t each, int64_t slices, int64_t stride) {
  if (ctx->job && !ctx->rehearses)
    ctx->job->setFlags({each, slices, stride});
}

void moert_traffic(moert_context *ctx, int32_t axis, const int32_t *offsets, int64_t rows, int64_t row_bytes,
                   int64_t fixed_bytes) {
  if (ctx->rehearses)
    return;
  std::vector<int64_t> &sent = ctx->traffic[static_cast<size_t>(axis)];
  std::vector<int64_t> traced(ctx->trace ? sent.size() : 0);
  int own = ctx->job->axis(axis).rank();
  for (size_t peer = 0; peer < sent.size(); ++peer) {
    if (static_cast<int>(peer) == own)
      continue;
    int64_t bytes = (offsets ? offsets[peer + 1] - offsets[peer] : rows) * row_bytes + fixed_bytes;
    sent[peer] += bytes;
    if (ctx->trace)
      traced[peer] = bytes;
  }
  if (ctx->trace)
    ctx->trace->sent(ctx->program->axes[axis].name, now(), traced, ctx->phase);
}

} // extern "C"
