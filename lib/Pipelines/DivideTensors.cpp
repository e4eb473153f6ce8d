//===- DivideTensors.cpp - attention and dense layers divided among ranks -----------------------------------------===//
//
// Types become those of a part, parameters the part that is read, and sums over what is divided are added over the
// ranks: of a product each rank has a summand, which is rounded when all are added. A norm adds its squares, a number
// per row. Of a table a rank gives the rows that it has, and zeros, so that their sum is exact.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "DivideTensors.h"

#include "DivideLayers.h"

#include "moe-mlir/Dialect/Moe/IR/Groups.h"
#include "moe-mlir/Support/LinalgBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace moe_mlir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {
class TensorRewriter {
public:
  TensorRewriter(func::FuncOp func, const TensorAxes &axes, FlatSymbolRefAttr grid, int64_t ranks, Type sums)
      : func(func), axes(axes), grid(grid), ranks(ranks), sums(sums), b(func.getContext()) {}

  void run();

private:
  void setTypes();
  void setSizes(Operation *op);
  void cutOperand(const TensorAxes::Cut &cut);
  Value cutUniform(Value value, int64_t dim, int64_t parts);
  void takeShard(OpOperand &operand, int64_t dim, int64_t parts);
  FlatSymbolRefAttr gridOf(int64_t parts);
  void addSummands(nn::LinearOp op);
  void addSquares(nn::RmsNormOp op);
  void divideTable(nn::EmbeddingOp op);
  void gather(OpOperand &result);

  /// The sum over the ranks of what `summand` was before it was one, in all that reads it.
  void addOverRanks(Value summand, RankedTensorType type);
  Value allReduce(Location loc, Value summand);

  static RankedTensorType partType(RankedTensorType type, int64_t dim, int64_t parts) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] /= parts;
    return type.clone(shape);
  }

  func::FuncOp func;
  const TensorAxes &axes;
  FlatSymbolRefAttr grid;
  int64_t ranks;
  Type sums;
  OpBuilder b;
  llvm::SetVector<Operation *> whole; ///< what parts are read of instead
};
} // namespace

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

void TensorRewriter::setTypes() {
  auto setType = [&](Value value) {
    if (std::optional<int64_t> dim = axes.dimOf(value))
      value.setType(partType(typeOf(value), *dim, axes.partsOf(value)));
  };
  llvm::for_each(func.getArguments(), setType);
  for (Operation &op : func.front()) {
    if (op.getNumResults() > 0 && axes.dimOf(op.getResult(0)))
      setSizes(&op);
    llvm::for_each(op.getResults(), setType);
  }
}

/// Static sizes that an op states beside the types.
void TensorRewriter::setSizes(Operation *op) {
  const int64_t dim = *axes.dimOf(op->getResult(0)), parts = axes.partsOf(op->getResult(0));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    SmallVector<int64_t> sizes(expand.getStaticOutputShape());
    sizes[dim] /= parts;
    expand.setStaticOutputShape(sizes);
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    SmallVector<int64_t> sizes(slice.getStaticSizes());
    sizes[*axes.dimOf(slice.getSource())] /= parts;
    slice.setStaticSizes(sizes);
  }
  if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
    auto shape = reshape.getShape().getDefiningOp<tensor::FromElementsOp>();
    b.setInsertionPoint(op);
    SmallVector<Value> sizes(shape.getElements());
    const int64_t size = typeOf(reshape.getResult()).getDimSize(dim) / parts;
    sizes[dim] = arith::ConstantOp::create(b, op->getLoc(), b.getIntegerAttr(sizes[dim].getType(), size));
    whole.insert(shape);
    reshape.getShapeMutable().assign(tensor::FromElementsOp::create(b, op->getLoc(), shape.getType(), sizes));
  }
}

/// The grid whose ranks have `parts` different parts.
FlatSymbolRefAttr TensorRewriter::gridOf(int64_t parts) {
  if (parts == ranks)
    return grid;
  auto module = func->getParentOfType<ModuleOp>();
  for (auto other : module.getOps<shard::GridOp>())
    if (other->getAttr(moe::kGroupsOfAttr) == grid && other.getShape() == ArrayRef<int64_t>{parts})
      return FlatSymbolRefAttr::get(other.getSymNameAttr());
  SymbolTable symbols(module);
  OpBuilder builder(b.getContext());
  auto groups = shard::GridOp::create(builder, module.getLoc(), "kv", ArrayRef<int64_t>{parts});
  groups->setAttr(moe::kAxesAttr, b.getStrArrayAttr({"kv"}));
  groups->setAttr(moe::kGroupsOfAttr, grid);
  return FlatSymbolRefAttr::get(symbols.insert(groups, std::next(Block::iterator(symbols.lookup(grid.getValue())))));
}

