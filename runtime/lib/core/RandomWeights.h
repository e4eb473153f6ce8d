//===- RandomWeights.h - weights made on the spot -----------------------------------------------------------------===//
//
// For measurements and smoke tests without an archive. Floating-point elements are uniform over the 256 multiples of
// 1/2048 in [-1/16, 1/16), which every type of the runtime holds exactly; integers and booleans are zero. Byte b of
// word w of the array with key K is byte b of mix(seed, K, w): it depends on nothing else, and so neither on the
// machine nor on the order in which arrays are made.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_RANDOMWEIGHTS_H
#define MOERT_LIB_CORE_RANDOMWEIGHTS_H

#include <cstdint>

namespace moert {

/// Fills an array of `bytes` bytes of type `dtype`, or that part of one which begins `skipped` bytes behind its
/// beginning.
void fillRandom(uint64_t seed, const char *key, int32_t dtype, void *data, uint64_t bytes, uint64_t skipped = 0);

} // namespace moert

#endif // MOERT_LIB_CORE_RANDOMWEIGHTS_H
