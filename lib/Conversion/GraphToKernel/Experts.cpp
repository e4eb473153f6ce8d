//===- Experts.cpp - moe.expert: the two ragged products --------------------------------------------------------===//
//
// Both kernels walk (column block, tile record): a block's contiguous range meets one column block of all active
// experts before the next, which balances uneven experts and reads each weight once. Rows of the first product are
// token rows, found through the layout's token list; its epilogue is the activation region on the gate and up
// accumulators, which stand side by side in a weight block. Matrix registers want rows that stand below each other: for
// them tokens are gathered first, and both products read rows whose distance is an odd number of cache lines.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Overlap.h"
#include "PassLoop.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
/// Rows of the operand of a product, or of its result. Rows that stand apart are longer than what they hold.
struct Rows {
  Value buffer;
  bool isApart = false;
};

/// Columns of a buffer whose rows of `columns` elements matrix registers read: an odd number of cache lines, so that
/// the rows of a tile do not meet in the same places of a cache.
int64_t apart(int64_t columns, Type element) {
  int64_t line = 512 / element.getIntOrFloatBitWidth();
  return columns % (2 * line) ? columns : columns + line;
}

struct ExpertLowering : GraphPattern<moe::ExpertOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(moe::ExpertOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    enterPasses(lowering, op, rewriter);
    LayoutBuffers layout(adaptor.getLayout());
    Value x = adaptor.getRows()[0];
    auto dispatch = op.getRows().getDefiningOp<moe::DispatchOp>();
    moe::Placement placement = dispatch ? placementOf(dispatch) : moe::Placement::Gathered;
    OpFoldResult rows = sizeOf(rewriter, loc, x, 0);
    if (placement != moe::Placement::Gathered)
      x = rewriter.getRemappedValue(dispatch.getTokens());

    auto inType = cast<RankedTensorType>(op.getWIn().getType());
    auto outType = cast<RankedTensorType>(op.getWOut().getType());
    bool gated = op.getGated();
    ProductTiles up = tilesOf(op, 0), down = tilesOf(op, 1);
    Value wIn = packWeight(lowering, rewriter, loc, up, op.getWIn(), adaptor.getWIn()[0], gated, op.getInterleaved());
    Value wOut = packWeight(lowering, rewriter, loc, down, op.getWOut(), adaptor.getWOut()[0]);
    Value bIn = adaptor.getBIn().empty() ? Value() : adaptor.getBIn()[0];
    Value bOut = adaptor.getBOut().empty() ? Value() : adaptor.getBOut()[0];
    if (bIn && gated)
      bIn = splitBias(bIn, op.getInterleaved(), loc, rewriter);

    Type element = inType.getElementType();
    int64_t inner = outType.getDimSize(2);
    const bool isApart = placement == moe::Placement::Apart;
    if (isApart) {
      OpFoldResult width = rewriter.getIndexAttr(apart(inType.getDimSize(2), element));
      Value gathered = allocate(rewriter, loc, element, {rows, width});
      if (!moe::overlapOf(op))
        emitGather(lowering, rewriter, loc, x, Value(), layout.places, gathered);
      x = gathered;
    }
    int64_t width = down.matrix ? apart(inner, element) : inner;
    Rows tokens{x, isApart || up.matrix};
    Rows h{allocate(rewriter, loc, element, {rows, rewriter.getIndexAttr(width)}), down.matrix};
    Value y = allocate(rewriter, loc, memrefOf(op.getResult()), {rows, rewriter.getIndexAttr(outType.getDimSize(1))});
    std::optional<Overlap> overlap = Overlap::of(lowering, rewriter, op, layout, up.rows, isApart ? x : Value());
    {
      KernelBuilder kernel(lowering.kernels, loc);
      emitUp(kernel, op, up, tokens, wIn, bIn, h, layout, placement == moe::Placement::InPlace, overlap, rewriter);
      LaunchOp launch =
          kernel.launch(rewriter, name("experts_up", inType, op), rows, work(rewriter, loc, rows, inType));
      if (overlap)
        overlap->sendUnder(launch, rewriter);
    }
    {
      KernelBuilder kernel(lowering.kernels, loc);
      emitDown(kernel, outType, down, h, wOut, bOut, y, layout, overlap);
      LaunchOp launch =
          kernel.launch(rewriter, name("experts_down", outType, nullptr), rows, work(rewriter, loc, rows, outType));
      if (overlap)
        overlap->returnUnder(launch, y, rewriter);
    }
    rewriter.replaceOp(op, y);
    return success();
  }

