//===- CInterface.cpp - the emulated GPU for C and ctypes ---------------------------------------------------------===//

#include "../device/prelude.cuh"
#include "Launch.h"
#include "moe_emulation.h"

#include <cstdio>

using namespace moe::emulation;

static int report(const std::string &text, char *message, size_t size) {
  if (size)
    snprintf(message, size, "%s", text.c_str());
  return !text.empty();
}

static Options optionsOf(const moe_emulation_options *options) {
  Options o;
  o.blocks = options->blocks;
  o.threads = options->threads;
  o.sharedBytes = options->shared_bytes;
  o.seed = options->seed;
  o.timing = options->timing == MOE_EMULATION_EAGER  ? Timing::Eager
             : options->timing == MOE_EMULATION_LAZY ? Timing::Lazy
                                                     : Timing::Random;
  o.skewed = options->skewed;
  o.strict = options->strict;
  if (options->resident_blocks)
    o.residentBlocks = options->resident_blocks;
  o.firstBlocks = options->first_blocks;
  return o;
}

#pragma GCC visibility push(default)

int moe_emulation_launch(moe_emulation_kernel kernel, void *const *args, const moe_emulation_options *options,
                         char *message, size_t size) {
  return report(launch(optionsOf(options), [=] { kernel(args); }).fault, message, size);
}

int moe_emulation_launch_beside(moe_emulation_kernel kernel, void *const *args, const moe_emulation_options *options,
                                void (*pause)(void), char *message, size_t size) {
  Options beside = optionsOf(options);
  beside.pause = pause;
  return report(launch(beside, [=] { kernel(args); }).fault, message, size);
}

int moe_emulation_launch_ranks(const moe_emulation_step *steps, size_t count, int32_t ranks,
                               const moe_emulation_options *schedule, char *message, size_t size) {
  std::vector<std::vector<Launch>> launches(ranks);
  for (size_t i = 0; i < count; ++i) {
    const moe_emulation_step &step = steps[i];
    launches.at(step.rank).push_back(
        {optionsOf(&step.options), [kernel = step.kernel, args = step.args] { kernel(args); }, step.name});
  }
  return report(launchRanks(optionsOf(schedule), launches).fault, message, size);
}

void moe_emulation_register(const void *base, size_t bytes, const char *name, int access) {
  registerGlobal(base, bytes, name, access != 0, access == 2);
}
void moe_emulation_clear(void) { clearGlobals(); }

int moe_emulation_encode_tile_2d(void *map, const void *base, uint32_t element_bytes, uint64_t width, uint64_t height,
                                 uint64_t row_bytes, uint32_t box_width, uint32_t box_height, uint32_t swizzle,
                                 char *message, size_t size) {
  const std::string fault = encodeTile2d(*static_cast<CUtensorMap *>(map), base, element_bytes, width, height,
                                         row_bytes, box_width, box_height, swizzle);
  return report(fault, message, size);
}

#pragma GCC visibility pop
