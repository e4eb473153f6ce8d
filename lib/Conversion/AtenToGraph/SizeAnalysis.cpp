//===- SizeAnalysis.cpp - dynamic sizes as polynomials ------------------------------------------------------------===//

#include "SizeAnalysis.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::aten;

//===--------------------------------------------------------------------------------------------------------------===//
// SizeExpr
//===--------------------------------------------------------------------------------------------------------------===//

SizeExpr::SizeExpr(int64_t constant) {
  if (constant)
    terms[{}] = constant;
}

SizeExpr SizeExpr::symbol(unsigned number) {
  SizeExpr result;
  result.terms[{number}] = 1;
  return result;
}

static void add(SizeExpr &sum, const std::vector<unsigned> &factors, int64_t coefficient) {
  int64_t &entry = sum.terms[factors];
  entry += coefficient;
  if (!entry)
    sum.terms.erase(factors);
}

SizeExpr SizeExpr::operator+(const SizeExpr &other) const {
  SizeExpr result = *this;
  for (const auto &[factors, coefficient] : other.terms)
    add(result, factors, coefficient);
  return result;
}

SizeExpr SizeExpr::operator-(const SizeExpr &other) const { return *this + other * SizeExpr(-1); }

SizeExpr SizeExpr::operator*(const SizeExpr &other) const {
  SizeExpr result;
  for (const auto &[left, a] : terms)
    for (const auto &[right, b] : other.terms) {
      std::vector<unsigned> factors(left);
      factors.insert(factors.end(), right.begin(), right.end());
      llvm::sort(factors);
      add(result, factors, a * b);
    }
  return result;
}

std::optional<SizeExpr> SizeExpr::dividedBy(const SizeExpr &other) const {
  if (other.terms.size() != 1)
    return std::nullopt;
  const auto &[divisor, coefficient] = *other.terms.begin();
  SizeExpr result;
  for (const auto &[factors, c] : terms) {
    std::vector<unsigned> rest;
    if (c % coefficient || !std::includes(factors.begin(), factors.end(), divisor.begin(), divisor.end()))
      return std::nullopt;
    std::set_difference(factors.begin(), factors.end(), divisor.begin(), divisor.end(), std::back_inserter(rest));
    add(result, rest, c / coefficient);
  }
  return result;
}

std::optional<int64_t> SizeExpr::getConstant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

//===--------------------------------------------------------------------------------------------------------------===//
// SizeAnalysis
//===--------------------------------------------------------------------------------------------------------------===//

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
    if (std::optional<int64_t> dim = call.getDim("dim", cast<RankedTensorType>(self.getType()).getRank()))
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

std::optional<SmallVector<SizeExpr>> SizeAnalysis::getRequestedSizes(CallOp call, StringRef argument, Value source,
                                                                     bool keepOnMinusOne) {
  auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument(argument));
  if (!list)
    return std::nullopt;
  SmallVector<SizeExpr> sizes;
  std::optional<size_t> inferred;
  SizeExpr product = 1;
  int64_t sourceRank = source ? cast<RankedTensorType>(source.getType()).getRank() : 0;
  for (auto [i, element] : llvm::enumerate(list)) {
    if (Value operand = call.getOperandOf(element)) {
      sizes.push_back(getScalar(operand));
    } else if (auto integer = dyn_cast<IntegerAttr>(element)) {
      sizes.push_back(integer.getInt());
      if (integer.getInt() < 0 && keepOnMinusOne) {
        int64_t dim = int64_t(i) - int64_t(list.size()) + sourceRank;
        if (dim < 0)
          return std::nullopt;
        sizes.back() = getSize(source, dim);
      } else if (integer.getInt() < 0) {
        if (inferred)
          return std::nullopt;
        inferred = i;
        continue;
      }
    } else {
      return std::nullopt;
    }
    product = product * sizes.back();
  }
  if (inferred) {
    if (!source)
      return std::nullopt;
    SizeExpr total = 1;
    for (const SizeExpr &size : getSizes(source))
      total = total * size;
    std::optional<SizeExpr> quotient = total.dividedBy(product);
    if (!quotient)
      return std::nullopt;
    sizes[*inferred] = *quotient;
  }
  return sizes;
}

