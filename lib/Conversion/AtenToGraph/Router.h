//===- Router.h - recognising how a model chooses experts ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_ROUTER_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_ROUTER_H

#include "Mismatch.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include <optional>

namespace mlir::aten {

/// What moe.gate needs to give the ids and weights of an experts call.
struct Router {
  Value logits, bias, ids;
  int64_t topK = 0;
  moe::Score score = moe::Score::Softmax;
  moe::Renormalize renormalize = moe::Renormalize::None;
  std::optional<double> eps, scale;
  moe::GroupsAttr groups;
};

/// Follows ids and weights back to the logits of `experts` experts. Nothing if a step is unknown or rounds where
/// moe.gate would not: then the router stays plain ops.
std::optional<Router> matchRouter(Value ids, Value weights, int64_t experts, Mismatch *why);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_ROUTER_H
