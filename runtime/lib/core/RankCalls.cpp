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
  const auto size = bytes ? static_cast<size_t>(bytes) : 1;
  if (ctx->hasFailed(ctx->deviceRanks ? ctx->deviceRanks->openWindows(axis, size) : ctx->job->openWindows(axis, size)))
    ctx->leaveCall();
  return ctx->deviceRanks ? ctx->deviceRanks->peers(axis) : &ctx->job->axis(axis).peers;
}

void *moert_part(moert_context *ctx, const moert_peers *peers, int64_t offset) {
  void *part = ctx->deviceRanks ? ctx->deviceRanks->part(peers, offset) : peers->base[peers->rank] + offset;
  if (!part && ctx->hasFailed(failure(kInternal, "the program asked for a part of windows that it has not")))
    ctx->leaveCall();
  return part;
}

void moert_phase(moert_context *ctx, const char *phase) {
  if (ctx->rehearses)
    return;
  ctx->phase = phase;
  if (ctx->job)
    ctx->job->setPhase(phase);
}

void moert_flags(moert_context *ctx, int64_t each, int64_t slices, int64_t stride) {
  if (ctx->deviceRanks && ctx->hasFailed(ctx->deviceRanks->checkOverlap()))
    ctx->leaveCall();
  if (ctx->job && !ctx->rehearses)
    ctx->job->setFlags({each, slices, stride});
}

void moert_traffic(moert_context *ctx, int32_t axis, const int32_t *offsets, int64_t rows, int64_t row_bytes,
                   int64_t fixed_bytes) {
  if (ctx->deviceRanks && ctx->rehearses)
    ctx->deviceRanks->rehearseSent(axis);
  else if (ctx->deviceRanks && ctx->hasFailed(ctx->deviceRanks->delivers(axis, fixed_bytes != 0)))
    ctx->leaveCall();
  if (ctx->deviceValues) // nobody reads what was counted
    return;
  if (ctx->rehearses) {
    if (ctx->deviceRanks && offsets)
      ctx->deviceRanks->countSent(axis);
    return;
  }
  if (!ctx->deviceRanks)
    return ctx->countTraffic(axis, offsets, rows, row_bytes, fixed_bytes, ctx->phase);
  if (ctx->hasFailed(ctx->deviceRanks->noteSent({axis, rows, row_bytes, fixed_bytes, ctx->phase}, offsets)))
    ctx->leaveCall();
}

} // extern "C"

void moert_context::countTraffic(int32_t axis, const int32_t *offsets, int64_t rows, int64_t rowBytes,
                                 int64_t fixedBytes, const char *what) {
  std::vector<int64_t> &sent = traffic[static_cast<size_t>(axis)];
  std::vector<int64_t> traced(trace ? sent.size() : 0);
  int own = job->axis(axis).rank();
  for (size_t peer = 0; peer < sent.size(); ++peer) {
    if (static_cast<int>(peer) == own)
      continue;
    int64_t bytes = (offsets ? offsets[peer + 1] - offsets[peer] : rows) * rowBytes + fixedBytes;
    sent[peer] += bytes;
    if (trace)
      traced[peer] = bytes;
  }
  if (trace)
    trace->sent(program->axes[axis].name, now(), traced, what);
}
