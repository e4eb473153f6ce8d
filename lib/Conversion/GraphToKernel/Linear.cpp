//===- Linear.cpp - nn.linear, nn.batch_linear and the packing of weights ---------------------------------------===//
//
// A block takes a column block of the weight (on a CPU 64 columns x full K, which stay in its cache) and a chunk of
// rows; the rows pass through the tile of accumulators, on a CPU six at a time. Column blocks are the outer dimension,
// so that a block's contiguous range of work meets the same weights again with its next chunk.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

#include "moe-mlir/Support/FixedStrides.h"

using namespace mlir;
using namespace mlir::kernel;

/// Shape of a weight [.., N, K] after #moe.pack.
static SmallVector<OpFoldResult> packedSizes(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes,
                                             int64_t blockColumns, int64_t depth) {
  SmallVector<OpFoldResult> packed(sizes.drop_back(2));
  packed.push_back(ceilDivSize(b, loc, sizes[sizes.size() - 2], blockColumns));
  packed.push_back(ceilDivSize(b, loc, sizes.back(), depth));
  packed.push_back(b.getIndexAttr(blockColumns));
  if (depth > 1)
    packed.push_back(b.getIndexAttr(depth));
  return packed;
}

/// Packs `weight` ([.., N, K] in memory) by a kernel: a column block each.
static Value emitPack(GraphLowering &lowering, const ProductTiles &tiles, OpBuilder &host, Location loc, Value weight,
                      bool halves, bool interleaved) {
  auto type = cast<MemRefType>(weight.getType());
  Type element = type.getElementType();
  int64_t depth = tiles.depth, blockColumns = tiles.blockColumns, rank = type.getRank();
  SmallVector<OpFoldResult> sizes = sizesOf(host, loc, weight);
  Value packed = allocate(host, loc, element, packedSizes(host, loc, sizes, blockColumns, depth));

  KernelBuilder kernel(lowering.kernels, loc);
  Value source = kernel.arg(weight), dest = kernel.arg(packed);
  SmallVector<Value> outer;
  for (int64_t i = 0; i < rank - 1; ++i)
    outer.push_back(kernel.dim(dest, i));
  Value n = kernel.dim(source, rank - 2), k = kernel.dim(source, rank - 1);
  Value zero = arith::ConstantOp::create(kernel, kernel.getFloatAttr(element, 0.0));
  kernel.forall(outer, [&](ValueRange block) {
    kernel.loop(kernel.idx(0), kernel.idx(blockColumns), 1, [&](Value column) {
      // The source row of this column, and whether there is one.
      Value row = kernel.add(kernel.mul(block.back(), kernel.idx(blockColumns)), column), exists;
      if (halves) {
        int64_t half = blockColumns / 2;
        Value isUp = arith::CmpIOp::create(kernel, arith::CmpIPredicate::uge, column, kernel.idx(half));
        Value i = kernel.add(kernel.mul(block.back(), kernel.idx(half)), kernel.rem(column, kernel.idx(half)));
        Value rows = kernel.div(n, kernel.idx(2));
        exists = arith::CmpIOp::create(kernel, arith::CmpIPredicate::ult, i, rows);
        Value up = interleaved ? kernel.add(kernel.mul(i, kernel.idx(2)), kernel.idx(1)) : kernel.add(i, rows);
        Value gate = interleaved ? kernel.mul(i, kernel.idx(2)) : i;
        row = arith::SelectOp::create(kernel, isUp, up, gate);
      } else {
        exists = arith::CmpIOp::create(kernel, arith::CmpIPredicate::ult, row, n);
      }
      kernel.loop(kernel.idx(0), kernel.mul(kernel.dim(dest, rank - 1), kernel.idx(depth)), 1, [&](Value step) {
        Value inside =
            arith::AndIOp::create(kernel, exists, arith::CmpIOp::create(kernel, arith::CmpIPredicate::ult, step, k));
        auto branch = scf::IfOp::create(kernel, TypeRange(element), inside, /*withElseRegion=*/true);
        {
          OpBuilder::InsertionGuard guard(kernel);
          kernel.setInsertionPointToStart(branch.thenBlock());
          SmallVector<Value> from(block.drop_back());
          from.append({row, step});
          scf::YieldOp::create(kernel, kernel.load(source, from));
          kernel.setInsertionPointToStart(branch.elseBlock());
          scf::YieldOp::create(kernel, zero);
        }
        SmallVector<Value> to(block.begin(), block.end());
        to.append({kernel.div(step, kernel.idx(depth)), column});
        if (depth > 1)
          to.push_back(kernel.rem(step, kernel.idx(depth)));
        kernel.store(branch.getResult(0), dest, to);
      });
    });
  });
  OpFoldResult work = mulSizes(host, loc, sizes);
  kernel.launch(host, "pack_" + shapeName(type.getShape()) + "_" + typeName(element) + (halves ? "_halves" : ""),
                sizes[rank - 2], work);
  return packed;
}