private:
  static std::string name(StringRef base, RankedTensorType weight, moe::ExpertOp gated) {
    return (base + "_" + shapeName(weight.getShape()) + "_" + typeName(weight.getElementType()) +
            (gated && gated.getGated() ? "_gated" : ""))
        .str();
  }

  static OpFoldResult work(OpBuilder &b, Location loc, OpFoldResult rows, RankedTensorType weight) {
    return mulSizes(b, loc, {rows, b.getIndexAttr(2 * weight.getDimSize(1) * weight.getDimSize(2))});
  }

  /// View [E, 2, I] of gate and up biases [E, 2I], so that a column's neighbour stands next to it.
  Value splitBias(Value bias, bool interleaved, Location loc, OpBuilder &b) const {
    auto type = cast<MemRefType>(bias.getType());
    int64_t experts = type.getDimSize(0), inner = type.getDimSize(1) / 2;
    if (!interleaved)
      return memref::ExpandShapeOp::create(b, loc, ArrayRef<int64_t>{experts, 2, inner}, bias,
                                           ArrayRef<ReassociationIndices>{{0}, {1, 2}});
    Value split = allocate(b, loc, MemRefType::get({experts, 2, inner}, type.getElementType()), {});
    KernelBuilder kernel(lowering.kernels, loc);
    Value from = kernel.arg(bias), to = kernel.arg(split);
    kernel.forall({kernel.idx(experts), kernel.idx(2)}, [&](ValueRange at) {
      kernel.loop(kernel.idx(0), kernel.idx(inner), 1, [&](Value i) {
        Value column = kernel.add(kernel.mul(i, kernel.idx(2)), at[1]);
        kernel.store(kernel.load(from, {at[0], column}), to, {at[0], at[1], i});
      });
    });
    OpFoldResult count = b.getIndexAttr(type.getNumElements());
    kernel.launch(b, "split_bias_" + shapeName(type.getShape()) + "_" + typeName(type.getElementType()),
                  b.getIndexAttr(experts), count);
    return split;
  }

  /// All records and column blocks.
  static TileWalk walkAll(KernelBuilder &kernel, Value weight, const LayoutBuffers &layout) {
    TileWalk walk;
    walk.records = kernel.arg(layout.records);
    walk.count = kernel.toIndex(kernel.load(kernel.arg(layout.count), kernel.idx(0)));
    walk.firstRecord = walk.firstBlock = kernel.idx(0);
    walk.blocks = kernel.dim(weight, 1);
    return walk;
  }

  /// Runs `tile(expert, column block, first row of the tile)` for every row tile of every record and column block.
  void forTiles(KernelBuilder &kernel, int64_t rows, const TileWalk &walk,
                llvm::function_ref<void(Value, Value, Value)> tile) const {
    scf::ForallOp loop = kernel.forall({walk.blocks, walk.count}, [&](ValueRange at) {
      Value block = kernel.add(walk.firstBlock, at[0]), record = kernel.add(walk.firstRecord, at[1]);
      if (walk.before)
        walk.before(record);
      auto field = [&](int64_t i) { return kernel.toIndex(kernel.load(walk.records, {record, kernel.idx(i)})); };
      Value expert = field(0), first = field(1), end = kernel.add(first, field(2));
      kernel.loop(first, end, rows, [&](Value row) {
        emitRowTile(kernel, rows, kernel.sub(end, row), [&] { tile(expert, block, row); });
      });
      if (walk.after)
        walk.after();
    });
    // With one column block there is no order, and canonicalize drops the dimension.
    if (getConstantIntValue(walk.blocks) != 1)
      loop->setAttr(KernelDialect::getColumnsInsideAttrName(), kernel.getUnitAttr());
  }

  /// Runs `strip(offset)` for the strips of `width` columns in the first `columns` columns of a weight block.
  static void forStrips(KernelBuilder &kernel, int64_t columns, int64_t width, KernelBuilder::Loop strip) {
    if (columns == width)
      strip(kernel.idx(0));
    else
      kernel.loop(kernel.idx(0), kernel.idx(columns), width, strip);
  }

  void emitUp(KernelBuilder &kernel, moe::ExpertOp op, const ProductTiles &tiles, Rows tokens, Value weight,
              Value bias, Rows result, const LayoutBuffers &layout, bool isGather,
              std::optional<Overlap> &overlap, ConversionPatternRewriter &rewriter) const {
    bool gated = op.getGated();
    // Gate and up share the register tile: each has half of its columns.
    auto inType = cast<RankedTensorType>(op.getWIn().getType());
    int64_t columns = gated ? tiles.blockColumns / 2 : tiles.blockColumns;
    int64_t width = gated ? tiles.columns / 2 : tiles.columns, rows = tiles.rows;
    Value x = overlap ? overlap->rowsOfUp(kernel) : kernel.arg(tokens.buffer);
    Value tokenOf = isGather ? kernel.arg(layout.tokens) : Value();
    Value w = kernel.arg(weight), b = bias ? kernel.arg(bias) : Value(), h = kernel.arg(result.buffer);
    int64_t inner = inType.getDimSize(1) / (gated ? 2 : 1);
    Value depth = tokens.isApart ? kernel.idx(inType.getDimSize(2)) : kernel.dim(x, 1), limit;
    if (result.isApart)
      limit = kernel.idx(inner);
    // The same for all rows: once, before the loops.
    IRMapping reads;
    cloneReads(kernel, op.getActivation(), reads, rewriter);
    TileWalk walk = overlap ? overlap->walkUp(kernel, w) : walkAll(kernel, w, layout);
    forTiles(kernel, rows, walk, [&](Value expert, Value block, Value row) {
      Value place = emitRows(kernel, rows, row, [](Value i) { return i; });
      Value source =
          !isGather ? place
                    : emitRows(kernel, rows, row, [&](Value i) { return kernel.toIndex(kernel.load(tokenOf, i)); });
      forStrips(kernel, columns, width, [&](Value offset) {
        SmallVector<Value> first = {offset};
        if (gated)
          first.push_back(kernel.add(offset, kernel.idx(columns)));
        SmallVector<Value> accs =
            emitProduct(kernel, rows, width, x, source, w, {expert, block}, kernel.idx(0), depth, first);
        Value column = kernel.add(kernel.mul(block, kernel.idx(columns)), offset);
        emitStoreTile(
            kernel, accs, h, place, column,
            [&](ValueRange args) {
              SmallVector<Value> values(args.drop_front(2));
              for (auto [i, value] : llvm::enumerate(values))
                if (b) {
                  SmallVector<Value> at = {expert};
                  if (gated)
                    at.push_back(kernel.idx(i));
                  at.push_back(args[1]);
                  value = arith::AddFOp::create(kernel, value, kernel.toF32(kernel.load(b, at)));
                }
              return activate(kernel, op, reads, values, rewriter);
            },
            limit);
      });
    });
  }

  /// The activation region on (gate, up) or one value.
  static Value activate(KernelBuilder &kernel, moe::ExpertOp op, const IRMapping &reads, ArrayRef<Value> values,
                        ConversionPatternRewriter &rewriter) {
    Block &block = op.getActivation().front();
    IRMapping mapping(reads);
    for (auto [arg, value] : llvm::zip(block.getArguments(), values))
      mapping.map(arg, value);
    mapCaptures(kernel, op.getActivation(), mapping, rewriter);
    for (Operation &nested : block.without_terminator())
      cloneScalarOp(kernel, nested, mapping);
    return mapping.lookup(block.getTerminator()->getOperand(0));
  }

  void emitDown(KernelBuilder &kernel, RankedTensorType outType, const ProductTiles &tiles, Rows hidden, Value weight,
                Value bias, Value result, const LayoutBuffers &layout, std::optional<Overlap> &overlap) const {
    int64_t rows = tiles.rows, width = tiles.columns;
    Value h = kernel.arg(hidden.buffer), w = kernel.arg(weight), b = bias ? kernel.arg(bias) : Value();
    Value y = kernel.arg(result), depth = hidden.isApart ? kernel.idx(outType.getDimSize(2)) : kernel.dim(h, 1);
    TileWalk walk = overlap ? overlap->walkDown(kernel, w) : walkAll(kernel, w, layout);
    forTiles(kernel, rows, walk, [&](Value expert, Value block, Value row) {
      Value place = emitRows(kernel, rows, row, [](Value i) { return i; });
      forStrips(kernel, tiles.blockColumns, width, [&](Value offset) {
        Value acc = emitProduct(kernel, rows, width, h, place, w, {expert, block}, kernel.idx(0), depth, offset)[0];
        Value column = kernel.add(kernel.mul(block, kernel.idx(tiles.blockColumns)), offset);
        emitStoreTile(kernel, acc, y, place, column, [&](ValueRange args) -> Value {
          if (!b)
            return args[2];
          return arith::AddFOp::create(kernel, args[2], kernel.toF32(kernel.load(b, {expert, args[1]})));
        });
      });
    });
  }
};
} // namespace

void mlir::kernel::populateExpertPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                          RewritePatternSet &patterns) {
  patterns.add<ExpertLowering>(converter, lowering);
}
