//===- Context.h - what a running program sees --------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_CONTEXT_H
#define MOERT_LIB_CORE_CONTEXT_H

#include "comm/Job.h"
#include "core/DeviceCalls.h"
#include "core/DeviceRanks.h"
#include "core/ExpertLoad.h"
#include "core/Inputs.h"
#include "core/Parameters.h"
#include "core/RankValues.h"
#include "core/Trace.h"
#include "cpu/GroupLaunch.h"

#include <csetjmp>
#include <memory>

/// The state of one session. moert.h's functions work on it; nothing in here is allocated by a call that repeats.
struct moert_context {
  const moert_program *program = nullptr;
  moert::Pool pool;
  moert::GroupLaunch group;
  int32_t blocks = 1;                    // of a launch on the CPU, unless the program wants others
  std::unique_ptr<moert::Device> device; // null: the program runs on the CPU
  bool deviceValues = false;             // inputs and outputs are the device's, and a run does not wait
  moert::DeviceCalls calls;
  std::unique_ptr<moert::Job> job; // null: the program has no axes
  std::unique_ptr<moert::DeviceRanks> deviceRanks; // null: no ranks, or none on a device
  moert::RankValues rankValues;
  std::vector<std::vector<int64_t>> traffic; // bytes sent, by axis and by rank on it
  bool rehearses = false;                    // launches are left out: only memory is asked for
  const char *phase = nullptr;               // what the launches are for; null: the program did not say
  moert::Parameters parameters;
  std::vector<moert::Tensor> inputs, outputs;
  std::vector<int64_t> symbols; // sizes of the inputs as the program sees them: of a rank's parts
  std::vector<int64_t> given;   // the same as the caller gave them, before ranks divide them

  // One block for all states, here or on the device, and `symbols` and `given` of the call that made it.
  moert::Memory stateMemory;
  moert::DeviceBlock stateBlock;
  size_t stateBytes = 0;
  std::vector<size_t> stateOffsets;
  std::vector<int64_t> stateSymbols, stateGiven;
  bool statesLive = false;

  struct Constant {
    const void *data; // in the program; with the size, as one without elements may share its place
    int64_t bytes;
    moert::DeviceBlock block;
    bool isThere;
  };
  std::vector<Constant> constants; // that the device has, or should have

  moert::Memory arena;
  moert::DeviceBlock arenaBlock;
  std::unique_ptr<moert::Trace> trace;
  std::unique_ptr<moert::ExpertLoad> load;

  // Left by moert_fail, or by a function that cannot return an error, through `leave`.
  moert::Status failure;
  jmp_buf leave;
  bool isRefused = false; // the last run, by all ranks alike, before it did anything

  /// Whether `status` is a failure, which then becomes the call's. To be asked in a condition: nothing that owns memory
  /// may be alive when the call is left.
  bool hasFailed(moert::Status status);
  /// Ends the call from a function that has no way to return an error. A compiled program owns nothing that would have
  /// to be freed on the way out, so leaving its frames behind is safe.
  [[noreturn]] void leaveCall() { longjmp(leave, 1); }

  /// Whether the present states fit what the caller gave. Parts do not tell: of two rows and of three a rank may have
  /// one. Ranks that were given the same find the same.
  moert::Status checkStates() const;
  /// Makes states for the current symbols, or checks that the present ones fit.
  moert::Status prepareStates();
  /// Zeroes the states; the next call may have other sizes.
  void resetStates();
  /// Runs the program once; inputs are bound and checked.
  moert::Status run();
  uint64_t arenaBytes() const { return device ? arenaBlock.size : arena.capacity(); }

  /// Copies what lies in an input on the device from where the caller has it; false if it lies elsewhere.
  bool readInput(void *to, const void *from, size_t bytes) const;
  /// Ends the call if a rank is lost. Behind a launch of `kernel`, or of a group.
  void checkRanks(const char *kernel = nullptr);
  /// Counts what this rank has sent on an axis, and traces it. `offsets` may be null.
  void countTraffic(int32_t axis, const int32_t *offsets, int64_t rows, int64_t rowBytes, int64_t fixedBytes,
                    const char *what);

private:
  moert::Status runProgram();
  moert::Status runOnDevice();
  moert::Status compareStates(const std::vector<int64_t> &held, const std::vector<int64_t> &now) const;
};

#endif // MOERT_LIB_CORE_CONTEXT_H
