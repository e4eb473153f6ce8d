//===- SizeAnalysis.cpp - dynamic sizes as polynomials ------------------------------------------------------------===//

#include "SizeAnalysis.h"

#include "moe-mlir/Analysis/GraphSizes.h"
#include "moe-mlir/Dialect/Aten/IR/Aten.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::aten;

SizeExpr SizeAnalysis::getSymbol(Value value, int64_t dim) {
  auto [it, inserted] = numbers.try_emplace({value.getAsOpaquePointer(), dim}, symbols.size());
  if (inserted)
    symbols.push_back({value, dim});
  return SizeExpr::symbol(it->second);
}

SizeExpr SizeAnalysis::getArgumentSize(BlockArgument argument, int64_t dim) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto dims = function ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "moe.dims") : ArrayAttr();
  auto name = dims && dim < int64_t(dims.size()) ? dyn_cast<StringAttr>(dims[dim]) : StringAttr();
  if (!name || name.empty())
    return getSymbol(argument, dim);
  auto [it, inserted] = named.try_emplace(name.getValue(), symbols.size());
  if (!inserted)
    return SizeExpr::symbol(it->second);
  // The first argument of that name stands for all, so that equal sizes become one value.
  for (BlockArgument first : function.getArguments()) {
    auto names = function.getArgAttrOfType<ArrayAttr>(first.getArgNumber(), "moe.dims");
    const auto *found = names ? llvm::find(names, Attribute(name)) : nullptr;
    if (names && found != names.end()) {
      symbols.push_back({first, found - names.begin()});
      break;
    }
  }
  return SizeExpr::symbol(it->second);
}

SizeExpr SizeAnalysis::getScalar(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (!op)
    return getSymbol(value, -1);
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    if (std::optional<int64_t> index = dim.getConstantIndex())
      return getSize(dim.getSource(), *index);
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    return getScalar(cast.getIn());
  if (isa<arith::AddIOp>(op))
    return getScalar(op->getOperand(0)) + getScalar(op->getOperand(1));
  if (isa<arith::SubIOp>(op))
    return getScalar(op->getOperand(0)) - getScalar(op->getOperand(1));
  if (isa<arith::MulIOp>(op))
    return getScalar(op->getOperand(0)) * getScalar(op->getOperand(1));
  auto call = dyn_cast<CallOp>(op);
  if (!call)
    return getSymbol(value, -1);
  StringRef base = call.getBase();
  if (base == "aten.sym_size") {
    Value self = call.getValue("self");
    int64_t rank = cast<RankedTensorType>(self.getType()).getRank();
    if (std::optional<int64_t> dim = call.getDim("dim", rank); dim && *dim < rank)
      return getSize(self, *dim);
  }
  if (base == "_operator.add" || base == "_operator.sub" || base == "_operator.mul" || base == "_operator.neg") {
    SmallVector<SizeExpr> operands;
    for (NamedAttribute argument : call.getArguments()) {
      if (Value operand = call.getOperandOf(argument.getValue()))
        operands.push_back(getScalar(operand));
      else if (auto integer = dyn_cast<IntegerAttr>(argument.getValue()))
        operands.push_back(integer.getInt());
      else
        return getSymbol(value, -1);
    }
    if (operands.size() == 1)
      return operands[0] * -1;
    return base.ends_with("add")   ? operands[0] + operands[1]
           : base.ends_with("sub") ? operands[0] - operands[1]
                                   : operands[0] * operands[1];
  }
  return getSymbol(value, -1);
}

