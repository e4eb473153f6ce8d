//===- GraphSizes.cpp - what a graph says about its sizes -------------------------------------------------------===//

#include "moe-mlir/Analysis/GraphSizes.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kernel;
using moe_mlir::NamedShape;

SmallVector<NamedShape> mlir::kernel::shapesOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<NamedShape>>(op)
      .Case<nn::EmbeddingOp, nn::LinearOp, nn::BatchLinearOp, nn::RmsNormOp, nn::RopeOp, nn::CacheUpdateOp,
            nn::AttentionOp, nn::CausalConvOp, nn::ScanOp, nn::TopKOp, moe::GateOp, moe::DispatchOp, moe::ExpertOp,
            moe::CombineOp, moe::AllToAllOp>([](auto op) { return op.getShapes(); })
      .Default([](Operation *) { return SmallVector<NamedShape>(); });
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

SizeExpr GraphSizes::symbolOf(Value value, int64_t dim) {
  auto [it, isNew] = numbers.try_emplace({value.getAsOpaquePointer(), dim}, symbols.size());
  if (isNew)
    symbols.push_back({dim < 0 ? Kind::Scalar : Kind::Dim, value, dim, {}, dim >= 0});
  return SizeExpr::symbol(it->second);
}

SizeExpr GraphSizes::argumentSize(BlockArgument argument, int64_t dim) {
  auto nameOf = [&](unsigned number, int64_t dim) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(number, "moe.dims");
    return dims && dim < static_cast<int64_t>(dims.size()) ? dyn_cast<StringAttr>(dims[dim]) : StringAttr();
  };
  StringAttr name = argument.getOwner() == &function.front() ? nameOf(argument.getArgNumber(), dim) : StringAttr();
  if (!name || name.empty())
    return symbolOf(argument, dim);
  auto [it, isNew] = named.try_emplace(name.getValue(), symbols.size());
  if (isNew)
    symbols.push_back({Kind::Dim, argument, dim, {}, true});
  return SizeExpr::symbol(it->second);
}

std::optional<SizeExpr> GraphSizes::ofName(StringRef name) {
  for (BlockArgument argument : function.getArguments())
    if (auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "moe.dims"))
      for (auto [dim, given] : llvm::enumerate(dims.getAsRange<StringAttr>()))
        if (given.getValue() == name)
          return size(argument, dim);
  return std::nullopt;
}

SizeExpr GraphSizes::function2(Kind kind, const SizeExpr &x, const SizeExpr &y) {
  auto u = x.getConstant(), v = y.getConstant();
  if (kind == Kind::Min || kind == Kind::Max) {
    if (u && v)
      return kind == Kind::Min ? std::min(*u, *v) : std::max(*u, *v);
    bool less = isNonNegative(y - x), greater = !less && isNonNegative(x - y);
    if (less || greater)
      return less == (kind == Kind::Min) ? x : y;
  }
  auto [it, isNew] = functions.try_emplace({kind, x.terms, y.terms}, symbols.size());
  if (isNew) {
    bool a = isNonNegative(x), b = isNonNegative(y);
    symbols.push_back({kind, {}, 0, {x, y}, kind == Kind::Max ? a || b : a && b});
  }
  return SizeExpr::symbol(it->second);
}

SizeExpr GraphSizes::floorDiv(const SizeExpr &size, int64_t divisor) {
  if (std::optional<SizeExpr> exact = size.dividedBy(divisor))
    return *exact;
  return function2(Kind::FloorDiv, size, divisor);
}

SizeExpr GraphSizes::scalar(OpFoldResult size) {
  std::optional<int64_t> constant = getConstantIntValue(size);
  return constant ? SizeExpr(*constant) : scalar(cast<Value>(size));
}

SizeExpr GraphSizes::scalar(Value integer) {
  auto known = sizes.find({integer.getAsOpaquePointer(), -1});
  if (known != sizes.end())
    return known->second;
  return sizes[{integer.getAsOpaquePointer(), -1}] = computed(integer);
}

/// Whether sums and products with it may leave the 64 bits of a coefficient.
static bool isLarge(const SizeExpr &size) {
  return llvm::any_of(size.terms, [](const auto &term) { return std::abs(term.second) >= int64_t(1) << 31; });
}

