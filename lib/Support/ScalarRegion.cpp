//===- ScalarRegion.cpp - what the body of a linalg op or an activation may hold --------------------------------===//

#include "moe-mlir/Support/ScalarRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

static bool isScalar(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() && llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth());
  return type.isIndex() || type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

StringRef moe_mlir::whyNotScalar(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  bool reads = isa<tensor::ExtractOp, tensor::DimOp>(op);
  bool isKnown = reads || isa<linalg::IndexOp, linalg::YieldOp>(op) ||
                 llvm::is_contained({"arith", "math", "scf"}, dialect) ||
                 llvm::is_contained({"nn.silu", "moe.yield", "ub.poison"}, op->getName().getStringRef());
  if (!isKnown || isa<math::IPowIOp>(op))
    return "cannot stand in a scalar region; it holds arith, math but math.ipowi, scf, nn.silu, linalg.index, "
           "tensor.extract and tensor.dim";
  auto types = llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes());
  if (llvm::any_of(types, [&](Type type) { return !isScalar(type) && !(reads && isa<RankedTensorType>(type)); }))
    return "cannot stand in a scalar region: its values are i1, i8, i16, i32, i64, index, f16, bf16, f32 or f64";
  return "";
}

StringRef moe_mlir::whyNoResult(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return "";
  SmallVector<unsigned> reduced, parallel;
  linalgOp.getReductionDims(reduced);
  linalgOp.getParallelDims(parallel);
  for (OpOperand &init : linalgOp.getDpsInitsMutable()) {
    AffineMap map = linalgOp.getMatchingIndexingMap(&init);
    for (unsigned dim : reduced)
      if (map.isFunctionOfDim(dim))
        return "has a result with an index of a dimension that it reduces; make that dimension parallel, or take it "
               "out of the result's map";
    for (unsigned dim : parallel)
      if (linalgOp.getStaticLoopRanges()[dim] != 1 &&
          !llvm::is_contained(map.getResults(), getAffineDimExpr(dim, op->getContext())))
        return "has a result whose map does not have each parallel dimension by itself, so that several iterations "
               "would write one element";
  }
  return "";
}

bool moe_mlir::roundsOnly(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    Block &body = generic.getRegion().front();
    auto round = dyn_cast<arith::TruncFOp>(body.front());
    return round && generic.getNumDpsInputs() == 1 && generic.getNumDpsInits() == 1 && llvm::hasNItems(body, 2) &&
           round.getIn() == body.getArgument(0) && body.back().getOperand(0) == round.getOut();
  }
  return isa<arith::TruncFOp>(op);
}
