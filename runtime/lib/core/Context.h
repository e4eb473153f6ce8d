//===- Context.h - what a running program sees --------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_CONTEXT_H
#define MOERT_LIB_CORE_CONTEXT_H

#include "core/ExpertLoad.h"
#include "core/Inputs.h"
#include "core/Trace.h"
#include "cpu/Pool.h"

#include <csetjmp>
#include <memory>

/// The state of one session. moert.h's functions work on it; nothing in here is allocated by a call that repeats.
struct moert_context {
  const moert_program *program = nullptr;
  moert::Pool pool;
  std::vector<const void *> parameters;
  std::vector<moert::Tensor> inputs, outputs;
  std::vector<int64_t> symbols;

  // One block for all states. `stateSymbols`: the symbols' sizes when it was made, empty without states.
  moert::Memory stateMemory;
  size_t stateBytes = 0;
  std::vector<size_t> stateOffsets;
  std::vector<int64_t> stateSymbols;
  bool statesLive = false;

  moert::Memory arena;
  std::unique_ptr<moert::Trace> trace;
  std::unique_ptr<moert::ExpertLoad> load;

  // Left by moert_fail, or by a function that cannot return an error, through `leave`.
  moert::Status failure;
  jmp_buf leave;

  /// Makes states for the current symbols, or checks that the present ones fit.
  moert::Status prepareStates();
  /// Zeroes the states; the next call may have other sizes.
  void resetStates();
  /// Runs the program once; inputs are bound and checked.
  moert::Status run();
};

#endif // MOERT_LIB_CORE_CONTEXT_H
