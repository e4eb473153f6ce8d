//===- Scan.cpp - nn.scan, step by step ---------------------------------------------------------------------------===//
//
// A unit of work is (batch row, head, block of columns of its matrix), which no other unit reads: it walks all steps. What a
// step does to a row of the block is one loop over neighbouring elements of the state, which stays where it is. Sums over
// the rows stand in memory that holds one row for each unit, whatever runs it.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::kernel;

/// Columns of a block: enough sums that do not wait for each other, and few enough that the block's part of a matrix
/// with 128 rows stays in the innermost cache.
static constexpr int64_t columnsPerBlock = 64;

namespace {
class ScanProgram {
public:
  ScanProgram(GraphLowering &lowering, nn::ScanOp op, nn::ScanOp::Adaptor adaptor, ConversionPatternRewriter &rewriter)
      : op(op), adaptor(adaptor), rewriter(rewriter), loc(op.getLoc()), k(lowering.kernels, op.getLoc()),
        heads(op.sizeOf("N")), group(heads / op.sizeOf("M")), rows(op.sizeOf("K")), columns(op.sizeOf("V")),
        width(std::min(columns, columnsPerBlock)), blocks(width ? llvm::divideCeil(columns, width) : 0),
        sizes(sizesOf(rewriter, loc, adaptor.getValue())) {}

  /// Launches the program, which writes `result` and changes `state`.
  void emit(Value result, Value state);

private:
  /// A unit at one of its steps: index values in the kernel.
  struct Step {
    Value batch, head, keyHead, block, time, firstColumn;
    int64_t width;
    Value headDecay; ///< exp of it, of the whole head
  };

  void captureOperands(Value resultBuffer, Value stateBuffer);
  void step(const Step &at);
  void loadDecay(Step &at);
  void findOld(const Step &at);
  void takeValue(const Step &at);
  void update(const Step &at);

  Value element(Value sequence, const Step &at, ValueRange place) {
    SmallVector<Value> indices = {at.batch, at.time};
    llvm::append_range(indices, place);
    return k.toF32(k.load(sequence, indices));
  }
  Value multiply(Value x, Value y) { return arith::MulFOp::create(k, x, y); }
  Value multiplyAdd(Value x, Value y, Value sum) { return math::FmaOp::create(k, x, y, sum); }
  void forRows(llvm::function_ref<void(Value)> body) { k.loop(k.idx(0), k.idx(rows), 1, body); }
  void forColumns(const Step &at, llvm::function_ref<void(Value)> body) {
    k.independentLoop(k.idx(0), k.idx(at.width), body);
  }
  /// exp(d) of row i, if the columns have one in common.
  Value rowDecay(const Step &at, Value i);
  /// The matrix's element, decayed; `common` is the row's decay if there is one.
  Value decayed(const Step &at, Value i, Value j, Value common);
  SmallVector<Value> place(const Step &at, Value i, Value j) {
    return {at.batch, at.head, i, k.add(at.firstColumn, j)};
  }
  /// Where a sum or a value of the unit stands.
  SmallVector<Value> own(const Step &at, Value j) { return {at.batch, at.head, k.add(at.firstColumn, j)}; }

  nn::ScanOp op;
  nn::ScanOp::Adaptor adaptor;
  ConversionPatternRewriter &rewriter;
  Location loc;
  KernelBuilder k;
  int64_t heads, group, rows, columns, width, blocks;
  SmallVector<OpFoldResult> sizes; ///< of the values

  // In the kernel.
  Value query, key, value, decay, rates, beta, state, result;
  Value sums, taken, decays; ///< of each unit: a row of sums, of values, of decays
};
} // namespace

Value ScanProgram::rowDecay(const Step &at, Value i) {
  if (op.hasChannelDecay())
    return k.load(decays, {at.batch, at.head, at.block, i});
  return at.headDecay; // null if every element has its own
}

Value ScanProgram::decayed(const Step &at, Value i, Value j, Value common) {
  Value old = k.load(state, place(at, i, j));
  if (common)
    return multiply(common, old);
  Value column = k.add(at.firstColumn, j);
  Value power = multiply(element(decay, at, {at.head, column}), k.load(rates, {at.head, i, column}));
  return multiply(math::ExpOp::create(k, power), old);
}

void ScanProgram::loadDecay(Step &at) {
  if (op.hasChannelDecay())
    k.independentLoop(k.idx(0), k.idx(rows), [&](Value i) {
      Value factor = math::ExpOp::create(k, element(decay, at, {at.head, i}));
      k.store(factor, decays, {at.batch, at.head, at.block, i});
    });
  else if (!op.getRates())
    at.headDecay = math::ExpOp::create(k, element(decay, at, at.head));
}

/// sums = H^T k after the decay: what the key finds.
void ScanProgram::findOld(const Step &at) {
  forColumns(at, [&](Value j) { k.store(k.f32(0.0), sums, own(at, j)); });
  forRows([&](Value i) {
    Value factor = element(key, at, {at.keyHead, i}), common = rowDecay(at, i);
    forColumns(at, [&](Value j) {
      Value sum = multiplyAdd(factor, decayed(at, i, j, common), k.load(sums, own(at, j)));
      k.store(sum, sums, own(at, j));
    });
  });
}