void TensorRewriter::takeShard(OpOperand &operand, int64_t dim, int64_t parts) {
  whole.insert(operand.get().getDefiningOp());
  takePart(operand, moe::ShardAttr::get(b.getContext(), dim, gridOf(parts), parts, /*halves=*/false),
           partType(typeOf(operand.get()), dim, parts));
}

void TensorRewriter::cutOperand(const TensorAxes::Cut &cut) {
  if (isParameter(cut.operand->get()))
    return takeShard(*cut.operand, cut.dim, cut.parts);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(cut.operand->getOwner());
  whole.insert(cut.operand->get().getDefiningOp());
  cut.operand->set(cutUniform(cut.operand->get(), cut.dim, cut.parts));
}

Value TensorRewriter::cutUniform(Value value, int64_t dim, int64_t parts) {
  Operation *op = value.getDefiningOp();
  RankedTensorType type = partType(typeOf(value), dim, parts);
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    whole.insert(fill.getDpsInitOperand(0)->get().getDefiningOp());
    Value init = cutUniform(fill.getDpsInitOperand(0)->get(), dim, parts);
    return linalg::FillOp::create(b, fill.getLoc(), fill.getDpsInputOperand(0)->get(), init).getResult(0);
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type);
    return arith::ConstantOp::create(b, constant.getLoc(), splat);
  }
  Operation *part = b.clone(*op);
  part->getResult(0).setType(type);
  return part->getResult(0);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value TensorRewriter::allReduce(Location loc, Value summand) {
  return shard::AllReduceOp::create(b, loc, typeOf(summand).clone(b.getF32Type()), grid.getValue(),
                                    ArrayRef<int16_t>{0}, summand);
}

void TensorRewriter::addOverRanks(Value summand, RankedTensorType type) {
  Location loc = summand.getLoc();
  SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(summand.getUses()));
  b.setInsertionPointAfterValue(summand);
  Value sum = allReduce(loc, summand);
  if (!type.getElementType().isF32())
    sum = arith::TruncFOp::create(b, loc, type, sum);
  for (OpOperand *use : uses)
    use->set(sum);
}

void TensorRewriter::addSummands(nn::LinearOp op) {
  if (op.getBias()) {
    OpOperand &bias = *op.getBiasMutable().begin();
    whole.insert(bias.get().getDefiningOp());
    takePart(bias, moe::OnceAttr::get(b.getContext(), grid, ranks), bias.get().getType());
  }
  RankedTensorType type = typeOf(op.getResult());
  op.getResult().setType(type.clone(sums));
  addOverRanks(op.getResult(), type);
}

void TensorRewriter::divideTable(nn::EmbeddingOp op) {
  takeShard(op.getTableMutable(), 0, ranks);
  op.setAtAttr(grid);
  addOverRanks(op.getResult(), typeOf(op.getResult()));
}

void TensorRewriter::addSquares(nn::RmsNormOp op) {
  ImplicitLocOpBuilder at(op.getLoc(), op);
  LinalgBuilder linalg(at);
  SmallVector<OpFoldResult> loops = linalg.sizes(op.getX());
  const int64_t rows = loops.size() - 1;
  auto range = [](int64_t count) { return llvm::to_vector(llvm::seq<int64_t>(0, count)); };
  Value squares = linalg.reduce(loops, rows, at.getF32FloatAttr(0), {{op.getX(), range(rows + 1)}},
                                [](LinalgBuilder::Step &step) -> Value {
                                  Value x = toF32(step.b, step.in[0]), square = arith::MulFOp::create(step.b, x, x);
                                  return arith::AddFOp::create(step.b, step.acc, square);
                                });
  // A column, so that what travels has rows.
  SmallVector<ReassociationIndices> groups;
  for (int64_t row = 0; row < rows; ++row)
    groups.push_back({row});
  groups.back().push_back(rows);
  SmallVector<OpFoldResult> sizes(loops);
  sizes.back() = at.getIndexAttr(1);
  SmallVector<int64_t> shape(typeOf(squares).getShape());
  shape.push_back(1);
  Value column = tensor::ExpandShapeOp::create(at, typeOf(squares).clone(shape), squares, groups, sizes);
  b.setInsertionPoint(op);
  Value sum = tensor::CollapseShapeOp::create(at, squares.getType(), allReduce(op.getLoc(), column), groups);
  // Where neighbours have the same part, the sum has its squares as often as the count its columns.
  Value count = constantF32(at, static_cast<float>(typeOf(op.getX()).getDimSize(rows) * ranks));
  Value eps = constantF32(at, op.getEps().convertToDouble());
  Value factor = linalg.map(ArrayRef(loops).drop_back(), at.getF32Type(), {{sum, range(rows)}},
                            [&](LinalgBuilder::Step &step) -> Value {
                              Value mean = arith::DivFOp::create(step.b, step.in[0], count);
                              return math::RsqrtOp::create(step.b, arith::AddFOp::create(step.b, mean, eps));
                            });
  Type element = elementOf(op.getX());
  Value normal =
      linalg.map(loops, element, {{op.getX(), range(rows + 1)}, {factor, range(rows)}, {op.getWeight(), {rows}}},
                 [&](LinalgBuilder::Step &step) -> Value {
                   Value x = arith::MulFOp::create(step.b, toF32(step.b, step.in[0]), step.in[1]);
                   if (!op.getFusedScale())
                     x = toF32(step.b, fromF32(step.b, x, element));
                   return fromF32(step.b, arith::MulFOp::create(step.b, toF32(step.b, step.in[2]), x), element);
                 });
  op.getResult().replaceAllUsesWith(linalg.cast(normal, op.getType()));
  op.erase();
}

