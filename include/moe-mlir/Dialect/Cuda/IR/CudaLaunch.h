//===- CudaLaunch.h - how a CUDA kernel is launched -----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDALAUNCH_H
#define MOE_MLIR_DIALECT_CUDA_IR_CUDALAUNCH_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace mlir::cuda {

/// A matrix that TMA moves boxes of: rows x columns elements, row-major, at the pointer in argument slot `slot`.
struct CudaMap {
  int64_t slot = 0;
  Type element;
  int64_t rows = 0; ///< or -(1 + s): the value of slot s
  int64_t columns = 0;
  int64_t boxRows = 0, boxColumns = 0;
  int64_t swizzle = 0; ///< bytes: 0, 32, 64 or 128
};

/// What some threads of a block do.
struct CudaRole {
  std::string name; ///< of letters and _
  int64_t threads = 0, registers = 0;
};

/// Stands in attributes of the kernel's function: `cuda.threads`, `cuda.shared`, `cuda.blocks_per_sm`, `cuda.maps`, and
/// `cuda.pipeline`, which no launch needs: it is for readers and reports.
struct CudaLaunch {
  int64_t threads = 0;     ///< of a block
  int64_t sharedBytes = 0; ///< of dynamic shared memory
  int64_t blocksPerSm = 1; ///< blocks that share a multiprocessor
  SmallVector<CudaMap> maps;
  int64_t stages = 0;          ///< steps of a product in shared memory; 0: it has none there
  SmallVector<CudaRole> roles; ///< of the threads, in their order; none: all do the same

  void setOn(Operation *function) const;
  /// From the attributes of `function`; emits an error if one is missing or no number that a GPU knows.
  static FailureOr<CudaLaunch> get(Operation *function);
};

} // namespace mlir::cuda

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDALAUNCH_H
