//===- LowerMma.cpp - one step of a matrix product on registers ---------------------------------------------------===//
//
// One step loads the weights of all columns once, and for each row broadcasts its element (or pair) of `a` and issues
// one multiply-add per vector: 4 loads, 6 broadcasts and 24 multiply-adds for a 6 x 64 tile, which is what keeps both
// FMA units busy.
//
// Products are added in the order of k. For a pair this is the order of the dot instruction: the odd element first,
// then the even one, each rounded. Vectors without the instruction keep that order, so that the choice between the two
// only changes how denormal numbers are treated (the instruction flushes them).
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {

class MmaLowering {
public:
  MmaLowering(OpBuilder &b, MmaOp op, x86::TargetAttr target, ValueRange rows, ValueRange indices, Value k,
              Value column)
      : b(b), op(op), loc(op.getLoc()), target(target), shape(op.getAcc().getType(), target), rows(rows),
        indices(indices), k(k), column(column), a(op.getA()), w(op.getB()),
        element(cast<MemRefType>(a.getType()).getElementType()), f32(b.getF32Type()) {}

  SmallVector<Value> run(ValueRange accs) {
    SmallVector<Value> results(accs);
    if (op.getStep() == 1)
      runSingles(results);
    else if (target.getDotBf16() && shape.width >= 4 && shape.width <= 16)
      runDots(results);
    else
      runWidenedPairs(results);
    return results;
  }

private:
  void runSingles(SmallVectorImpl<Value> &accs) {
    SmallVector<Value> weights;
    for (int64_t v = 0; v < shape.vectors; ++v)
      weights.push_back(widen(loadWeights(v, k, /*pairs=*/false)));
    for (int64_t r = 0; r < shape.rows; ++r) {
      Value x = widen(memref::LoadOp::create(b, loc, a, ValueRange{rows[r], k}));
      x = vector::BroadcastOp::create(b, loc, shape.vectorType(f32), x);
      for (int64_t v = 0; v < shape.vectors; ++v)
        multiplyAdd(accs[r * shape.vectors + v], x, weights[v]);
    }
  }

  void runDots(SmallVectorImpl<Value> &accs) {
    SmallVector<Value> weights = loadPairs();
    auto type = VectorType::get({2 * shape.width}, element);
    for (int64_t r = 0; r < shape.rows; ++r) {
      Value x = vector::BitCastOp::create(b, loc, type, broadcastPair(r));
      for (int64_t v = 0; v < shape.vectors; ++v) {
        Value &acc = accs[r * shape.vectors + v];
        acc = x86vector::DotBF16Op::create(b, loc, acc.getType(), acc, weights[v], x);
      }
    }
  }

  /// First the odd elements of all rows and columns, then the even ones: halves of one parity take half of the
  /// registers, and with both at once the accumulators would not stay in registers.
  void runWidenedPairs(SmallVectorImpl<Value> &accs) {
    SmallVector<Value> words;
    for (Value pairs : loadPairs())
      words.push_back(vector::BitCastOp::create(b, loc, shape.vectorType(b.getI32Type()), pairs));
    SmallVector<Value> rowWords;
    for (int64_t r = 0; r < shape.rows; ++r)
      rowWords.push_back(broadcastPair(r));
    for (bool odd : {true, false}) {
      SmallVector<Value> weights = llvm::map_to_vector(words, [&](Value w) { return half(w, odd); });
      for (int64_t r = 0; r < shape.rows; ++r) {
        Value x = half(rowWords[r], odd);
        for (int64_t v = 0; v < shape.vectors; ++v)
          multiplyAdd(accs[r * shape.vectors + v], x, weights[v]);
      }
    }
  }

  /// Vector `v` of the weights of step `step`: its columns, or its columns' pairs.
  Value loadWeights(int64_t v, Value step, bool pairs) {
    SmallVector<Value> position(indices);
    position.append({step, addIndex(b, loc, column, v * shape.width)});
    if (pairs)
      position.push_back(arith::ConstantIndexOp::create(b, loc, 0));
    auto type = VectorType::get({pairs ? 2 * shape.width : shape.width}, element);
    return vector::LoadOp::create(b, loc, type, w, position);
  }

  SmallVector<Value> loadPairs() {
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    Value step = arith::ShRUIOp::create(b, loc, k, one);
    SmallVector<Value> pairs;
    for (int64_t v = 0; v < shape.vectors; ++v)
      pairs.push_back(loadWeights(v, step, /*pairs=*/true));
    return pairs;
  }

  /// The elements k and k + 1 of row `r` of `a` as the low and high half of every i32; where k + 1 does not exist, its
  /// half is zero and nothing beyond the row is read.
  Value broadcastPair(int64_t r) {
    Value both;
    if (op.getInbounds()) {
      both = loadPair(b, r);
    } else {
      Value one = arith::ConstantIndexOp::create(b, loc, 1), next = arith::AddIOp::create(b, loc, k, one);
      Value size = memref::DimOp::create(b, loc, a, 1);
      Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, next, size);
      both = scf::IfOp::create(
                 b, loc, exists,
                 [&](OpBuilder &nested, Location) { scf::YieldOp::create(nested, loc, loadPair(nested, r)); },
                 [&](OpBuilder &nested, Location) {
                   Value last = memref::LoadOp::create(nested, loc, a, ValueRange{rows[r], k});
                   last = arith::BitcastOp::create(nested, loc, nested.getI16Type(), last);
                   last = arith::ExtUIOp::create(nested, loc, nested.getI32Type(), last);
                   scf::YieldOp::create(nested, loc, last);
                 })
                 .getResult(0);
    }
    return vector::BroadcastOp::create(b, loc, shape.vectorType(b.getI32Type()), both);
  }

  Value loadPair(OpBuilder &builder, int64_t r) {
    Value pair = vector::LoadOp::create(builder, loc, VectorType::get({2}, element), a, ValueRange{rows[r], k});
    Value word = vector::BitCastOp::create(builder, loc, VectorType::get({1}, builder.getI32Type()), pair);
    return vector::ExtractOp::create(builder, loc, word, 0);
  }

  /// One element of each bf16 pair in an i32, as f32: a bf16 is the upper half of the f32 of its value.
  Value half(Value words, bool odd) {
    auto type = cast<VectorType>(words.getType());
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(
          b, loc, DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), APInt(32, value))));
    };
    Value bits = odd ? arith::AndIOp::create(b, loc, words, constant(0xffff0000u)).getResult()
                     : arith::ShLIOp::create(b, loc, words, constant(16)).getResult();
    return arith::BitcastOp::create(b, loc, shape.vectorType(f32), bits);
  }

  Value widen(Value value) {
    if (getElementTypeOrSelf(value) == f32)
      return value;
    Type type = f32;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(f32);
    return arith::ExtFOp::create(b, loc, type, value);
  }

  void multiplyAdd(Value &acc, Value x, Value weights) { acc = vector::FMAOp::create(b, loc, x, weights, acc); }

  OpBuilder &b;
  MmaOp op;
  Location loc;
  x86::TargetAttr target;
  TileShape shape;
  ValueRange rows, indices;
  Value k, column, a, w;
  Type element, f32;
};

