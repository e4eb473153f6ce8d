//===- prelude.cuh - types that NVRTC does not bring along --------------------------------------------------------===//
#pragma once

#if defined(MOE_EMULATION)
#include "../emulation/primitives/prelude.h"
#else
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif

/// A function of the device library.
#define MOE_DEVICE static __device__ __forceinline__
#define MOE_MEMBER __device__ __forceinline__
/// Last parameter of a library function that waits, and how it hands it on: the emulation names the caller's line.
#define MOE_CALLER
#define MOE_FROM_CALLER
#define MOE_ONLY_CALLER
#define MOE_ONLY_FROM_CALLER
/// A wait for a flag that rank `peer` raises begins, or ends (null): the emulation names it where nothing goes on.
#define MOE_AWAITS(flag, want, peer)
#endif

/// A tensor map as the driver encodes it.
struct alignas(64) CUtensorMap {
  uint64_t opaque[16];
};

namespace moe {

/// Address in the shared window of a block. There are no C++ pointers to shared memory.
using SharedAddress = uint32_t;

/// Storage types: computing happens in float (toFloat, fromFloat).
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

} // namespace moe
