//===- CpuTarget.h - traits of the CPU that kernels are made for --------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_CPUTARGET_H
#define MOE_MLIR_DIALECT_KERNEL_IR_CPUTARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace mlir::kernel {

/// What kernels need to know about the CPU. Stands in the module attribute `kernel.target`, so that a dumped module
/// compiles for the same CPU again:
///
///   kernel.target = {columns = 64 : i64, cpu = "znver4", dot_bf16, features = "", rows = 6 : i64, vector = 16 : i64}
struct CpuTarget {
  static constexpr llvm::StringLiteral attrName = "kernel.target";
  static constexpr int64_t maxMatrixRows = 32; ///< two matrix registers of 16 rows below each other

  int64_t rows = 6;     ///< rows of a register tile
  int64_t columns = 16; ///< columns of a register tile
  int64_t vector = 8;   ///< f32 elements of a vector register
  bool dotBf16 = false; ///< has a dot product of bf16 pairs (AVX512-BF16)
  /// Rows of a product of bf16 pairs on matrix registers (AMX-BF16), 0 without them.
  int64_t matrixRows = 0;
  /// Bytes that a stream of weights is fetched ahead of its use, 0 to leave that to the hardware.
  int64_t streamAhead = 0;
  std::string cpu;      ///< LLVM's name of the CPU
  std::string features; ///< LLVM's feature string beyond what `cpu` implies ("+avx2,-avx512f", often empty)

  /// LLVM's names of all features that the CPU has.
  llvm::StringSet<> featureSet() const;

  DictionaryAttr toAttr(MLIRContext *context) const;

  /// The traits in `attr`; emits an error at `loc` when a field is missing or out of range.
  static FailureOr<CpuTarget> fromAttr(Location loc, Attribute attr);

  /// The traits of `module`; emits an error if it carries none.
  static FailureOr<CpuTarget> get(ModuleOp module);

  /// Whether `name` is "native" or LLVM knows it as a 64-bit CPU.
  static bool isKnown(llvm::StringRef name);

  /// The traits of the CPU that LLVM calls `name`; "native" is the machine this runs on. On failure returns a message
  /// in `error`: the name is unknown, or the CPU lacks AVX2 and FMA.
  static FailureOr<CpuTarget> forCpu(StringRef name, std::string &error);
};

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_IR_CPUTARGET_H