std::optional<SizeExpr> SizeAnalysis::getOpSize(OpResult value, int64_t dim) {
  Operation *op = value.getOwner();
  auto fromList = [&](ArrayRef<OpFoldResult> sizes) -> SizeExpr {
    if (auto attr = dyn_cast<Attribute>(sizes[dim]))
      return cast<IntegerAttr>(attr).getInt();
    return getScalar(cast<Value>(sizes[dim]));
  };
  using Result = std::optional<SizeExpr>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](CallOp call) { return getCallSize(call, value.getResultNumber(), dim); })
      .Case([&](tensor::EmptyOp empty) -> Result { return fromList(empty.getMixedSizes()); })
      .Case([&](tensor::CastOp cast) -> Result { return getSize(cast.getSource(), dim); })
      .Case([&](tensor::ExtractSliceOp slice) -> Result {
        return slice.getDroppedDims().any() ? Result() : Result(fromList(slice.getMixedSizes()));
      })
      .Case([&](tensor::InsertSliceOp insert) -> Result { return getSize(insert.getDest(), dim); })
      .Case([&](tensor::ExpandShapeOp expand) -> Result { return fromList(expand.getMixedOutputShape()); })
      .Case([&](tensor::CollapseShapeOp collapse) -> Result {
        SizeExpr product = 1;
        ReassociationIndices group = collapse.getReassociationIndices()[dim];
        for (int64_t source : group)
          product = product * getSize(collapse.getSrc(), source);
        return product;
      })
      .Case([&](tensor::ConcatOp concat) -> Result {
        if (dim != int64_t(concat.getDim()))
          return getSize(concat.getInputs()[0], dim);
        SizeExpr sum;
        for (Value input : concat.getInputs())
          sum = sum + getSize(input, dim);
        return sum;
      })
      .Case([&](tensor::ReshapeOp reshape) -> Result {
        auto shape = reshape.getShape().getDefiningOp<tensor::FromElementsOp>();
        return shape ? Result(getScalar(shape.getElements()[dim])) : Result();
      })
      .Case([&](tensor::SplatOp splat) -> Result {
        unsigned position = splat.getType().getDynamicDimIndex(dim);
        return getScalar(splat.getDynamicSizes()[position]);
      })
      .Case([&](nn::SiluOp silu) -> Result { return getSize(silu.getInput(), dim); })
      .Case([&](nn::TopKOp top) -> Result {
        bool last = dim + 1 == cast<RankedTensorType>(value.getType()).getRank();
        return last ? getScalar(top.getCount()) : getSize(top.getX(), dim);
      })
      .Case([&](DestinationStyleOpInterface dps) -> Result { return getSize(dps.getTiedOpOperand(value)->get(), dim); })
      .Default([&](Operation *) -> Result {
        auto same = moe_mlir::findSameSize(kernel::shapesOf(op), value, dim);
        return same ? Result(getSize(same->first, same->second)) : Result();
      });
}

SizeExpr SizeAnalysis::getSize(Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return getArgumentSize(argument, dim);
  std::optional<SizeExpr> size = getOpSize(cast<OpResult>(tensor), dim);
  return size ? *size : getSymbol(tensor, dim);
}

SmallVector<SizeExpr> SizeAnalysis::getSizes(Value tensor) {
  SmallVector<SizeExpr> sizes;
  for (int64_t dim = 0, rank = cast<RankedTensorType>(tensor.getType()).getRank(); dim < rank; ++dim)
    sizes.push_back(getSize(tensor, dim));
  return sizes;
}

std::optional<std::pair<BlockArgument, int64_t>> SizeAnalysis::getArgumentDim(const SizeExpr &size) const {
  if (size.terms.size() != 1 || size.terms.begin()->second != 1 || size.terms.begin()->first.size() != 1)
    return std::nullopt;
  const Symbol &symbol = symbols[size.terms.begin()->first.front()];
  auto argument = dyn_cast<BlockArgument>(symbol.value);
  if (!argument || symbol.dim < 0)
    return std::nullopt;
  return std::pair(argument, symbol.dim);
}

bool SizeAnalysis::isOverArguments(const SizeExpr &size) const {
  for (const auto &[factors, coefficient] : size.terms)
    for (unsigned factor : factors)
      if (symbols[factor].dim < 0 || !isa<BlockArgument>(symbols[factor].value))
        return false;
  return true;
}

Value SizeAnalysis::materialize(OpBuilder &builder, Location loc, const SizeExpr &size) {
  Value sum;
  for (const auto &[factors, coefficient] : size.terms) {
    Value product;
    if (coefficient != 1 || factors.empty())
      product = arith::ConstantIndexOp::create(builder, loc, coefficient);
    for (unsigned number : factors) {
      const Symbol &symbol = symbols[number];
      Value factor = symbol.dim >= 0 ? Value(tensor::DimOp::create(builder, loc, symbol.value, symbol.dim))
                     : symbol.value.getType().isIndex()
                         ? symbol.value
                         : Value(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), symbol.value));
      product = product ? Value(arith::MulIOp::create(builder, loc, product, factor)) : factor;
    }
    sum = sum ? Value(arith::AddIOp::create(builder, loc, sum, product)) : product;
  }
  return sum ? sum : Value(arith::ConstantIndexOp::create(builder, loc, 0));
}

OpFoldResult SizeAnalysis::materializeFolded(OpBuilder &builder, Location loc, const SizeExpr &size) {
  if (std::optional<int64_t> constant = size.getConstant())
    return builder.getIndexAttr(*constant);
  return materialize(builder, loc, size);
}
