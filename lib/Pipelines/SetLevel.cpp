//===- SetLevel.cpp - moe-set-level: a module says its level ------------------------------------------------------===//

#include "moe-mlir/Pipelines/Levels.h"
#include "moe-mlir/Pipelines/Passes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOESETLEVEL
#include "moe-mlir/Pipelines/Passes.h.inc"

namespace {
struct MoeSetLevel : impl::MoeSetLevelBase<MoeSetLevel> {
  using MoeSetLevelBase::MoeSetLevelBase;

  LogicalResult initializeOptions(StringRef options, function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (failed(MoeSetLevelBase::initializeOptions(options, errorHandler)))
      return failure();
    return parseLevel(level) ? success() : errorHandler(unknownLevel(level));
  }

  void runOnOperation() override {
    getOperation()->setAttr(kLevelAttr, StringAttr::get(&getContext(), level));
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace moe_mlir
