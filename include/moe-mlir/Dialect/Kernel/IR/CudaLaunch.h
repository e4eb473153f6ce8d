//===- CudaLaunch.h - how a CUDA kernel is launched -----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_CUDALAUNCH_H
#define MOE_MLIR_DIALECT_KERNEL_IR_CUDALAUNCH_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::kernel {

/// A matrix that TMA moves boxes of: rows x columns elements, row-major, at the pointer in argument slot `slot`.
struct CudaMap {
  int64_t slot = 0;
  Type element;
  int64_t rows = 0; ///< or -(1 + s): the value of slot s
  int64_t columns = 0;
  int64_t boxRows = 0, boxColumns = 0;
  int64_t swizzle = 0; ///< bytes: 0, 32, 64 or 128
};

/// Stands in attributes of the kernel's function: `cuda.threads`, `cuda.shared`, `cuda.blocks_per_sm`, `cuda.maps`.
struct CudaLaunch {
  int64_t threads = 256;   ///< of a block
  int64_t sharedBytes = 0; ///< of dynamic shared memory
  int64_t blocksPerSm = 4; ///< blocks that share a multiprocessor
  SmallVector<CudaMap> maps;

  void setOn(Operation *function) const;
  /// From the attributes of `function`; emits an error if one is missing or no number that a GPU knows.
  static FailureOr<CudaLaunch> get(Operation *function);
};

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_IR_CUDALAUNCH_H