/// Variants of an entry read one archive, in which experts are whole: the slice that a rank has stands with gaps there,
/// if it is made of whole blocks. Nothing where it is not, or where there are no slices.
static MemRefLayoutAttrInterface layoutOfSlice(moe::ParameterOp parameter, ArrayRef<int64_t> own,
                                               ArrayRef<int64_t> packed, int64_t blockColumns, int64_t depth) {
  auto function = parameter->getParentOfType<func::FuncOp>();
  if (!function || !moe::variantOf(function) || !parameter.getRecipe())
    return {};
  moe::ShardAttr slice;
  for (auto step : parameter.getRecipe()->getAsRange<Attribute>())
    if (auto shard = dyn_cast<moe::ShardAttr>(step); shard && shard.getDim() > 0)
      slice = shard;
  const bool hasNone = !slice || slice.getRanks() == 1 || own.size() != 3 ||
                       (slice.getDim() == 1 ? own[1] % blockColumns : own[2] % depth) != 0;
  if (hasNone)
    return {};
  SmallVector<int64_t> strides(packed.size(), 1);
  for (int64_t d = packed.size() - 1; d > 0; --d)
    strides[d - 1] = strides[d] * packed[d] * (d == slice.getDim() ? slice.getRanks() : 1);
  return StridedLayoutAttr::get(parameter.getContext(), /*offset=*/0, strides);
}

Value mlir::kernel::packWeight(GraphLowering &lowering, ConversionPatternRewriter &rewriter, Location loc,
                               const ProductTiles &tiles, Value tensor, Value converted, bool halves,
                               bool interleaved) {
  auto parameter = tensor.getDefiningOp<moe::ParameterOp>();
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!parameter)
    return emitPack(lowering, tiles, rewriter, loc, converted, halves, interleaved);
  int64_t depth = tiles.depth, blockColumns = tiles.blockColumns;
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(rewriter.getIndexAttr(size));
  SmallVector<int64_t> shape;
  for (OpFoldResult size : packedSizes(rewriter, loc, sizes, blockColumns, depth))
    shape.push_back(*getConstantIntValue(size));
  SmallVector<Attribute> recipe;
  if (parameter.getRecipe())
    llvm::append_range(recipe, *parameter.getRecipe());
  recipe.push_back(moe::PackAttr::get(rewriter.getContext(), blockColumns, depth, halves, interleaved));
  auto layout = layoutOfSlice(parameter, type.getShape(), shape, blockColumns, depth);
  auto packed = moe::ParameterOp::create(rewriter, parameter.getLoc(),
                                         MemRefType::get(shape, type.getElementType(), layout), parameter.getSources(),
                                         rewriter.getArrayAttr(recipe));
  // Blocks are filled up, so many shapes have one packed form: whoever reads the weights must know the right one.
  packed->setAttr(moe::kShapeAttr, rewriter.getDenseI64ArrayAttr(type.getShape()));
  return packed;
}

namespace {
/// Of a batch of matrices, row r of those of x that meet matrix g stands at r * G + g, and so does the result's.
template <typename Op> struct ProductLowering : GraphPattern<Op> {
  using GraphPattern<Op>::GraphPattern;
  using GraphPattern<Op>::lowering;

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    ProductTiles tiles = tilesOf(op);
    Value weight = packWeight(lowering, rewriter, loc, tiles, op.getWeight(), adaptor.getWeight());
    SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, adaptor.getX());
    auto weightType = cast<RankedTensorType>(op.getWeight().getType());
    const int64_t batch = weightType.getRank() - 2;
    OpFoldResult depth = sizes.back();
    sizes.back() = sizeOf(rewriter, loc, adaptor.getWeight(), batch);
    Epilogue epilogue(lowering, op, rewriter);
    Value result = epilogue.allocateResult(this->memrefOf(op.getResult()), sizes);
    Value x = asMatrix(rewriter, loc, adaptor.getX()), y = asMatrix(rewriter, loc, result);

