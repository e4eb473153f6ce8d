//===- Context.cpp - the functions of moert.h ---------------------------------------------------------------------===//

#include "core/Context.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>

using namespace moert;

/// How long a block waits for others of its group, in a program of one rank, before it takes the program for wrong.
constexpr int64_t kArrivalPatience = int64_t(60) * 1000000000;

bool moert_context::hasFailed(Status status) {
  if (!status.failed())
    return false;
  failure = std::move(status);
  return true;
}

static Status outOfMemory(const char *what, uint64_t bytes) {
  return failure(kUserError, "out of memory: %s needs %llu bytes", what, static_cast<unsigned long long>(bytes));
}

/// `message` with a number for each {0}, {1}, ...
static std::string fillIn(const char *message, int32_t count, const int64_t *values) {
  std::string text;
  for (const char *at = message; *at; ++at) {
    if (at[0] == '{' && at[1] >= '0' && at[1] - '0' < std::min(count, 10) && at[2] == '}') {
      text += std::to_string(values[at[1] - '0']);
      at += 2;
    } else {
      text += *at;
    }
  }
  return text;
}

/// Memory on the device, or the end of the call.
static void *reserveOnDevice(moert_context *ctx, DeviceBlock &block, uint64_t bytes, const char *what) {
  if (ctx->hasFailed(ctx->device->reserve(block, bytes, what)))
    ctx->leaveCall();
  return block.base;
}

extern "C" {

void *moert_input(moert_context *ctx, int32_t index) { return ctx->inputs[index].view; }

int64_t moert_input_size(moert_context *ctx, int32_t index, int32_t dim) { return ctx->inputs[index].sizes[dim]; }

void *moert_output(moert_context *ctx, int32_t index, int32_t rank, const int64_t *sizes) {
  const moert_value &declared = ctx->program->outputs[index];
  Tensor &output = ctx->outputs[index];
  uint64_t bytes = 0;
  if (rank != declared.rank || !tensorBytes(declared.dtype, rank, sizes, bytes)) {
    // Programs see to it that no size is negative.
    const bool isLarge = rank == declared.rank && std::all_of(sizes, sizes + rank, [](int64_t n) { return n >= 0; });
    ctx->hasFailed(isLarge ? failure(kUserError, "output '%s' would be too large", declared.name)
                           : failure(kInternal, "the program asked for output '%s' with an invalid size",
                                     declared.name));
    ctx->leaveCall();
  }
  if (ctx->device) {
    output.data = output.view = reserveOnDevice(ctx, output.block, bytes, declared.name);
  } else {
    if (!output.memory.reserve(bytes) && ctx->hasFailed(outOfMemory(declared.name, bytes)))
      ctx->leaveCall();
    output.data = output.view = output.memory.data();
  }
  output.dtype = declared.dtype;
  output.rank = rank;
  for (int32_t i = 0; i < rank; ++i)
    output.sizes[i] = sizes[i];
  output.present = true;
  return output.view;
}

void *moert_state(moert_context *ctx, int32_t index) {
  void *base = ctx->device ? ctx->stateBlock.base : ctx->stateMemory.data();
  return static_cast<char *>(base) + ctx->stateOffsets[index];
}

const void *moert_parameter(moert_context *ctx, int32_t index) {
  if (const void *view = ctx->parameters.view(index))
    return view;
  if (ctx->hasFailed(ctx->parameters.fetch(index)))
    ctx->leaveCall();
  return ctx->parameters.view(index);
}

const void *moert_constant(moert_context *ctx, const void *data, int64_t bytes) {
  if (!ctx->device)
    return data;
  std::vector<moert_context::Constant> &all = ctx->constants;
  auto found = std::find_if(all.begin(), all.end(), [&](const moert_context::Constant &each) {
    return each.data == data && each.bytes == bytes;
  });
  if (found == all.end())
    found = all.insert(found, {data, bytes, {}, false});
  if (!found->isThere) {
    const auto size = static_cast<uint64_t>(bytes);
    void *to = reserveOnDevice(ctx, found->block, size, "a constant");
    if (ctx->hasFailed(ctx->device->upload(to, data, size)))
      ctx->leaveCall();
    found->isThere = true;
  }
  return found->block.base;
}

void *moert_arena(moert_context *ctx, int64_t bytes) {
  if (ctx->device && bytes >= 0)
    return reserveOnDevice(ctx, ctx->arenaBlock, static_cast<uint64_t>(bytes), "scratch memory");
  if ((bytes < 0 || !ctx->arena.reserve(static_cast<size_t>(bytes))) &&
      ctx->hasFailed(outOfMemory("scratch memory", static_cast<uint64_t>(bytes))))
    ctx->leaveCall();
  return ctx->arena.data();
}

int64_t moert_blocks(moert_context *ctx) { return ctx->device ? ctx->device->blocks() : ctx->blocks; }

void moert_launch(moert_context *ctx, const moert_kernel *kernel, const void *args, int64_t blocks, int64_t rows,
                  int64_t work) {
  if (ctx->rehearses) {
    if (ctx->deviceRanks)
      ctx->deviceRanks->countLaunch(kernel);
    return;
  }
  if (ctx->device) {
    if (ctx->deviceRanks && ctx->hasFailed(ctx->deviceRanks->beforeLaunch(*ctx->program, kernel, args)))
      ctx->leaveCall();
    const DeviceCalls::Launch what{kernel->name, ctx->phase, blocks, rows, work};
    if (ctx->hasFailed(ctx->calls.launch(*ctx->device, *ctx->program, kernel, args, what, !!ctx->trace)))
      ctx->leaveCall();
    if (ctx->deviceRanks && ctx->hasFailed(ctx->deviceRanks->noteLaunch(kernel->name, ctx->phase)))
      ctx->leaveCall();
    return;
  }
  if (!ctx->trace) {
    ctx->pool.run(kernel->fn, args, blocks);
  } else {
    int64_t begin = now();
    ctx->trace->waits.launch = kernel->name;
    ctx->pool.run(kernel->fn, args, blocks);
    ctx->trace->waits.launch = nullptr;
    ctx->trace->launch(kernel->name, begin, now(), blocks, rows, work, ctx->phase);
  }
  ctx->checkRanks(kernel->name);
}

void moert_launch_group(moert_context *ctx, const moert_member *members, int32_t count) {
  if (ctx->rehearses)
    return;
  if (ctx->device && ctx->hasFailed(failure(kUnsupported, "a GPU runs no group of launches in this release")))
    ctx->leaveCall();
  int64_t begin = ctx->trace ? now() : 0;
  bool isOver = ctx->group.run(ctx->pool, members, count, ctx->job ? ctx->job->nanoseconds() : kArrivalPatience,
                               ctx->trace ? &ctx->trace->waits : nullptr);
  if (ctx->trace)
    ctx->trace->group(members, count, begin, now(), ctx->phase, ctx->group.spans);
  ctx->checkRanks();
  const Here &late = ctx->group.late();
  if (!isOver &&
      ctx->hasFailed(failure(kInternal, "a block of '%s', phase %lld, waited for arrivals that did not come%s%s",
                             late.kernel, static_cast<long long>(late.phase), ctx->phase ? ", in " : "",
                             ctx->phase ? ctx->phase : "")))
    ctx->leaveCall();
}

void moert_read(moert_context *ctx, void *to, const void *from, int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  if (ctx->rehearses && !ctx->readInput(to, from, size)) {
    // Nothing has computed it. One can be divided by, and is true.
    std::memset(to, 0, size);
    std::memset(to, 1, 1);
  }
  if (ctx->rehearses)
    return;
  if (!ctx->device) {
    std::memcpy(to, from, size);
    return;
  }
  if (ctx->hasFailed(DeviceCalls::read(*ctx->device, to, from, size)))
    ctx->leaveCall();
  // A lost rank explains a wrong value, so it is what the error says.
  if (ctx->deviceRanks && ctx->hasFailed(ctx->deviceRanks->look(ctx->program->entry)))
    ctx->leaveCall();
}

void moert_expert_load(moert_context *ctx, const char *layer, const int32_t *offsets, int32_t experts) {
  if (!ctx->load || ctx->rehearses)
    return;
  if (!ctx->device)
    ctx->load->add(layer, offsets, experts);
  else if (ctx->hasFailed(ctx->calls.expertLoad(*ctx->device, layer, offsets, experts)))
    ctx->leaveCall();
}

void moert_check(moert_context *ctx, int32_t holds, const char *message) {
  if (!holds && !ctx->rehearses && ctx->hasFailed(failure(kUserError, "%s", message)))
    ctx->leaveCall();
}

void moert_check_call(moert_context *ctx, int32_t holds, const char *message) {
  ctx->isRefused = !holds && !ctx->rehearses;
  moert_check(ctx, holds, message);
}

void moert_check_values(moert_context *ctx, int32_t holds, const char *message, int32_t count, const int64_t *values) {
  if (!holds && !ctx->rehearses && ctx->hasFailed(failure(kUserError, "%s", fillIn(message, count, values).c_str())))
    ctx->leaveCall();
}

int32_t moert_fail(moert_context *ctx, int32_t code, const char *message) {
  ctx->failure = failure(code, "%s", message);
  return code;
}

} // extern "C"

