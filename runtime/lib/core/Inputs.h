//===- Inputs.h - checks of a call's inputs against the program ---------------------------------------------------===//
#ifndef MOERT_LIB_CORE_INPUTS_H
#define MOERT_LIB_CORE_INPUTS_H

#include "core/Device.h"
#include "core/Memory.h"
#include "core/Program.h"

namespace moert {

/// A greatest element of this or more bounds nothing: programs say so of what only must not be negative.
constexpr int64_t kUnbounded = int64_t(1) << 62;

/// A value of the current call. `data` is row-major and contiguous.
struct Tensor {
  int32_t dtype = 0;
  int32_t rank = 0;
  int64_t sizes[MOERT_MAX_RANK] = {};
  void *data = nullptr; // as the session's caller sees it
  void *view = nullptr; // as the program sees it: the same, or a copy on the device
  bool present = false; // inputs: given for this call; outputs: asked for by the program
  Memory memory;        // used by outputs, and by inputs that have to be copied
  Memory whole;         // of an output that the ranks of a job have parts of
  DeviceBlock block;    // behind the view, if it is a copy
  DeviceBlock locked;   // in place of `memory`, of an output of a device: memory of the host that belongs to it
};

/// Checks dtype, rank, fixed sizes and ranges of sizes of a value that is offered for an input, or, of one that ranks
/// divide, for a rank's part of it.
Status checkType(const moert_program &program, const moert_value &declared, int32_t dtype, int32_t rank,
                 const int64_t *sizes, bool isPart = false);

/// Gives the symbols of input `index` the sizes that it has; those that have one already must agree. -1: has none yet.
Status bindSizes(const moert_program &program, int32_t index, const Tensor &input, std::vector<int64_t> &symbols);

/// Checks the elements of input `index`, if it holds integers: bounds, bounds together with a symbol, equality. All
/// symbols have their sizes.
Status checkElements(const moert_program &program, int32_t index, const Tensor &input,
                     const std::vector<int64_t> &symbols);

} // namespace moert

#endif // MOERT_LIB_CORE_INPUTS_H
