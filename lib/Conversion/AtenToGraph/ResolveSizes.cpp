//===- ResolveSizes.cpp - the pass resolve-graph-sizes ------------------------------------------------------------===//

#include "SizeAnalysis.h"

#include "moe-mlir/Conversion/AtenToGraph/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::aten {
#define GEN_PASS_DEF_RESOLVEGRAPHSIZES
#include "moe-mlir/Conversion/AtenToGraph/Passes.h.inc"
} // namespace mlir::aten

using namespace mlir;
using namespace mlir::aten;

namespace {
struct ResolveGraphSizes : aten::impl::ResolveGraphSizesBase<ResolveGraphSizes> {
  void runOnOperation() override {
    getOperation().walk([](tensor::DimOp op) {
      std::optional<int64_t> dim = op.getConstantIndex();
      auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
      if (!dim || !type || *dim < 0 || *dim >= type.getRank())
        return;
      SizeAnalysis sizes;
      SizeExpr size = sizes.getSize(op.getSource(), *dim);
      if (!sizes.isOverArguments(size))
        return;
      if (auto source = sizes.getArgumentDim(size);
          source && *source == std::pair(dyn_cast<BlockArgument>(op.getSource()), *dim))
        return;
      OpBuilder builder(op);
      op.replaceAllUsesWith(sizes.materialize(builder, op.getLoc(), size));
      op.erase();
    });
  }
};
} // namespace