bool moert_context::readInput(void *to, const void *from, size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(from);
  for (const Tensor &input : inputs) {
    const auto begin = reinterpret_cast<uintptr_t>(input.view);
    uint64_t size = 0;
    tensorBytes(input.dtype, input.rank, input.sizes, size);
    if (deviceValues || at < begin || at - begin > size || size - (at - begin) < bytes)
      continue;
    std::memcpy(to, static_cast<const char *>(input.data) + (at - begin), bytes);
    return true;
  }
  return false;
}

void moert_context::checkRanks(const char *kernel) {
  if (!job)
    return;
  if (job->isDisturbed() && hasFailed(job->why(kernel)))
    leaveCall();
  job->setFlags({});
}

Status moert_context::runProgram() {
  failure.code = kFine;
  isRefused = false;
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

Status moert_context::run() {
  for (Tensor &output : outputs)
    output.present = false;
  return device ? runOnDevice() : runProgram();
}

Status moert_context::runOnDevice() {
  int64_t begin = trace ? now() : 0;
  calls.clear();
  if (deviceRanks)
    deviceRanks->beginCall();
  Status status;
  if (!deviceValues)
    status = calls.bring(*device, *program, inputs, /*copies=*/!rehearses);
  if (!status.failed())
    status = runProgram();
  if (deviceValues) {
    if (!status.failed() && deviceRanks)
      status = rehearses ? deviceRanks->reserveNotes() : deviceRanks->mirror();
    return status;
  }
  if (!status.failed() && deviceRanks)
    status = rehearses ? deviceRanks->reserveNotes() : deviceRanks->look(program->entry);
  if (!status.failed())
    status = calls.fetch(*device, *program, outputs, /*copies=*/!rehearses);
  else
    (void)device->finish(); // launches may still be reading the inputs; the first failure is the one to tell
  if (status.failed() || rehearses)
    return status;
  if (deviceRanks)
    for (const DeviceRanks::Sent &sent : deviceRanks->sent())
      countTraffic(sent.axis, deviceRanks->offsets(sent), sent.rows, sent.rowBytes, sent.fixedBytes, sent.phase);
  return calls.resolve(*device, begin, trace.get(), load.get());
}
