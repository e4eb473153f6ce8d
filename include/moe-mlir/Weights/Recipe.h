//===- Recipe.h - from the model's weights to packed parameters -----------------------------------------*- C++ -*-===//
//
// A `moe.parameter` names source tensors and a recipe. Everything in a recipe but the last two kinds of steps moves
// elements without changing them, so it is done on indices: stack, concat, slice, transpose and order build a `View`, a
// set of strided boxes of mapped memory. Casts and packing happen while a small piece of the result is written.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_WEIGHTS_RECIPE_H
#define MOE_MLIR_WEIGHTS_RECIPE_H

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Weights/Source.h"

namespace moe_mlir {

/// A tensor that consists of strided boxes of other tensors.
struct View {
  struct Box {
    llvm::SmallVector<int64_t, 4> origin, sizes; ///< The range of the view's indices that it covers.
    llvm::SmallVector<int64_t, 4> strides;       ///< In elements of the source.
    const char *data;                            ///< The element at `origin`.
  };
  llvm::SmallVector<int64_t, 4> sizes;
  moert_dtype dtype;                       ///< Of the boxes.
  llvm::SmallVector<moert_dtype, 1> casts; ///< Applied to each element, in order.
  std::vector<Box> boxes;                  ///< Disjoint; together they cover the view.

  static llvm::Expected<View> of(const Blob &blob);
  static llvm::Expected<View> stack(llvm::ArrayRef<View> parts);
  static llvm::Expected<View> concat(llvm::ArrayRef<View> parts, int64_t dim);
  llvm::Error slice(int64_t dim, int64_t offset, int64_t size);
  llvm::Error transpose(llvm::ArrayRef<int64_t> permutation);
  /// Entry i of dimension 0 becomes what entry `order[i]` was; `order` is a permutation.
  llvm::Error reorder(llvm::ArrayRef<int32_t> order);
  llvm::Error cast(moert_dtype to);
  /// Numbers equal parts of a dimension by a new first one; with `halves` each part has one of either half.
  llvm::Error cut(int64_t dim, int64_t parts, bool halves);
  /// The first of `parts` parts, which a new first dimension numbers; the others are zero.
  llvm::Error first(int64_t parts);

  moert_dtype resultType() const { return casts.empty() ? dtype : casts.back(); }
};

/// A parameter as it will stand in the archive, not yet computed. It is written in pieces of bounded size, in order.
class PackedTensor {
public:
  /// Checks sources and recipe (null: none) against each other; errors say which step does not fit and why. `own`: the
  /// sizes that there must be before the pack; others are no error here, but `ownSizes` has them and nothing is packed.
  static llvm::Expected<PackedTensor> create(llvm::ArrayRef<Blob> sources, mlir::ArrayAttr recipe,
                                             std::optional<llvm::ArrayRef<int64_t>> own = std::nullopt);

  moert_dtype dtype() const { return view.resultType(); }
  llvm::ArrayRef<int64_t> sizes() const { return packedSizes; }
  /// Sizes before the pack.
  llvm::ArrayRef<int64_t> ownSizes() const { return view.sizes; }
  uint64_t bytes() const { return totalBytes; }

  /// Computes the whole tensor, handing out consecutive pieces of at most a few MiB; stops when `take` returns false.
  bool produce(llvm::function_ref<bool(llvm::ArrayRef<char>)> take) const;

private:
  bool producePlain(llvm::function_ref<bool(llvm::ArrayRef<char>)> take) const;
  bool producePacked(llvm::function_ref<bool(llvm::ArrayRef<char>)> take) const;

  View view;
  mlir::moe::PackAttr pack; ///< Null if the last step is not a pack.
  llvm::SmallVector<int64_t, 6> packedSizes;
  uint64_t totalBytes = 0;
};

} // namespace moe_mlir

#endif // MOE_MLIR_WEIGHTS_RECIPE_H
