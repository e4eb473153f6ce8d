//===- AmxBuilder.h - instructions of matrix registers ------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_AMXBUILDER_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_AMXBUILDER_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::kernel {

/// Emits AMX instructions into a kernel. A matrix register has 16 rows of 64 bytes: 16 x 32 bf16 of `a`, 16 pairs of k
/// by 16 columns of `b`, or 16 x 16 sums in f32. Registers are named by number (0 to 7), as the instructions do:
///
///   sums 0 to 3    rows below each other 4 and 5    columns beside each other 6 and 7
///
/// The builder's position moves from call to call; memory of the function is allocated at its entry.
class AmxBuilder {
public:
  static constexpr int64_t rows = 16, columns = 16, depth = 32;

  AmxBuilder(OpBuilder &b, Location loc, FuncOp func) : b(b), loc(loc), func(func) {}

  /// Memory of the function.
  Value allocate(MemRefType type);

  /// At the function's entry: a configuration in which all registers have 64 bytes per row. At its end: the registers
  /// are given back, so that the system need not save them.
  void begin();

  /// Gives sums 0 and 1 and rows 4 `upper` rows, sums 2 and 3 and rows 5 `lower` rows, all values of type index in
  /// 1..16; nothing if they have them already. Clears all registers if they have not.
  void setRows(Value upper, Value lower);

  void zero(int64_t reg) { call("llvm.x86.tilezero", {number(reg)}); }
  /// Loads from or stores to memory at `address` (an i64), with rows `stride` bytes (i64) apart.
  void load(int64_t reg, Value address, Value stride) { move("llvm.x86.tileloadd64", reg, address, stride); }
  void store(int64_t reg, Value address, Value stride) { move("llvm.x86.tilestored64", reg, address, stride); }
  /// Fetches the cache line at `address` into the cache of level 1 or 2. The address need not exist.
  void fetch(Value address, int level);
  /// sums += a * b for bf16 pairs.
  void multiply(int64_t sums, int64_t a, int64_t b) {
    call("llvm.x86.tdpbf16ps", {number(sums), number(a), number(b)});
  }

  /// The address (an i64) of an element of a contiguous memref.
  Value addressOf(Value memref, ValueRange indices);
  Value i64(int64_t value);

private:
  Value number(int64_t reg);
  void call(StringRef intrinsic, ValueRange operands);
  void move(StringRef intrinsic, int64_t reg, Value address, Value stride);

  OpBuilder &b;
  Location loc;
  FuncOp func;
  Value config, current; ///< the configuration in memory; the rows that the registers have
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_AMXBUILDER_H
