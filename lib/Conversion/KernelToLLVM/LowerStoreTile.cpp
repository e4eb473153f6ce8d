//===- LowerStoreTile.cpp - epilogues on registers ----------------------------------------------------------------===//
//
// The region runs on the accumulators while they are in registers: once per vector, without masks if all columns of the
// tile exist, else with masks. Where the column and the limit are known multiples of the tile's width, a tile exists as
// a whole or not at all and the masked copy is left out. A region that cannot run on vectors (an op that is not
// elementwise) runs element by element.
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
    int64_t columns = shape.vectors * shape.width;
    bool aligned = isMultipleOf(limit, columns) && isMultipleOf(op.getColumn(), columns);
    Value end = addIndex(builder, loc, column, columns);
    Value full = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, end, limit);
    bool vectorize = EpilogueVectorizer::supports(op.getBody().front());
    auto branch = scf::IfOp::create(builder, loc, full, /*withElseRegion=*/!aligned);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    vectorize ? storeVectors(/*masked=*/false) : storeElements(/*test=*/false);
    if (aligned)
      return;
    builder.setInsertionPointToStart(branch.elseBlock());
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, column, limit);
    builder.setInsertionPointToStart(scf::IfOp::create(builder, loc, some).thenBlock());
    vectorize ? storeVectors(/*masked=*/true) : storeElements(/*test=*/true);
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

  void storeElements(bool test) {
    for (int64_t v = 0; v < shape.vectors; ++v)
      for (int64_t lane = 0; lane < shape.width; ++lane) {
        OpBuilder::InsertionGuard guard(builder);
        Value at = addIndex(builder, loc, column, v * shape.width + lane);
        if (test) {
          Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at, limit);
          builder.setInsertionPointToStart(scf::IfOp::create(builder, loc, exists).thenBlock());
        }
        for (int64_t r = 0; r < shape.rows; ++r) {
          SmallVector<Value> arguments{rows[r], at};
          for (Value acc : accumulators(r, v))
            arguments.push_back(vector::ExtractOp::create(builder, loc, acc, lane));
          Value value = cloneRegionBody(builder, op.getBody().front(), arguments).front();
          memref::StoreOp::create(builder, loc, value, dest, positionOf(r, at));
        }
      }
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
