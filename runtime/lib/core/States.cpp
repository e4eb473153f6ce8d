//===- States.cpp - values that programs keep between calls -------------------------------------------------------===//

#include "core/Context.h"

using namespace moert;

Status moert_context::compareStates(const std::vector<int64_t> &held, const std::vector<int64_t> &now) const {
  for (int32_t i = 0; i < program->state_count; ++i)
    for (int32_t d = 0; d < program->states[i].rank; ++d) {
      int64_t size = program->states[i].sizes[d];
      if (size < 0 && resolveSize(size, now) != resolveSize(size, held))
        return moert::failure(kUserError, "the states hold %s = %lld, this call has %lld (reset the states first)",
                              program->symbols[-(size + 1)], static_cast<long long>(resolveSize(size, held)),
                              static_cast<long long>(resolveSize(size, now)));
    }
  return {};
}

Status moert_context::checkStates() const { return statesLive ? compareStates(stateGiven, given) : Status(); }

Status moert_context::prepareStates() {
  if (program->state_count == 0)
    return {};
  if (statesLive)
    return compareStates(stateSymbols, symbols);
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
  if (device) {
    if (Status s = device->reserve(stateBlock, total, "states"); s.failed())
      return s;
    if (Status s = device->zero(stateBlock.base, total); s.failed())
      return s;
  } else if (!stateMemory.reserve(total)) {
    // Fresh memory is zero, and so is what resetStates() left.
    return moert::failure(kUserError, "out of memory: the states need %llu bytes",
                          static_cast<unsigned long long>(total));
  }
  stateBytes = total;
  stateSymbols = symbols;
  stateGiven = given;
  statesLive = true;
  return {};
}

void moert_context::resetStates() {
  // Now rather than at the next call, whose time somebody may be waiting for. Giving the pages back instead would make
  // the next call fault them in again, which costs more than writing them. A device zeroes at memory speed, in order.
  if (statesLive && !device)
    std::memset(stateMemory.data(), 0, stateBytes);
  statesLive = false;
}
