//===- UnfusedExperts.h - MoE layers that a graph spells out in ATen calls ----------------------------*- C++ -*-===//
//
// The experts implementations `grouped_mm` and `batched_mm` of transformers list all pairs of a token and one of its k
// experts, p = t k + j, and differ in the order of the pairs and in the call that multiplies them with the weights:
//
//   x    = tokens[p / k]                                the row of each pair's token
//   h    = activation(x . w_in[ids[p]] + b_in[ids[p]])
//   y    = h . w_out[ids[p]] + b_out[ids[p]]
//   out  = (y * weights[p]).view(T, k, H).sum(1)
//
// Everything here is checked from the end backwards; a step that is not exactly one of those that are known leaves the
// calls as they are.
//
// Rounding. In bf16 these calls round the products, the biased products, every step of the activation, the rows and the
// weighted rows. The raised layer computes all of this in f32 and rounds where moe.expert and moe.combine say: the
// activation's result, the rows, the sum. Each of these is a rounding that the calls have, too; what is left out only
// makes the result more accurate. The choice of experts is not touched: the router's calls are read by matchRouter, or
// stay.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_UNFUSEDEXPERTS_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_UNFUSEDEXPERTS_H

#include "Mismatch.h"
#include "Patterns.h"

#include <memory>
#include <optional>

namespace mlir::aten {

/// The steps of a layer that reasons name.
inline constexpr StringLiteral firstProduct = "first product", secondProduct = "second product";

/// self[index]: rows of a tensor by a tensor of integers [n].
struct RowIndex {
  Value self, index;
};
std::optional<RowIndex> matchRowIndex(Value value);

/// view(pairs, [T, k, H]).sum(1), and the rounding to the rows' type that may follow.
struct PairSum {
  Value pairs;
  int64_t topK;
  CallOp sum;
};
std::optional<PairSum> matchPairSum(CallOp sum, Mismatch *why);

/// rows * weights[:, None]
struct WeightedRows {
  /// [P, H] and [P]
  Value rows, weights;
};
std::optional<WeightedRows> matchWeightedRows(Value value, Mismatch *why);

/// product + bias[order]; without a bias, `product` is the value itself.
struct BiasedProduct {
  Value product, bias, order;
};
BiasedProduct matchBias(Value value);

/// The product of each pair's row with its expert's matrix, as a matcher of `grouped_mm` or `batched_mm` found it.
struct PairProduct {
  /// [P, in] and [E, out, in]; [E, in, out] if transposed.
  Value x, weight;
  bool transposed = false;
  Value bias;
};

/// The calls between the two products.
struct PairActivation {
  /// With one argument, or (first half or even columns, second half or odd columns) if gated; in f32.
  std::unique_ptr<Region> region;
  /// What it is computed from, [P, I or 2I].
  Value source;
  bool gated = false, interleaved = false;
};
/// Follows element-wise calls back to a value for which `isSource` holds, or to its halves or its even and odd columns.
/// `element` is the type in which the layer's weights are stored: narrower types in between are not known. `isSource`
/// says why a product is not the one that is meant, and nothing of other calls.
std::optional<PairActivation> matchPairActivation(Value value, Type element,
                                                  function_ref<bool(Value, Mismatch *)> isSource, Mismatch *why);

/// Everything that a matcher found. `ids` and `weights` are [P].
struct UnfusedExperts {
  PairSum sum;
  Value tokens, ids, weights;
  PairProduct in, out;
  PairActivation activation;
};
/// Each in the file of its pattern, from the sum that ends the layer.
std::optional<UnfusedExperts> matchGroupedExperts(CallOp sum, Mismatch *why);
std::optional<UnfusedExperts> matchBatchedExperts(CallOp sum, Mismatch *why);

/// Checks types, sizes and the range of the ids. Returns the call whose result the layer replaces.
std::optional<CallOp> checkUnfusedExperts(UnfusedExperts &experts, Mismatch *why);
/// Puts a MoE layer in place of calls that were checked.
void raiseUnfusedExperts(UnfusedExperts &experts, CallOp last, PatternRewriter &rewriter);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_UNFUSEDEXPERTS_H
