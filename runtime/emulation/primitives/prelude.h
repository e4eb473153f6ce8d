//===- prelude.h - what CUDA C++ has and the host compiler lacks --------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_PRELUDE_H
#define MOE_EMULATION_PRIMITIVES_PRELUDE_H

#include "../Machine.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict

#define MOE_DEVICE [[maybe_unused]] static inline
#define MOE_MEMBER
#define MOE_CALLER , ::moe::emulation::Where where = ::moe::emulation::Where::current()
#define MOE_FROM_CALLER , where
#define MOE_ONLY_CALLER ::moe::emulation::Where where = ::moe::emulation::Where::current()
#define MOE_ONLY_FROM_CALLER where
#define MOE_AWAITS(flag, want, peer) ::moe::emulation::awaits({flag, want, peer})

struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};

namespace moe {
using emulation::Where;
} // namespace moe

#endif
