//===- layout.cuh - where the elements of tiles and fragments lie -------------------------------------------------===//
//
// Pure arithmetic, the same text for the GPU and for the emulation.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

MOE_DEVICE constexpr int ceilDiv(int a, int b) { return (a + b - 1) / b; }

/// Where byte `a` of a tile with rows of `width` bytes (32, 64 or 128) lies under the swizzle of that width. The
/// exclusive-or works on addresses of the shared window, so a tile starts at a multiple of 8 * width.
MOE_DEVICE constexpr SharedAddress swizzle(SharedAddress a, int width) {
  return a ^ ((a >> 7) & uint32_t(width / 16 - 1)) << 4;
}

/// Descriptor of a K-major wgmma operand whose rows are `width` bytes and swizzled by that width (32, 64 or 128). Bits
/// 0-13 start / 16, 16-29 leading offset / 16 (not used by swizzled operands), 32-45 distance of groups of 8 rows / 16,
/// 62-63 swizzle.
MOE_DEVICE constexpr uint64_t matrixDescriptor(SharedAddress start, int width) {
  const uint64_t mode = width == 128 ? 1 : width == 64 ? 2 : 3;
  return uint64_t((start & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(8 * width >> 4) << 32 | mode << 62;
}

/// The same operand, `bytes` further along K, inside its rows.
MOE_DEVICE constexpr uint64_t advanceK(uint64_t descriptor, int bytes) { return descriptor + uint64_t(bytes >> 4); }

/// Row and column, in a tile of 64 rows, of accumulator `i` of a thread of a warpgroup. Accumulators i and i + 1 (i
/// even) are neighbours in a row.
MOE_DEVICE constexpr int fragmentRow(int thread, int i) {
  return thread % 128 / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
}
MOE_DEVICE constexpr int fragmentColumn(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }

} // namespace moe
