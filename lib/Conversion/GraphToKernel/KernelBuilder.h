//===- KernelBuilder.h - construction and sharing of block programs ------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_KERNELBUILDER_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_KERNELBUILDER_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

#include <unordered_map>

namespace mlir::kernel {

/// The kernels of a module, by the name they asked for.
class KernelTable {
public:
  explicit KernelTable(ModuleOp module) : symbols(module) {}

  /// Puts `func` (detached) into the module and returns it, or an equal one that is there already (`func` is erased
  /// then). Different kernels that ask for the same name are numbered.
  FuncOp share(FuncOp func);

private:
  SymbolTable symbols;
  /// Kernels that asked for a name: how many, and by their content, so that a new one is compared with few.
  struct Variants {
    unsigned count = 0;
    DenseMap<llvm::hash_code, SmallVector<FuncOp, 1>> byContent;
  };
  llvm::StringMap<Variants> variants;
};

/// Builds one kernel. Host values that the kernel needs become its arguments by `arg`; `launch` finishes it.
/// The arithmetic helpers fold constants, so that a kernel's text shows no 0 + x.
class KernelBuilder : public ImplicitLocOpBuilder {
public:
  using Body = llvm::function_ref<void()>;
  using Loop = llvm::function_ref<void(Value)>;
  using Loops = llvm::function_ref<void(ValueRange)>;
  using Reduction = llvm::function_ref<SmallVector<Value>(Value, ValueRange)>;

  KernelBuilder(KernelTable &table, Location loc);
  ~KernelBuilder();

  /// The kernel's argument for the host value `value`; constants are repeated in the kernel instead.
  Value arg(Value value);

  /// The same for a size.
  Value indexArg(OpFoldResult size);

  // Index arithmetic.
  Value idx(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value rem(Value a, Value b);
  Value ceilDiv(Value a, int64_t b);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value toIndex(Value integer);
  Value toI32(Value index);
  /// Size of dimension `dim` of a memref.
  Value dim(Value memref, int64_t dim);

  // Floating point. Programs compute in f32 and round once.
  Value f32(double value);
  Value toF32(Value value);
  /// Rounds (or extends) a float to `type`.
  Value convert(Value value, Type type);
  /// a + b where the order of a reduction may change, so that it vectorises.
  Value reduceAdd(Value a, Value b);

  Value load(Value memref, ValueRange indices = {});
  void store(Value value, Value memref, ValueRange indices = {});

  /// scf.forall over [0, sizes).
  scf::ForallOp forall(ArrayRef<Value> sizes, Loops body);
  /// Inside a forall: scf.parallel over [lower, upper), which the warps of a block share; they meet after it.
  void parallel(Value lower, Value upper, Loop body);
  /// `body` for each of `count` elements, in chunks that the blocks share.
  void forallElements(Value count, Loop body);
  void loop(Value lower, Value upper, int64_t step, Loop body);
  SmallVector<Value> loop(Value lower, Value upper, int64_t step, ValueRange init, Reduction body);
  /// A loop marked `kernel.independent`: no two iterations touch the same element of a buffer that one of them writes.
  void independentLoop(Value lower, Value upper, Loop body);
  SmallVector<Value> independentLoop(Value lower, Value upper, ValueRange init, Reduction body);
  void branch(Value condition, Body then, Body otherwise = nullptr);

  /// Finishes the kernel, shares it under `name`, and launches it on the host. `rows` and `work` describe the launch.
  LaunchOp launch(OpBuilder &host, const Twine &name, OpFoldResult rows, OpFoldResult work, bool single = false);

private:
  std::optional<int64_t> constant(Value value) const;

  KernelTable &table;
  FuncOp func;
  DenseMap<Value, Value> arguments;
  std::unordered_map<int64_t, Value> constants; ///< any number may come from outside: a DenseMap keeps two for itself
  SmallVector<Value> operands;
};

// Sizes on the host: constants stay attributes.
OpFoldResult sizeOf(OpBuilder &b, Location loc, Value memref, int64_t dim);
SmallVector<OpFoldResult> sizesOf(OpBuilder &b, Location loc, Value memref);
OpFoldResult mulSizes(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes);
OpFoldResult addSizes(OpBuilder &b, Location loc, OpFoldResult x, OpFoldResult y);
OpFoldResult ceilDivSize(OpBuilder &b, Location loc, OpFoldResult size, int64_t divisor);
OpFoldResult subSizes(OpBuilder &b, Location loc, OpFoldResult x, OpFoldResult y);

/// A new buffer of `type`; `sizes` has an entry for each dimension, of which the dynamic ones count.
Value allocate(OpBuilder &b, Location loc, MemRefType type, ArrayRef<OpFoldResult> sizes);
/// A new buffer whose type follows from `sizes`.
Value allocate(OpBuilder &b, Location loc, Type element, ArrayRef<OpFoldResult> sizes);
/// View of a memref as a matrix of its last dimension's rows (rank 1: one row).
Value asMatrix(OpBuilder &b, Location loc, Value memref);
/// View of a memref as a vector.
Value asVector(OpBuilder &b, Location loc, Value memref);

/// "2048x1024" for a kernel's name; dynamic sizes are left out.
std::string shapeName(ArrayRef<int64_t> shape);
/// "bf16" for a kernel's name.
std::string typeName(Type type);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_KERNELBUILDER_H
