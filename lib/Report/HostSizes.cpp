//===- HostSizes.cpp - sizes in the host function -----------------------------------------------------------------===//

#include "HostSizes.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"
#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace moe_mlir;

HostSizes::HostSizes(func::FuncOp main, SizeTable &table, bool isWhole)
    : main(main), table(table), isWhole(isWhole) {
  for (BlockArgument argument : main.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType()))
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        (void)size(argument, dim); // names in the order of the inputs
}

std::string HostSizes::inputName(BlockArgument argument) {
  auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "moe.name");
  return name ? name.str() : "input" + std::to_string(argument.getArgNumber());
}

SizeExpr HostSizes::element(BlockArgument argument) {
  std::string name = inputName(argument);
  SizeExpr value = table.named(name);
  if (llvm::is_contained(elementNames, name))
    return value;
  elementNames.push_back(name);
  unsigned number = argument.getArgNumber();
  auto range = main.getArgAttrOfType<ArrayAttr>(number, "moe.range");
  auto last = range && range.size() == 2 ? dyn_cast<IntegerAttr>(range[1]) : IntegerAttr();
  if (auto plus = main.getArgAttrOfType<StringAttr>(number, "moe.range_plus"); plus && last)
    table.addFact(SizeExpr(last.getInt() + 1) - value - table.named(plus));
  else if (last)
    table.addFact(SizeExpr(last.getInt()) - value);
  return value;
}

std::optional<SizeExpr> HostSizes::uniformElement(Value memref) {
  auto argument = dyn_cast<BlockArgument>(kernel::getViewRoot(memref));
  auto type = argument ? dyn_cast<MemRefType>(argument.getType()) : MemRefType();
  if (!type || !type.getElementType().isInteger() || argument.getOwner() != &main.getBody().front() ||
      !main.getArgAttr(argument.getArgNumber(), "moe.uniform"))
    return std::nullopt;
  return element(argument);
}

SizeExpr HostSizes::scalar(Value value) {
  auto it = scalars.find(value);
  if (it != scalars.end())
    return it->second;
  APInt constant;
  std::optional<SizeExpr> result;
  if (matchPattern(value, m_ConstantInt(&constant)))
    result = constant.getSExtValue();
  else if (auto argument = dyn_cast<BlockArgument>(value);
           argument && kernel::asPasses(argument.getOwner()->getParentOp()))
    result = 0; // of the first pass, which is full
  else if (auto loop = value.getDefiningOp<scf::ForOp>())
    result = computeSum(loop, cast<OpResult>(value).getResultNumber());
  else if (Operation *op = value.getDefiningOp())
    result = compute(op);
  return scalars[value] = result ? *result : unknown();
}

SizeExpr HostSizes::compute(Operation *op) {
  auto operand = [&](unsigned i) { return scalar(op->getOperand(i)); };
  if (auto dim = dyn_cast<memref::DimOp>(op))
    if (std::optional<int64_t> index = dim.getConstantIndex())
      return size(dim.getSource(), *index);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    if (auto argument = dyn_cast<BlockArgument>(kernel::getViewRoot(load.getMemRef())))
      return element(argument);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
    return operand(0);
  if (isa<arith::AddIOp>(op))
    return operand(0) + operand(1);
  if (isa<arith::SubIOp>(op))
    return operand(0) - operand(1);
  if (isa<arith::MulIOp>(op))
    return operand(0) * operand(1);
  if (isWhole && isa<arith::MinUIOp>(op))
    for (unsigned i : {0, 1})
      if (op->getOperand(i).getDefiningOp<kernel::AgreeOp>())
        return operand(i);
  if (isa<arith::MinSIOp, arith::MinUIOp>(op))
    return table.min(operand(0), operand(1));
  if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
    return table.max(operand(0), operand(1));
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op))
    return table.floorDiv(operand(0), operand(1));
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return table.floorDiv(operand(0) + operand(1) - 1, operand(1));
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return operand(0) - table.floorDiv(operand(0), operand(1)) * operand(1);
  APInt mask;
  // What is asked for instead of more bytes than any machine has is no size of a call that runs.
  if (auto select = dyn_cast<arith::SelectOp>(op);
      select && matchPattern(select.getFalseValue(), m_ConstantInt(&mask)) && mask.isMaxSignedValue())
    return scalar(select.getTrueValue());
  // The lowest bits are taken away.
  if (isa<arith::AndIOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&mask)) && mask.isNegatedPowerOf2()) {
    const int64_t unit = -mask.getSExtValue();
    return table.floorDiv(operand(0), unit) * unit;
  }
  if (isa<kernel::AgreeOp>(op)) // as if this rank had the most
    return operand(0);
  if (isa<kernel::BlocksOp>(op))
    return table.named("blocks");
  return unknown();
}

