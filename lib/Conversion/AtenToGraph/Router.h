//===- Router.h - recognising how a model chooses experts ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_ROUTER_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_ROUTER_H

#include "Mismatch.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace mlir::aten {

/// What moe.gate needs to give the ids and weights of an experts call.
struct Router {
  Value logits, bias, ids;
  int64_t topK = 0;
  moe::Score score = moe::Score::Softmax;
  moe::Renormalize renormalize = moe::Renormalize::None;
  std::optional<double> jitter, eps, least, p, scale;
  moe::GroupsAttr groups;
  /// A slice, if the scores are a part of those of `logits`.
  CallOp part;
};

/// [T, E] of the logits that the experts are chosen by; null if it is something else.
RankedTensorType getLogitsType(const Router &router);

/// Follows ids and weights back to the logits of `experts` experts. Nothing if a step is unknown or rounds where
/// moe.gate would not: then the router stays plain ops.
std::optional<Router> matchRouter(Value ids, Value weights, int64_t experts, Mismatch *why);

/// The choice of `topk` between `scores` that are known, whatever follows.
std::optional<Router> matchScoredChoice(CallOp topk, Value &scores);

/// The choice of `topk` between logits, of which `weights` are the sigmoid, whatever follows.
std::optional<Router> matchLogitChoice(CallOp topk, Value &weights);

/// Replaces ids and weights by those of a gate, as far as they come from a router that is known (RaiseRouter.cpp).
void raiseRouter(PatternRewriter &rewriter, Location loc, Value &ids, Value &weights, int64_t experts);

// What Router.cpp is made of; each lives in the file of that name.

// RouterScores
bool isF32(Value value);
/// Casts to f32 are exact; moe.gate makes them itself.
Value skipWidening(Value value);
/// Casts between integer types that hold every expert id.
Value skipIdCasts(Value value);
/// True if the call works along the last of two dimensions.
bool isAlongExperts(CallOp call);
/// softmax, sigmoid or sqrt(softplus) of the logits in f32.
bool matchScores(Value scores, Router &router, Mismatch *why);

// RouterGroups: what group-limited scores `choice` are made of; `choice` itself if there are no groups, null if they are
// unknown.
Value matchGroups(Value choice, Router &router);

// RouterMixer: each slot's weight is the softmax at the largest logit that is left, over those that are near it.
bool matchSparseMixer(Value ids, Value weights, Router &router, Mismatch *why);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_ROUTER_H