void TensorRewriter::gather(OpOperand &result) {
  RankedTensorType part = typeOf(result.get());
  SmallVector<int64_t> shape(part.getShape());
  shape.back() *= ranks;
  b.setInsertionPoint(result.getOwner());
  result.set(shard::AllGatherOp::create(b, result.get().getLoc(), part.clone(shape), grid.getValue(),
                                        ArrayRef<int16_t>{0}, result.get(), APInt(64, part.getRank() - 1)));
}

void TensorRewriter::run() {
  setTypes();
  for (const TensorAxes::Cut &cut : axes.cuts())
    cutOperand(cut);
  for (nn::EmbeddingOp op : axes.tables())
    divideTable(op);
  for (nn::LinearOp op : axes.sums())
    addSummands(op);
  for (OpOperand *result : axes.gathers())
    gather(*result);
  for (nn::RmsNormOp op : axes.norms())
    addSquares(op);
  dropUnread(whole.getArrayRef());
  func.setType(FunctionType::get(func.getContext(), func.front().getArgumentTypes(),
                                 func.front().getTerminator()->getOperandTypes()));
}

//===----------------------------------------------------------------------===//
// What was decided
//===----------------------------------------------------------------------===//

static remark::detail::InFlightRemark startRemark(Location loc, func::FuncOp func, StringRef name) {
  return remark::analysis(loc, remark::RemarkOpts::name(name).category("moe-partition").function(func.getName()));
}

/// "'nn.linear' by 'model.lm_head.weight'"
static std::string describe(Operation *op) {
  std::string text = ("'" + op->getName().getStringRef() + "'").str();
  auto linear = dyn_cast<nn::LinearOp>(op);
  auto batch = dyn_cast<nn::BatchLinearOp>(op);
  auto embedding = dyn_cast<nn::EmbeddingOp>(op);
  Value weight = linear      ? Value(linear.getWeight())
                 : batch     ? Value(batch.getWeight())
                 : embedding ? Value(embedding.getTable())
                             : Value();
  if (auto parameter = weight ? weight.getDefiningOp<moe::ParameterOp>() : moe::ParameterOp())
    text += " of '" + cast<StringAttr>(parameter.getSources()[0]).getValue().str() + "'";
  return text;
}

static void explain(func::FuncOp func, const TensorAxes &axes, int64_t ranks) {
  if (!func.getContext()->getRemarkEngine())
    return;
  int64_t columns = 0, states = 0;
  for (Operation &op : func.front()) {
    auto linear = dyn_cast<nn::LinearOp>(op);
    columns += linear && axes.dimOf(linear.getResult()) && !axes.dimOf(linear.getX());
  }
  for (BlockArgument argument : func.getArguments())
    states += axes.dimOf(argument).has_value();
  const int64_t sums = axes.sums().size();
  startRemark(func.getLoc(), func, "tensors")
      << "each of " + std::to_string(ranks) + " ranks makes a part of the columns of " + std::to_string(columns) +
             " products, sums over a part in " + std::to_string(sums) + ", has a part of the heads of " +
             std::to_string(states) + " states, and of the rows of " + std::to_string(axes.tables().size()) + " tables"
      << remark::metric("columns", columns) << remark::metric("sums", sums) << remark::metric("states", states);
  for (const TensorAxes::Stop &stop : axes.stops())
    startRemark(stop.op->getLoc(), func, "whole")
        << describe(stop.op) + " stays whole on every rank: " + (stop.by == stop.op ? "it " : describe(stop.by) + " ") +
               stop.why;
}

FailureOr<bool> moe_mlir::divideTensors(func::FuncOp func, FlatSymbolRefAttr grid, int64_t ranks, Type sums) {
  TensorAxes axes(func, ranks);
  if (failed(axes.run()))
    return failure();
  explain(func, axes, ranks);
  TensorRewriter(func, axes, grid, ranks, sums).run();
  return axes.dividesAny();
}
