//===- LowerTiles.cpp - tiles of accumulators to vector registers -------------------------------------------------===//

#include "TileLowering.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELLOWERTILES
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

namespace {
struct LowerZero : OpConversionPattern<ZeroOp> {
  LowerZero(const TypeConverter &converter, MLIRContext *context, x86::TargetAttr target)
      : OpConversionPattern(converter, context), target(target) {}

  LogicalResult matchAndRewrite(ZeroOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const override {
    AccType type = op.getType();
    TileShape shape(type, target);
    auto zero = DenseElementsAttr::get(shape.vectorType(type.getElement()), rewriter.getZeroAttr(type.getElement()));
    Value value = arith::ConstantOp::create(rewriter, op.getLoc(), zero);
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(shape.rows * shape.vectors, value)});
    return success();
  }

  x86::TargetAttr target;
};

struct LowerLoadTile : OpConversionPattern<LoadTileOp> {
  LowerLoadTile(const TypeConverter &converter, MLIRContext *context, x86::TargetAttr target)
      : OpConversionPattern(converter, context), target(target) {}

  LogicalResult matchAndRewrite(LoadTileOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    AccType type = op.getType();
    TileShape shape(type, target);
    SmallVector<Value> values;
    for (Value row : adaptor.getRows())
      for (int64_t v = 0; v < shape.vectors; ++v) {
        Value column = addIndex(rewriter, op.getLoc(), adaptor.getColumn().front(), v * shape.width);
        values.push_back(vector::LoadOp::create(rewriter, op.getLoc(), shape.vectorType(type.getElement()),
                                                adaptor.getSource().front(), ValueRange{row, column}));
      }
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }

  x86::TargetAttr target;
};

/// The region is run once per row, here and now: a gather from a row map costs nothing inside the K loop.
struct LowerRowIndices : OpConversionPattern<RowIndicesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(RowIndicesOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value base = adaptor.getBase().front();
    SmallVector<Value> rows;
    for (int64_t i = 0; i < op.getType().getCount(); ++i)
      rows.push_back(cloneRegionBody(rewriter, op.getBody().front(), addIndex(rewriter, op.getLoc(), base, i)).front());
    rewriter.replaceOpWithMultiple(op, {rows});
    return success();
  }
};

struct KernelLowerTiles : kernel::impl::KernelLowerTilesBase<KernelLowerTiles> {
  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    FailureOr<x86::TargetAttr> found = x86::TargetAttr::get(module);
    if (failed(found))
      return signalPassFailure();
    x86::TargetAttr cpu = *found;
    WalkResult checked = getOperation().walk(
        [](MmaOp mma) { return failed(checkMma(mma)) ? WalkResult::interrupt() : WalkResult::advance(); });
    if (checked.wasInterrupted())
      return signalPassFailure();

    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([&](AccType type, SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
      TileShape shape(type, cpu);
      types.append(shape.rows * shape.vectors, shape.vectorType(type.getElement()));
      return success();
    });
    converter.addConversion([](RowsType type, SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
      types.append(type.getCount(), IndexType::get(type.getContext()));
      return success();
    });

    ConversionTarget target(getContext());
    target.addIllegalOp<ZeroOp, LoadTileOp, MmaOp, StoreTileOp, RowIndicesOp, RowTileOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    RewritePatternSet patterns(&getContext());
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    patterns.add<LowerZero, LowerLoadTile>(converter, &getContext(), cpu);
    patterns.add<LowerRowIndices>(converter, &getContext());
    populateLowerMmaPatterns(patterns, converter, cpu);
    populateLowerStoreTilePatterns(patterns, converter, cpu);
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
