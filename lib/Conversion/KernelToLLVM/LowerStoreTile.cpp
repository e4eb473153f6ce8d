//===- LowerStoreTile.cpp - epilogues on registers ----------------------------------------------------------------===//
//
// The region runs on the accumulators while they are in registers: once per vector, without masks if all columns of the
// tile exist, else with masks. Where the column and the limit are known multiples of the tile's width, a tile exists as
// a whole or not at all and the masked copy is left out. A region that cannot run on vectors (an op that is not
// elementwise) runs element by element, in a loop: a copy for each element of each tile would be more than LLVM takes.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "EpilogueVectorizer.h"
#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {

class StoreTileLowering {
public:
  StoreTileLowering(OpBuilder &builder, StoreTileOp op, x86::TargetAttr target, ArrayRef<ValueRange> accs, Value dest,
                    ValueRange leading, ValueRange rows, Value column, Value limit)
      : builder(builder), op(op), loc(op.getLoc()), shape(cast<AccType>(op.getAccs()[0].getType()), target), accs(accs),
        dest(dest), leading(leading), rows(rows), column(column), limit(limit) {}

  void run() {
    if (!EpilogueVectorizer::supports(op.getBody().front()))
      return storeElements();
    int64_t columns = shape.vectors * shape.width;
    bool aligned = isMultipleOf(limit, columns) && isMultipleOf(op.getColumn(), columns);
    Value end = addIndex(builder, loc, column, columns);
    Value full = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, end, limit);
    auto branch = scf::IfOp::create(builder, loc, full, /*withElseRegion=*/!aligned);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    storeVectors(/*masked=*/false);
    if (aligned)
      return;
    builder.setInsertionPointToStart(branch.elseBlock());
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, column, limit);
    builder.setInsertionPointToStart(scf::IfOp::create(builder, loc, some).thenBlock());
    storeVectors(/*masked=*/true);
  }

private:
  void storeVectors(bool masked) {
    for (int64_t v = 0; v < shape.vectors; ++v) {
      Value base = addIndex(builder, loc, column, v * shape.width), mask;
      if (masked) {
        Value count = arith::SubIOp::create(builder, loc, limit, base);
        mask = vector::CreateMaskOp::create(builder, loc, shape.vectorType(builder.getI1Type()), count);
      }
      for (int64_t r = 0; r < shape.rows; ++r) {
        EpilogueVectorizer vectorizer(builder, loc, shape.width, mask, masked ? limit : Value());
        Value value = vectorizer.run(op.getBody().front(), rows[r], base, accumulators(r, v));
        SmallVector<Value> position = positionOf(r, base);
        if (masked)
          vector::MaskedStoreOp::create(builder, loc, dest, position, mask, value);
        else
          vector::StoreOp::create(builder, loc, value, dest, position);
      }
    }
  }

  void storeElements() {
    int64_t columns = shape.vectors * shape.width;
    auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
    SmallVector<Value> held;
    for (ValueRange acc : accs) {
      held.push_back(allocate({shape.rows, columns}, cast<VectorType>(acc[0].getType()).getElementType()));
      for (auto [i, value] : llvm::enumerate(acc)) {
        SmallVector<Value> place{index(i / shape.vectors), index(i % shape.vectors * shape.width)};
        vector::StoreOp::create(builder, loc, value, held.back(), place);
      }
    }
    Value places = allocate(shape.rows, builder.getIndexType());
    for (auto [i, row] : llvm::enumerate(rows))
      memref::StoreOp::create(builder, loc, row, places, index(i));

    // No iterations if the whole tile is at or beyond the limit.
    Value left = arith::SubIOp::create(builder, loc, limit, column);
    Value count = arith::MinSIOp::create(builder, loc, index(columns), left);
    Value zero = index(0), one = index(1);
    OpBuilder::InsertionGuard guard(builder);
    auto down = scf::ForOp::create(builder, loc, zero, index(shape.rows), one);
    builder.setInsertionPointToStart(down.getBody());
    Value row = memref::LoadOp::create(builder, loc, places, down.getInductionVar());
    auto along = scf::ForOp::create(builder, loc, zero, count, one);
    builder.setInsertionPointToStart(along.getBody());
    Value at = arith::AddIOp::create(builder, loc, column, along.getInductionVar());
    SmallVector<Value> arguments{row, at};
    for (Value memory : held)
      arguments.push_back(
          memref::LoadOp::create(builder, loc, memory, ValueRange{down.getInductionVar(), along.getInductionVar()}));
    SmallVector<Value> position(leading);
    position.append({row, at});
    memref::StoreOp::create(builder, loc, cloneRegionBody(builder, op.getBody().front(), arguments).front(), dest,
                            position);
  }

  /// Memory of the function: in a loop, each iteration would take more of the stack.
  Value allocate(ArrayRef<int64_t> sizes, Type element) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&op->getParentOfType<kernel::FuncOp>().getBody().front());
    return memref::AllocaOp::create(builder, loc, MemRefType::get(sizes, element), builder.getI64IntegerAttr(64));
  }

  SmallVector<Value> accumulators(int64_t row, int64_t vector) {
    return llvm::map_to_vector(accs, [&](ValueRange acc) -> Value { return acc[row * shape.vectors + vector]; });
  }

  SmallVector<Value> positionOf(int64_t row, Value at) {
    SmallVector<Value> position(leading);
    position.append({rows[row], at});
    return position;
  }

  OpBuilder &builder;
  StoreTileOp op;
  Location loc;
  TileShape shape;
  ArrayRef<ValueRange> accs;
  Value dest;
  ValueRange leading, rows;
  Value column, limit;
};

struct LowerStoreTile : OpConversionPattern<StoreTileOp> {
  LowerStoreTile(const TypeConverter &converter, MLIRContext *context, x86::TargetAttr target)
      : OpConversionPattern(converter, context), target(target) {}

  LogicalResult matchAndRewrite(StoreTileOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto accs = llvm::to_vector(adaptor.getAccs());
    auto leading = llvm::map_to_vector(adaptor.getLeading(), [](ValueRange v) -> Value { return v.front(); });
    Value dest = adaptor.getDest().front(), limit;
    auto type = cast<MemRefType>(dest.getType());
    if (op.getLimit())
      limit = adaptor.getLimit().front();
    else if (!type.isDynamicDim(type.getRank() - 1))
      limit = arith::ConstantIndexOp::create(rewriter, op.getLoc(), type.getShape().back());
    else
      limit = memref::DimOp::create(rewriter, op.getLoc(), dest, type.getRank() - 1);
    StoreTileLowering(rewriter, op, target, accs, dest, leading, adaptor.getRows(), adaptor.getColumn().front(), limit)
        .run();
    rewriter.eraseOp(op);
    return success();
  }

  x86::TargetAttr target;
};
} // namespace

void kernel::populateLowerStoreTilePatterns(RewritePatternSet &patterns, const TypeConverter &converter,
                                            x86::TargetAttr target) {
  patterns.add<LowerStoreTile>(converter, patterns.getContext(), target);
}
