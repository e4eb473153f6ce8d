//===- TensorMap.cpp - tensor maps as the emulation encodes them --------------------------------------------------===//

#include "TensorMap.h"

#include "../device/prelude.cuh"
#include "State.h"

#include <cstring>

namespace moe::emulation {

static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

std::string encodeTile2d(CUtensorMap &map, const void *base, uint32_t elementBytes, uint64_t width, uint64_t height,
                         uint64_t rowBytes, uint32_t boxWidth, uint32_t boxHeight, uint32_t swizzle) {
  const uint64_t boxRow = uint64_t(boxWidth) * elementBytes;
  if (elementBytes != 1 && elementBytes != 2 && elementBytes != 4 && elementBytes != 8)
    return "tensor map: elements have 1, 2, 4 or 8 bytes";
  if (reinterpret_cast<uintptr_t>(base) % 16)
    return "tensor map: the base must be 16-byte aligned";
  if (rowBytes % 16 || rowBytes >= uint64_t(1) << 40 || rowBytes < width * elementBytes)
    return "tensor map: the row stride must be a multiple of 16 bytes and hold a row";
  if (width < 1 || height < 1 || width > uint64_t(1) << 32 || height > uint64_t(1) << 32)
    return "tensor map: extents are 1 to 2^32";
  if (boxWidth < 1 || boxWidth > 256 || boxHeight < 1 || boxHeight > 256)
    return "tensor map: extents of the box are 1 to 256";
  if (boxRow % 16)
    return "tensor map: a row of the box must be a multiple of 16 bytes";
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return "tensor map: the swizzle is 0, 32, 64 or 128 bytes";
  // The hardware allows narrower boxes. Kernels do not use them, and a narrower one is most likely a mistake.
  if (swizzle && boxRow != swizzle)
    return "tensor map: a row of the box must be as wide as the swizzle";
  const TensorMap encoded{TensorMap::kMagic,
                          const_cast<unsigned char *>(static_cast<const unsigned char *>(base)),
                          width,
                          height,
                          rowBytes,
                          boxWidth,
                          boxHeight,
                          elementBytes,
                          swizzle};
  memset(&map, 0, sizeof map);
  memcpy(&map, &encoded, sizeof encoded);
  return "";
}

TensorMap readTensorMap(const CUtensorMap *map, Where where) {
  TensorMap encoded;
  memcpy(&encoded, map, sizeof encoded);
  if (reinterpret_cast<uintptr_t>(map) % 64)
    fail("the tensor map is not 64-byte aligned", where);
  if (encoded.magic != TensorMap::kMagic)
    fail("not a tensor map", where);
  return encoded;
}

void requireBox(const TensorMap &map, uint32_t address, const char *what, Where where) {
  requireShared(address, map.boxBytes(), what, where);
  if (address % map.alignment())
    fail(std::string(what) + ": " + hex(address) + " is not aligned to " + std::to_string(map.alignment()) + " bytes",
         where);
}

} // namespace moe::emulation