/// The size of a broadcast result: of the first operand that is not one element wide there.
static std::optional<SizeExpr> getBroadcastSize(SizeAnalysis &analysis, CallOp call, int64_t dim, int64_t rank) {
  for (Value operand : call.getInputs()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    int64_t own = type ? dim - (rank - type.getRank()) : -1;
    if (own >= 0 && type.getDimSize(own) != 1)
      return analysis.getSize(operand, own);
  }
  return std::nullopt;
}

static const llvm::StringSet<> &elementwise() {
  static const llvm::StringSet<> ops{"aten.add",         "aten.sub",         "aten.mul",        "aten.div",
                                     "aten.pow",         "aten.maximum",     "aten.minimum",    "aten.le",
                                     "aten.lt",          "aten.ge",          "aten.gt",         "aten.eq",
                                     "aten.ne",          "aten.__and__",     "aten.__or__",     "aten.bitwise_and",
                                     "aten.bitwise_or",  "aten.logical_and", "aten.logical_or", "aten.where",
                                     "aten.masked_fill", "aten.rsub",        "aten.remainder",  "aten.floor_divide"};
  return ops;
}

/// Ops whose result has the shape of the first tensor argument.
static const llvm::StringSet<> &likeSelf() {
  static const llvm::StringSet<> ops{"aten.to",
                                     "aten.neg",
                                     "aten.exp",
                                     "aten.log",
                                     "aten.rsqrt",
                                     "aten.sqrt",
                                     "aten.cos",
                                     "aten.sin",
                                     "aten.silu",
                                     "aten.gelu",
                                     "aten.relu",
                                     "aten.sigmoid",
                                     "aten.tanh",
                                     "aten.softmax",
                                     "aten._softmax",
                                     "aten.cumsum",
                                     "aten.clone",
                                     "aten.contiguous",
                                     "aten.detach",
                                     "aten.alias",
                                     "aten.lift_fresh_copy",
                                     "aten.dropout",
                                     "aten.index_copy",
                                     "aten.scatter",
                                     "aten.bitwise_not",
                                     "aten.logical_not",
                                     "aten.zeros_like",
                                     "aten.ones_like",
                                     "aten.full_like",
                                     "aten.empty_like",
                                     "aten.abs",
                                     "aten.clamp",
                                     "aten.square",
                                     "aten.reciprocal",
                                     "aten.fill",
                                     "aten.copy",
                                     "aten.rms_norm",
                                     "aten.float",
                                     "aten.type_as",
                                     "aten.scaled_dot_product_attention",
                                     "moe_mlir.experts",
                                     "aten.select_scatter",
                                     "aten.slice_scatter",
                                     "aten.log_softmax"};
  return ops;
}

