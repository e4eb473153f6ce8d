//===- FixedStrides.h - memrefs that are parts of larger ones -------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_FIXEDSTRIDES_H
#define MOE_MLIR_SUPPORT_FIXEDSTRIDES_H

#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace moe_mlir {

/// The strides of a memref that begins at its address, has its elements in row-major order, with gaps between them or
/// without, and whose sizes and strides are numbers. Nothing of any other.
inline std::optional<llvm::SmallVector<int64_t>> fixedStrides(mlir::MemRefType type) {
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0, inner = 1;
  if (!type.hasStaticShape() || mlir::failed(type.getStridesAndOffset(strides, offset)) || offset != 0)
    return std::nullopt;
  if (type.getNumElements() == 0 && type.getLayout().isIdentity())
    return strides; // some are 0
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    if (mlir::ShapedType::isDynamic(strides[d]) || strides[d] < inner)
      return std::nullopt;
    inner = strides[d] * std::max<int64_t>(type.getDimSize(d), 1);
  }
  if (!strides.empty() && strides.back() != 1)
    return std::nullopt;
  return strides;
}

/// Whether the elements of a memref stand without gaps from dimension `dim` on.
inline bool isContiguousFrom(mlir::MemRefType type, int64_t dim) {
  if (type.getLayout().isIdentity())
    return true;
  std::optional<llvm::SmallVector<int64_t>> strides = fixedStrides(type);
  int64_t size = 1;
  for (int64_t d = type.getRank() - 1; strides && d >= dim; --d) {
    if ((*strides)[d] != size)
      return false;
    size *= type.getDimSize(d);
  }
  return strides.has_value();
}

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_FIXEDSTRIDES_H
