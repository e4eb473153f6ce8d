//===- grid.cuh - a launch among multiprocessors and other launches -----------------------------------------------===//
#pragma once

namespace moe {

/// Number of the multiprocessor that the thread runs on.
MOE_DEVICE int multiprocessor() {
  uint32_t number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return int(number);
}

/// For launches that may begin before the one before them has ended (programmatic dependent launch). The next launch
/// may begin when every block has called this or ended; it says nothing about what the blocks have written.
MOE_DEVICE void allowDependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

/// Until the launches before this one have ended and what they wrote is visible.
MOE_DEVICE void waitPredecessors() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

} // namespace moe