std::optional<SizeExpr> HostSizes::computeSum(scf::ForOp loop, unsigned result) {
  BlockArgument carried = loop.getRegionIterArg(result);
  SizeExpr sum = scalars[carried] = table.variable();
  scalars[loop.getInductionVar()] = table.variable();
  SizeExpr part = scalar(loop.getYieldedValues()[result]) - sum;
  if (table.hasVariables(part))
    return std::nullopt;
  SizeExpr step = scalar(loop.getStep());
  SizeExpr trips = table.floorDiv(scalar(loop.getUpperBound()) - scalar(loop.getLowerBound()) + step - 1, step);
  return scalar(loop.getInitArgs()[result]) + trips * part;
}

SizeExpr HostSizes::size(Value memref, int64_t dim) {
  if (auto window = dyn_cast<kernel::WindowType>(memref.getType())) {
    if (dim || !window.isDynamic())
      return window.getShape()[dim];
    ValueRange rows = kernel::getWindowSizes(memref);
    return rows.empty() ? unknown() : scalar(rows.front());
  }
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  auto [it, isNew] = sizes.try_emplace({memref.getAsOpaquePointer(), dim});
  if (isNew) {
    SizeExpr result = computeSize(memref, dim);
    sizes[{memref.getAsOpaquePointer(), dim}] = result;
    return result;
  }
  return it->second;
}

SizeExpr HostSizes::computeSize(Value memref, int64_t dim) {
  auto fold = [&](OpFoldResult size) -> SizeExpr {
    if (auto attr = dyn_cast<Attribute>(size))
      return cast<IntegerAttr>(attr).getInt();
    return scalar(cast<Value>(size));
  };
  if (auto argument = dyn_cast<BlockArgument>(memref)) {
    auto dims = main.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "moe.dims");
    auto name = dims && dim < int64_t(dims.size()) ? dyn_cast<StringAttr>(dims[dim]) : StringAttr();
    return table.named(name && !name.empty() ? name.str() : inputName(argument) + "." + std::to_string(dim));
  }
  return llvm::TypeSwitch<Operation *, SizeExpr>(memref.getDefiningOp())
      .Case([&](memref::AllocOp alloc) {
        return scalar(alloc.getDynamicSizes()[alloc.getType().getDynamicDimIndex(dim)]);
      })
      .Case([&](memref::CastOp cast) { return size(cast.getSource(), dim); })
      .Case([&](memref::ExpandShapeOp expand) { return fold(expand.getMixedOutputShape()[dim]); })
      .Case([&](memref::CollapseShapeOp collapse) {
        SizeExpr product = 1;
        ReassociationIndices group = collapse.getReassociationIndices()[dim];
        for (int64_t source : group)
          product = product * size(collapse.getSrc(), source);
        return product;
      })
      .Case([&](kernel::PartOp part) { return size(part.getWindow(), dim); })
      .Case([&](memref::ReinterpretCastOp cast) { return fold(cast.getMixedSizes()[dim]); })
      .Case([&](memref::SubViewOp view) {
        return view.getDroppedDims().any() ? unknown() : fold(view.getMixedSizes()[dim]);
      })
      .Default([&](Operation *) { return unknown(); });
}