SizeExpr GraphSizes::computed(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  // Numbers of fewer bits wrap around.
  if (!op || !(value.getType().isIndex() || value.getType().isInteger(64)))
    return symbolOf(value, -1);
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
    if (index && type && *index >= 0 && *index < type.getRank())
      return size(dim.getSource(), *index);
    return symbolOf(value, -1);
  }
  if (auto cast = dyn_cast<arith::IndexCastOp>(op);
      cast && (cast.getIn().getType().isIndex() || cast.getIn().getType().isInteger(64)))
    return scalar(cast.getIn());
  if (op->getNumOperands() != 2)
    return symbolOf(value, -1);
  auto x = [&] { return scalar(op->getOperand(0)); };
  auto y = [&] { return scalar(op->getOperand(1)); };
  // A number with coefficients that 64 bits might not hold stays a number of its own.
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) && (isLarge(x()) || isLarge(y())))
    return symbolOf(value, -1);
  if (isa<arith::AddIOp>(op))
    return x() + y();
  if (isa<arith::SubIOp>(op))
    return x() - y();
  if (isa<arith::MulIOp>(op))
    return x() * y();
  if (isa<arith::MinSIOp>(op))
    return min(x(), y());
  if (isa<arith::MaxSIOp>(op))
    return function2(Kind::Max, x(), y());
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op)) {
    SizeExpr divisor = y();
    if (std::optional<int64_t> by = divisor.getConstant(); by && *by > 0 && isNonNegative(x()))
      return floorDiv(x(), *by);
    // A negative number is a large one without a sign.
    const bool isAsSigned = !isa<arith::DivUIOp>(op) || (isNonNegative(x()) && isNonNegative(divisor));
    if (std::optional<SizeExpr> exact = divisor.terms.size() == 1 && isAsSigned ? x().dividedBy(divisor) : std::nullopt)
      return *exact;
  }
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    if (std::optional<int64_t> by = y().getConstant(); by && *by > 0 && isNonNegative(x()))
      return function2(Kind::Rem, x(), *by);
  return symbolOf(value, -1);
}

//===----------------------------------------------------------------------===//
// Sizes of tensors
//===----------------------------------------------------------------------===//

std::optional<std::pair<SizeExpr, SizeExpr>> GraphSizes::pairs(Value layout) {
  // Rows that came back have the order in which they were sent.
  auto exchange = layout.getDefiningOp<moe::AllToAllOp>();
  auto dispatch = exchange && exchange.getInverse() ? exchange.getDispatch() : layout.getDefiningOp<moe::DispatchOp>();
  if (!dispatch)
    return std::nullopt;
  return std::pair(size(dispatch.getExperts(), 0), dispatch.getTo()
                                                       ? SizeExpr(dispatch.getLayout().getType().getExperts())
                                                       : size(dispatch.getExperts(), 1));
}

/// A dimension of an nn or moe op's result is that of the first operand with the same symbol.
std::optional<SizeExpr> GraphSizes::bySymbol(OpResult tensor, int64_t dim) {
  Operation *op = tensor.getOwner();
  if (auto dispatch = dyn_cast<moe::DispatchOp>(op); dispatch && dim == 0)
    return pairs(dispatch.getLayout())->first * pairs(dispatch.getLayout())->second;
  if (auto exchange = dyn_cast<moe::AllToAllOp>(op); exchange && dim == 0) {
    Value rows = exchange.getInverse() ? Value(exchange.getDispatch().getRows()) : exchange.getResult();
    return tensor == rows ? std::nullopt : std::optional(size(rows, 0)); // companions have one per row
  }
  if (auto combine = dyn_cast<moe::CombineOp>(op); combine && dim == 0) {
    auto known = pairs(combine.getLayout());
    return known ? std::optional(known->first) : std::nullopt;
  }
  if (auto same = moe_mlir::findSameSize(shapesOf(op), tensor, dim))
    return size(same->first, same->second);
  return std::nullopt;
}

