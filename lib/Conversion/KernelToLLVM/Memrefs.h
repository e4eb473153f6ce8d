//===- Memrefs.h - memrefs from addresses, and back ---------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_MEMREFS_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_MEMREFS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/Builders.h"

namespace mlir::kernel {

/// A contiguous memref of type `type` over `data`, with values (i64) for its dynamic sizes.
Value makeMemref(OpBuilder &b, Location loc, const LLVMTypeConverter &converter, MemRefType type, Value data,
                 ValueRange dynamicSizes);

/// The address of the first element of a contiguous memref.
Value addressOf(OpBuilder &b, Location loc, const LLVMTypeConverter &converter, Value memref);

/// `value` as one of `type`, which the conversion to LLVM gives it; itself if it has that type.
Value castTo(OpBuilder &b, Location loc, Value value, Type type);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_MEMREFS_H