/// taken = what the key brings: its value, or the part of it that it does not find.
void ScanProgram::takeValue(const Step &at) {
  Value part = beta ? element(beta, at, at.head) : Value();
  forColumns(at, [&](Value j) {
    Value brought = element(value, at, {at.head, k.add(at.firstColumn, j)});
    if (part)
      brought = multiply(part, arith::SubFOp::create(k, brought, k.load(sums, own(at, j))));
    k.store(brought, taken, own(at, j));
    k.store(k.f32(0.0), sums, own(at, j));
  });
}

/// H = decayed H + k taken^T, and result = H^T q.
void ScanProgram::update(const Step &at) {
  forRows([&](Value i) {
    Value into = element(key, at, {at.keyHead, i}), out = element(query, at, {at.keyHead, i}), common = rowDecay(at, i);
    forColumns(at, [&](Value j) {
      Value next = multiplyAdd(into, k.load(taken, own(at, j)), decayed(at, i, j, common));
      k.store(next, state, place(at, i, j));
      k.store(multiplyAdd(out, next, k.load(sums, own(at, j))), sums, own(at, j));
    });
  });
  Type type = getElementTypeOrSelf(result);
  forColumns(at, [&](Value j) {
    Value column = k.add(at.firstColumn, j);
    k.store(k.convert(k.load(sums, own(at, j)), type), result, {at.batch, at.time, at.head, column});
  });
}

void ScanProgram::step(const Step &unit) {
  Step at = unit;
  loadDecay(at);
  if (beta)
    findOld(at);
  takeValue(at);
  update(at);
}

void ScanProgram::captureOperands(Value resultBuffer, Value stateBuffer) {
  query = k.arg(adaptor.getQuery());
  key = k.arg(adaptor.getKey());
  value = k.arg(adaptor.getValue());
  decay = k.arg(adaptor.getDecay());
  rates = op.getRates() ? k.arg(adaptor.getRates()) : Value();
  beta = op.getBeta() ? k.arg(adaptor.getBeta()) : Value();
  state = k.arg(stateBuffer);
  result = k.arg(resultBuffer);
  auto scratch = [&](ArrayRef<int64_t> shape) {
    SmallVector<OpFoldResult> all = {sizes[0]};
    llvm::append_range(all, getAsIndexOpFoldResult(rewriter.getContext(), shape));
    return k.arg(allocate(rewriter, loc, rewriter.getF32Type(), all));
  };
  sums = scratch({heads, columns});
  taken = scratch({heads, columns});
  decays = op.hasChannelDecay() ? scratch({heads, blocks, rows}) : Value();
}

void ScanProgram::emit(Value resultBuffer, Value stateBuffer) {
  captureOperands(resultBuffer, stateBuffer);
  Value steps = k.indexArg(sizes[1]);
  const int64_t rest = width ? columns % width : 0;
  k.forall({k.indexArg(sizes[0]), k.idx(heads), k.idx(blocks)}, [&](ValueRange at) {
    Step unit{at[0], at[1], k.div(at[1], k.idx(group)), at[2], Value(), k.mul(at[2], k.idx(width)), width, Value()};
    auto walk = [&](int64_t own) {
      unit.width = own;
      k.loop(k.idx(0), steps, 1, [&](Value time) {
        unit.time = time;
        step(unit);
      });
    };
    if (!rest)
      return walk(width);
    Value isFull = arith::CmpIOp::create(k, arith::CmpIPredicate::ne, at[2], k.idx(blocks - 1));
    k.branch(isFull, [&] { walk(width); }, [&] { walk(rest); });
  });
  // Multiply-adds of reading and of taking in, with the delta rule also of finding, and the product of the decay.
  OpFoldResult tokens = mulSizes(rewriter, loc, {sizes[0], sizes[1]});
  OpFoldResult flops = mulSizes(rewriter, loc, {tokens, rewriter.getIndexAttr(heads * rows * columns * (beta ? 7 : 5))});
  auto kind = [&]() -> StringRef { return rates ? "elements" : op.hasChannelDecay() ? "channels" : "heads"; };
  k.launch(rewriter,
           (beta ? "scan_delta_" : "scan_") + kind() + "_" + shapeName({heads, rows, columns}) +
               (group > 1 ? "_group" + std::to_string(group) : "") + "_" +
               typeName(getElementTypeOrSelf(adaptor.getValue())),
           tokens, flops);
}

namespace {
struct ScanLowering : GraphPattern<nn::ScanOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(nn::ScanOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value state = adaptor.getState();
    if (!op.getInPlace()) {
      SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, state);
      state = allocate(rewriter, loc, memrefOf(op.getNext()), sizes);
      emitCopy(lowering, rewriter, loc, {adaptor.getState(), {}, {}, {}}, {state, {}, {}, {}}, sizes);
    }
    Value result = allocate(rewriter, loc, memrefOf(op.getResult()), sizesOf(rewriter, loc, adaptor.getValue()));
    ScanProgram(lowering, op, adaptor, rewriter).emit(result, state);
    rewriter.replaceOp(op, {result, state});
    return success();
  }
};
} // namespace

void mlir::kernel::populateScanPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                        RewritePatternSet &patterns) {
  patterns.add<ScanLowering>(converter, lowering);
}
