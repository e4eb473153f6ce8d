//===- CudaTarget.h - traits of the GPU that kernels are made for ---------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_CUDATARGET_H
#define MOE_MLIR_DIALECT_KERNEL_IR_CUDATARGET_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::kernel {

/// What kernels need to know about the GPU. Stands in the module attribute `kernel.target`:
///
///   kernel.target = {columns = 256 : i64, cuda = "sm_90a", depth = 64 : i64, rows = 128 : i64, stages = 8 : i64}
struct CudaTarget {
  std::string arch;      ///< as NVRTC calls it
  int64_t rows = 128;    ///< rows of a tile: 64 for each of the two computing warpgroups
  int64_t columns = 256; ///< columns of a tile and of a weight block, at most
  int64_t depth = 64;    ///< elements of 16 bits of a step: one row of 128 bytes in shared memory
  int64_t stages = 8;    ///< steps whose operands are in shared memory at a time, at most

  DictionaryAttr toAttr(MLIRContext *context) const;
  /// Whether `attr` describes a GPU.
  static bool isCuda(Attribute attr);
  /// The traits in `attr`; emits an error at `loc` when a field is missing or is not what the kernels are written for.
  static FailureOr<CudaTarget> fromAttr(Location loc, Attribute attr);
  /// The traits of "sm_90a"; on failure a message in `error`.
  static FailureOr<CudaTarget> forArch(StringRef arch, std::string &error);
};

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_IR_CUDATARGET_H
