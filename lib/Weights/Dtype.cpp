//===- Dtype.cpp - element types of weights -----------------------------------------------------------------------===//

#include "moe-mlir/Weights/Dtype.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

#include "moert/archive.h"

#include <cstring>

using namespace llvm;
using namespace moe_mlir;

std::optional<moert_dtype> moe_mlir::dtypeOf(mlir::Type type) {
  if (type.isF32())
    return MOERT_F32;
  if (type.isBF16())
    return MOERT_BF16;
  if (type.isF16())
    return MOERT_F16;
  if (type.isF64())
    return MOERT_F64;
  if (type.isUnsignedInteger(8))
    return MOERT_U8;
  if (!type.isSignlessInteger())
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return MOERT_I64;
  case 32:
    return MOERT_I32;
  case 16:
    return MOERT_I16;
  case 8:
    return MOERT_I8;
  case 1:
    return MOERT_BOOL;
  default:
    return std::nullopt;
  }
}

StringRef moe_mlir::dtypeName(moert_dtype dtype) {
  static constexpr StringRef names[] = {"f32", "bf16", "f16", "f64", "i64", "i32", "i16", "i8", "ui8", "i1"};
  return names[dtype];
}

static const fltSemantics *semantics(moert_dtype dtype) {
  switch (dtype) {
  case MOERT_F32:
    return &APFloat::IEEEsingle();
  case MOERT_BF16:
    return &APFloat::BFloat();
  case MOERT_F16:
    return &APFloat::IEEEhalf();
  case MOERT_F64:
    return &APFloat::IEEEdouble();
  default:
    return nullptr;
  }
}

bool moe_mlir::isConvertible(moert_dtype from, moert_dtype to) {
  return from == to || (semantics(from) && semantics(to));
}

/// The two conversions that checkpoints need are written as loops that vectorise.
static void widenBf16(const char *from, char *to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, from + 2 * i, 2);
    uint32_t word = static_cast<uint32_t>(half) << 16;
    std::memcpy(to + 4 * i, &word, 4);
  }
}

static void narrowToBf16(const char *from, char *to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t word;
    std::memcpy(&word, from + 4 * i, 4);
    uint32_t rounded = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
    // Rounding must not turn a NaN into an infinity; it stays a quiet NaN.
    bool nan = (word & 0x7fffffff) > 0x7f800000;
    uint16_t half = static_cast<uint16_t>(nan ? (word >> 16) | 0x40 : rounded);
    std::memcpy(to + 2 * i, &half, 2);
  }
}

static void convertSlowly(moert_dtype fromType, const char *from, moert_dtype toType, char *to, size_t count) {
  uint64_t fromSize = moert::dtypeSize(fromType), toSize = moert::dtypeSize(toType);
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, from + i * fromSize, fromSize);
    APFloat value(*semantics(fromType), APInt(static_cast<unsigned>(fromSize * 8), bits));
    bool losesInfo;
    value.convert(*semantics(toType), APFloat::rmNearestTiesToEven, &losesInfo);
    bits = value.bitcastToAPInt().getZExtValue();
    std::memcpy(to + i * toSize, &bits, toSize);
  }
}

bool moe_mlir::convertElements(moert_dtype fromType, const char *from, moert_dtype toType, char *to, size_t count) {
  if (!isConvertible(fromType, toType))
    return false;
  if (fromType == toType)
    std::memcpy(to, from, count * moert::dtypeSize(fromType));
  else if (fromType == MOERT_BF16 && toType == MOERT_F32)
    widenBf16(from, to, count);
  else if (fromType == MOERT_F32 && toType == MOERT_BF16)
    narrowToBf16(from, to, count);
  else
    convertSlowly(fromType, from, toType, to, count);
  return true;
}