std::optional<SizeExpr> GraphSizes::derived(OpResult tensor, int64_t dim) {
  using Result = std::optional<SizeExpr>;
  return llvm::TypeSwitch<Operation *, Result>(tensor.getOwner())
      .Case([&](tensor::EmptyOp op) -> Result { return scalar(op.getMixedSizes()[dim]); })
      .Case([&](tensor::CastOp op) -> Result {
        return isa<RankedTensorType>(op.getSource().getType()) ? Result(size(op.getSource(), dim)) : Result();
      })
      .Case([&](tensor::ExtractSliceOp op) -> Result {
        llvm::SmallBitVector dropped = op.getDroppedDims();
        for (auto [i, kept] : llvm::enumerate(op.getMixedSizes()))
          if (!dropped.test(i) && dim-- == 0)
            return scalar(kept);
        return Result();
      })
      .Case([&](tensor::InsertSliceOp op) -> Result { return size(op.getDest(), dim); })
      .Case([&](tensor::ExpandShapeOp op) -> Result { return scalar(op.getMixedOutputShape()[dim]); })
      .Case([&](tensor::CollapseShapeOp op) -> Result {
        SizeExpr product = 1;
        ReassociationIndices group = op.getReassociationIndices()[dim];
        for (int64_t source : group)
          product = product * size(op.getSrc(), source);
        return product;
      })
      .Case([&](tensor::ConcatOp op) -> Result {
        if (dim != static_cast<int64_t>(op.getDim()))
          return size(op.getInputs()[0], dim);
        SizeExpr sum;
        for (Value input : op.getInputs())
          sum = sum + size(input, dim);
        return sum;
      })
      .Case([&](tensor::PadOp op) -> Result {
        return size(op.getSource(), dim) + scalar(op.getMixedLowPad()[dim]) + scalar(op.getMixedHighPad()[dim]);
      })
      .Case([&](tensor::ReshapeOp op) -> Result {
        if (DenseIntElementsAttr shape; matchPattern(op.getShape(), m_Constant(&shape)))
          return SizeExpr(shape.getValues<APInt>()[dim].getSExtValue());
        auto shape = op.getShape().getDefiningOp<tensor::FromElementsOp>();
        return shape ? Result(scalar(shape.getElements()[dim])) : Result();
      })
      .Case([&](tensor::SplatOp op) -> Result {
        return op.getType().isDynamicDim(dim)
                   ? Result(scalar(op.getDynamicSizes()[op.getType().getDynamicDimIndex(dim)]))
                   : Result(op.getType().getDimSize(dim));
      })
      .Case([&](nn::SiluOp op) -> Result { return size(op.getInput(), dim); })
      .Case([&](nn::TopKOp op) -> Result {
        bool last = dim + 1 == cast<RankedTensorType>(tensor.getType()).getRank();
        return last ? Result(scalar(op.getCount())) : bySymbol(tensor, dim);
      })
      .Case([&](shard::AllReduceOp op) -> Result { return size(op.getInput(), dim); })
      .Case([&](shard::AllGatherOp op) -> Result {
        return dim == op.getGatherAxis().getSExtValue() ? Result() : Result(size(op.getInput(), dim));
      })
      .Case([&](DestinationStyleOpInterface op) -> Result { return size(op.getTiedOpOperand(tensor)->get(), dim); })
      .Default([&](Operation *op) -> Result {
        // Arithmetic of tensors (arith.addf, math.exp); a condition or a fill may be a scalar.
        if (op->hasTrait<OpTrait::Elementwise>())
          for (Value operand : op->getOperands())
            if (isa<RankedTensorType>(operand.getType()))
              return size(operand, dim);
        return bySymbol(tensor, dim);
      });
}

SizeExpr GraphSizes::size(Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return argumentSize(argument, dim);
  auto known = sizes.find({tensor.getAsOpaquePointer(), dim});
  if (known != sizes.end())
    return known->second;
  std::optional<SizeExpr> result = derived(cast<OpResult>(tensor), dim);
  return sizes[{tensor.getAsOpaquePointer(), dim}] = result ? *result : symbolOf(tensor, dim);
}

void GraphSizes::visit(Operation *op) {
  for (Value result : op->getResults()) {
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        (void)size(result, dim);
    else if (result.getType().isIndex() || result.getType().isInteger(64))
      (void)scalar(result);
  }
}