struct LowerMma : OpConversionPattern<MmaOp> {
  LowerMma(const TypeConverter &converter, MLIRContext *context, x86::TargetAttr target)
      : OpConversionPattern(converter, context), target(target) {}

  LogicalResult matchAndRewrite(MmaOp op, OneToNOpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> indices;
    for (ValueRange index : adaptor.getIndices())
      indices.push_back(index.front());
    MmaLowering lowering(rewriter, op, target, adaptor.getRows(), indices, adaptor.getK().front(),
                         adaptor.getColumn().front());
    rewriter.replaceOpWithMultiple(op, {lowering.run(adaptor.getAcc())});
    return success();
  }

  x86::TargetAttr target;
};
} // namespace

LogicalResult kernel::checkMma(MmaOp op) {
  Type element = cast<MemRefType>(op.getA().getType()).getElementType();
  if (op.getStep() > 2)
    return op.emitOpError() << "has no CPU lowering for steps of " << op.getStep()
                            << "; weights are packed for another target";
  bool pairs = op.getStep() == 2;
  if (element.isBF16() || (!pairs && (element.isF32() || element.isF16())))
    return success();
  return op.emitOpError() << "has no CPU lowering for " << (pairs ? "pairs of " : "") << element
                          << "; supported are f32, bf16, f16 and pairs of bf16";
}

void kernel::populateLowerMmaPatterns(RewritePatternSet &patterns, const TypeConverter &converter,
                                      x86::TargetAttr target) {
  patterns.add<LowerMma>(converter, patterns.getContext(), target);
}
