//===- LinalgBuilder.h - tensor code, one linalg.generic at a time --------------------------------------*- C++ -*-===//
//
// Reference lowerings say what an op computes, element by element. This builder keeps them at that: loops, the operands
// that the loops index, and a scalar body.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SUPPORT_LINALGBUILDER_H
#define MOE_MLIR_SUPPORT_LINALGBUILDER_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"

namespace moe_mlir {

class LinalgBuilder {
public:
  explicit LinalgBuilder(mlir::ImplicitLocOpBuilder &b) : b(b) {}

  /// A tensor whose dimension i is indexed by loop `loops[i]`; `broadcast` reads index 0.
  struct Operand {
    mlir::Value tensor;
    llvm::SmallVector<int64_t> loops;
  };
  static constexpr int64_t broadcast = -1;

  /// One step of the body: `in[i]` is the element of operand i, `acc` the value so far of a reduction.
  struct Step {
    mlir::ImplicitLocOpBuilder &b;
    llvm::SmallVector<mlir::Value> in;
    mlir::Value acc;

    mlir::Value index(int64_t loop) const;
  };
  using Body = llvm::function_ref<mlir::Value(Step &)>;
  using Sizes = llvm::ArrayRef<mlir::OpFoldResult>;

  /// result[loops] = body.
  mlir::Value map(Sizes loops, mlir::Type element, llvm::ArrayRef<Operand> operands, Body body);

  /// result[first `kept` loops] = body(acc) over the other loops in order, beginning with `init`.
  mlir::Value reduce(Sizes loops, int64_t kept, mlir::TypedAttr init, llvm::ArrayRef<Operand> operands, Body body);

  /// The sizes of a tensor: static ones as attributes.
  llvm::SmallVector<mlir::OpFoldResult> sizes(mlir::Value tensor);
  mlir::OpFoldResult size(mlir::Value tensor, int64_t dim);
  mlir::OpFoldResult size(int64_t value) { return b.getIndexAttr(value); }

  /// The tensor as `type`, which differs in what is static at most.
  mlir::Value cast(mlir::Value tensor, mlir::Type type);

private:
  mlir::Value generic(Sizes loops, int64_t kept, mlir::Value init, llvm::ArrayRef<Operand> operands, Body body);

  mlir::ImplicitLocOpBuilder &b;
};

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// The element type of a tensor, or the type of a scalar.
mlir::Type elementOf(mlir::Value value);
/// The float as f32: exact for the types that the dialects accept.
mlir::Value toF32(mlir::ImplicitLocOpBuilder &b, mlir::Value value);
/// The f32 rounded to nearest even to `element`.
mlir::Value fromF32(mlir::ImplicitLocOpBuilder &b, mlir::Value value, mlir::Type element);
mlir::Value constantF32(mlir::ImplicitLocOpBuilder &b, float value);
mlir::Value constantIndex(mlir::ImplicitLocOpBuilder &b, int64_t value);
/// Any integer as index.
mlir::Value toIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value value);
mlir::Value toIndex(mlir::ImplicitLocOpBuilder &b, mlir::OpFoldResult size);
/// A step of a sum of products in f32: acc + in[0] * in[1].
mlir::Value addProductF32(LinalgBuilder::Step &step);
/// x * sigmoid(x) in f32.
mlir::Value siluF32(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_LINALGBUILDER_H