    KernelBuilder kernel(lowering.kernels, loc);
    epilogue.capture(kernel);
    Operands operands{kernel.arg(x), kernel.arg(weight), {}, {}, {}};
    if (adaptor.getBias())
      operands.bias = kernel.arg(adaptor.getBias());
    operands.y = kernel.arg(y);
    operands.rows =
        batch ? kernel.indexArg(mulSizes(rewriter, loc, ArrayRef(sizes).drop_back(2))) : kernel.dim(operands.x, 0);
    emit(kernel, tiles, operands, epilogue);
    OpFoldResult rows = sizeOf(rewriter, loc, x, 0);
    OpFoldResult work = mulSizes(rewriter, loc, {rows, sizes.back(), depth, rewriter.getIndexAttr(2)});
    Type in = getElementTypeOrSelf(x), out = getElementTypeOrSelf(y);
    kernel.launch(rewriter,
                  Op::getOperationName().split('.').second + "_" + shapeName(weightType.getShape()) + "_" +
                      typeName(in) + (in == out ? "" : "_" + typeName(out)) + (adaptor.getBias() ? "_bias" : "") +
                      epilogue.name(),
                  rows, work);
    rewriter.replaceOp(op, epilogue.replacement(result, this->memrefOf(op.getResult()), sizes));
    return success();
  }

private:
  /// Of the kernel; `rows` is the number of those that meet one matrix.
  struct Operands {
    Value x, weight, bias, y, rows;
  };

  void emit(KernelBuilder &kernel, const ProductTiles &tiles, const Operands &operands, Epilogue &epilogue) const {
    int64_t rows = tiles.rows, columns = tiles.columns, blockColumns = tiles.blockColumns;
    const bool isBatch = std::is_same_v<Op, nn::BatchLinearOp>;
    Value x = operands.x, weight = operands.weight, bias = operands.bias, y = operands.y, m = operands.rows;
    // Enough rows to hide the cost of a column block, few enough to balance narrow weights.
    int64_t chunkRows = tiles.chunkRows;
    Value zero = kernel.idx(0), chunk = kernel.idx(chunkRows), depth = kernel.dim(x, 1);
    Value matrices = isBatch ? kernel.dim(weight, 0) : Value(), blocks = kernel.dim(weight, isBatch);
    Value allBlocks = isBatch ? kernel.mul(matrices, blocks) : blocks;
    kernel.forall({allBlocks, kernel.ceilDiv(m, chunkRows)}, [&](ValueRange block) {
      SmallVector<Value> place = {block[0]}; // of the column block in the weight
      if (isBatch)
        place = {kernel.div(block[0], blocks), kernel.rem(block[0], blocks)};
      Value first = kernel.mul(block[1], chunk);
      kernel.loop(first, kernel.min(m, kernel.add(first, chunk)), rows, [&](Value row) {
        emitRowTile(kernel, rows, kernel.sub(m, row), [&] {
          Value tile = emitRows(kernel, rows, row,
                                [&](Value i) { return isBatch ? kernel.add(kernel.mul(i, matrices), place[0]) : i; });
          auto strip = [&](Value offset) {
            Value acc = emitProduct(kernel, rows, columns, x, tile, weight, place, zero, depth, offset)[0];
            Value column = kernel.add(kernel.mul(place.back(), kernel.idx(blockColumns)), offset);
            emitStoreTile(kernel, acc, y, tile, column, [&](ValueRange args) -> Value {
              Value v = args[2];
              SmallVector<Value> ofColumn(ArrayRef(place).drop_back());
              ofColumn.push_back(args[1]);
              if (bias)
                v = arith::AddFOp::create(kernel, v, kernel.toF32(kernel.load(bias, ofColumn)));
              return epilogue.apply(kernel, v, args[0], args[1]);
            });
          };
          if (columns == blockColumns)
            strip(zero);
          else
            kernel.loop(zero, kernel.idx(blockColumns), columns, strip);
        });
      });
    });
  }
};

struct ParameterLowering : GraphPattern<moe::ParameterOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(moe::ParameterOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // Users that want it packed make a parameter of their own; this one dies if there are no others.
    rewriter.replaceOpWithNewOp<moe::ParameterOp>(op, memrefOf(op.getResult()), op.getSources(), op.getRecipeAttr());
    return success();
  }
};
} // namespace

void mlir::kernel::populateLinearPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                          RewritePatternSet &patterns) {
  patterns.add<ProductLowering<nn::LinearOp>, ProductLowering<nn::BatchLinearOp>, ParameterLowering>(converter,
                                                                                                     lowering);
}