std::optional<SizeExpr> SizeAnalysis::getCallSize(CallOp call, unsigned result, int64_t dim) {
  StringRef base = call.getBase();
  int64_t rank = cast<RankedTensorType>(call.getResult(result).getType()).getRank();
  Value self = call.getValue("self");
  for (StringRef name : {"input", "query", "hidden"})
    if (!self)
      self = call.getValue(name);
  auto selfType = self ? dyn_cast<RankedTensorType>(self.getType()) : RankedTensorType();
  int64_t selfRank = selfType ? selfType.getRank() : 0;

  if (elementwise().contains(base))
    return getBroadcastSize(*this, call, dim, rank);
  if (selfType && likeSelf().contains(base) && selfRank == rank)
    return getSize(self, dim);
  if (base == "aten.view" || base == "aten.reshape" || base == "aten.expand") {
    bool expand = base == "aten.expand";
    auto sizes = getRequestedSizes(call, base == "aten.reshape" ? "shape" : "size", self, expand);
    return sizes && int64_t(sizes->size()) == rank ? std::optional((*sizes)[dim]) : std::nullopt;
  }
  if (base == "aten.zeros" || base == "aten.ones" || base == "aten.full" || base == "aten.empty" ||
      base.starts_with("aten.new_")) {
    auto sizes = getRequestedSizes(call, "size", {}, false);
    return sizes && int64_t(sizes->size()) == rank ? std::optional((*sizes)[dim]) : std::nullopt;
  }
  if (base == "aten.transpose" || base == "aten.t") {
    std::optional<int64_t> a = base == "aten.t" ? 0 : call.getDim("dim0", rank),
                           b = base == "aten.t" ? 1 : call.getDim("dim1", rank);
    return a && b ? std::optional(getSize(self, dim == *a ? *b : dim == *b ? *a : dim)) : std::nullopt;
  }
  if (base == "aten.permute") {
    std::optional<SmallVector<int64_t>> dims = call.getInts("dims");
    return dims && int64_t(dims->size()) == rank ? std::optional(getSize(self, ((*dims)[dim] + rank) % rank))
                                                 : std::nullopt;
  }
  if (base == "aten.unsqueeze") {
    std::optional<int64_t> at = call.getDim("dim", rank);
    return at && dim != *at ? std::optional(getSize(self, dim - (dim > *at))) : std::nullopt;
  }
  if (base == "aten.select" || (base == "aten.squeeze" && selfRank == rank + 1)) {
    std::optional<int64_t> at = call.getDim("dim", selfRank);
    return at ? std::optional(getSize(self, dim + (dim >= *at))) : std::nullopt;
  }
  if (base == "aten.slice" || base == "aten.topk") {
    std::optional<int64_t> at = call.getDim("dim", rank);
    bool full = base == "aten.slice" && call.getInt("start").value_or(0) == 0 && !call.getValue("end") &&
                call.getInt("step").value_or(1) == 1 && call.getInt("end").value_or(INT64_MAX) == INT64_MAX;
    return full || dim != at.value_or(rank - 1) ? std::optional(getSize(self, dim)) : std::nullopt;
  }
  if (base == "aten.sum" || base == "aten.mean" || base == "aten.amax" || base == "aten.max")
    return selfRank == rank ? std::optional(getSize(self, dim)) : std::nullopt;
  if (base == "aten.gather")
    return getSize(call.getValue("index"), dim);
  if (base == "aten.linear" && dim + 1 < rank)
    return getSize(self, dim);
  if (base == "aten.embedding" && dim + 1 < rank)
    return getSize(call.getValue("indices"), dim);
  if (base == "aten.arange" && !call.getArgument("start"))
    if (Value end = call.getValue("end"))
      return getScalar(end);
  if (base == "aten.cat") {
    std::optional<int64_t> at = call.getArgument("dim") ? call.getDim("dim", rank) : 0;
    auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument("tensors"));
    if (!at || !list)
      return std::nullopt;
    if (dim != *at)
      return getSize(call.getInputs()[0], dim);
    SizeExpr sum;
    for (Attribute tensor : list)
      sum = sum + getSize(call.getOperandOf(tensor), dim);
    return sum;
  }
  return std::nullopt;
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
      .Case([&](nn::EmbeddingOp embedding) -> Result { return getSize(embedding.getIds(), dim); })
      .Case([&](nn::LinearOp linear) -> Result { return getSize(linear.getX(), dim); })
      .Case([&](nn::RmsNormOp norm) -> Result { return getSize(norm.getX(), dim); })
      .Case([&](nn::RopeOp rope) -> Result { return getSize(rope.getX(), dim); })
      .Case([&](nn::SiluOp silu) -> Result { return getSize(silu.getInput(), dim); })
      .Case([&](nn::CacheUpdateOp update) -> Result { return getSize(update.getCache(), dim); })
      .Case([&](nn::AttentionOp attention) -> Result { return getSize(attention.getQuery(), dim); })
      .Case([&](moe::GateOp gate) -> Result { return getSize(gate.getLogits(), 0); })
      .Case([&](moe::CombineOp combine) -> Result {
        return combine.getWeights() ? Result(getSize(combine.getWeights(), 0)) : Result();
      })
      .Case([&](DestinationStyleOpInterface dps) -> Result { return getSize(dps.getTiedOpOperand(value)->get(), dim); })
      .Default([](Operation *) { return Result(); });
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
