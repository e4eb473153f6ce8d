//===- IndexBounds.cpp - between what bounds an index of a kernel moves -------------------------------------------===//

#include "IndexBounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace moe_mlir;

/// More alternatives than this are not worth following.
static constexpr size_t maxAlternatives = 8;

static void addUpper(Bounds &bounds, const SizeExpr &expr) {
  if (bounds.upper.size() < maxAlternatives && !llvm::is_contained(bounds.upper, expr))
    bounds.upper.push_back(expr);
}

IndexBounds::IndexBounds(kernel::FuncOp kernel, kernel::LaunchOp launch, HostSizes &host, SizeTable &table)
    : kernel(kernel), launch(launch), host(host), table(table) {
  defineVariables();
}

Value IndexBounds::operandFor(Value value) {
  if (auto part = value.getDefiningOp<kernel::PartOp>(); part && !part.getPeer())
    value = part.getWindow();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &kernel.getBody().front())
    return {};
  return launch.getOperands_()[argument.getArgNumber()];
}

SizeExpr IndexBounds::size(Value memref, int64_t dim) { return host.size(operandFor(memref), dim); }

void IndexBounds::define(Value variable, Bounds range) {
  SizeExpr symbol = table.variable();
  ranges[symbol.terms.begin()->first.front()] = std::move(range);
  known[variable] = Bounds::exactly(symbol);
}

/// Outer loops first, so that the bounds of a variable only name variables with smaller numbers.
void IndexBounds::defineVariables() {
  auto below = [](const Bounds &lower, const Bounds &upper) {
    Bounds range{{}, lower.lower, false, {}};
    for (const SizeExpr &bound : upper.upper)
      addUpper(range, bound - 1);
    return range;
  };
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      define(loop.getInductionVar(), below(of(loop.getLowerBound()), of(loop.getUpperBound())));
    } else if (auto loop = dyn_cast<scf::ForallOp>(op)) {
      auto bound = [&](OpFoldResult size) {
        if (auto attr = dyn_cast<Attribute>(size))
          return Bounds::exactly(cast<IntegerAttr>(attr).getInt());
        return of(cast<Value>(size));
      };
      for (auto [variable, lower, upper] :
           llvm::zip(loop.getInductionVars(), loop.getMixedLowerBound(), loop.getMixedUpperBound()))
        define(variable, below(bound(lower), bound(upper)));
    } else if (auto rows = dyn_cast<kernel::RowIndicesOp>(op)) {
      // The rows from `base` on: as many as the type says, of which the tile has `count`.
      Bounds base = of(rows.getBase()), range{{}, base.lower, false, {}};
      auto tile = op->getParentOfType<kernel::RowTileOp>();
      Bounds count = tile ? of(tile.getCount()) : Bounds();
      count.upper.push_back(rows.getType().getCount());
      for (const SizeExpr &first : base.upper)
        for (const SizeExpr &number : count.upper)
          addUpper(range, first + number - 1);
      define(rows.getBody().front().getArgument(0), range);
    } else if (auto store = dyn_cast<kernel::StoreTileOp>(op)) {
      Block &body = store.getBody().front();
      auto type = cast<MemRefType>(store.getDest().getType());
      int64_t columns = cast<kernel::AccType>(store.getAccs()[0].getType()).getColumns();
      define(body.getArgument(0), ofRows(store.getRows()));
      Bounds column = of(store.getColumn()), range{{}, column.lower, false, {}};
      for (const SizeExpr &first : column.upper)
        addUpper(range, first + columns - 1);
      if (operandFor(store.getDest()))
        addUpper(range, size(store.getDest(), type.getRank() - 1) - 1);
      define(body.getArgument(1), range);
    }
  });
}

Bounds IndexBounds::ofRows(Value rows) {
  auto op = rows.getDefiningOp<kernel::RowIndicesOp>();
  return op ? of(op.getBody().front().getTerminator()->getOperand(0)) : Bounds();
}

Bounds IndexBounds::of(Value index) {
  auto it = known.find(index);
  if (it != known.end())
    return it->second;
  Bounds result;
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    result = Bounds::exactly(constant.getSExtValue());
  else if (Value operand = operandFor(index))
    result = Bounds::exactly(host.scalar(operand));
  else if (Operation *op = index.getDefiningOp())
    result = compute(op);
  return known[index] = result;
}

Bounds IndexBounds::divide(const Bounds &a, const Bounds &b) {
  Bounds result{{}, 0, a.isLoaded || b.isLoaded, {}};
  if (b.upper.size() != 1 || b.upper[0] != b.lower || table.hasVariables(b.lower))
    return result;
  // A quotient with loop variables inside can not be taken apart: it is followed only if it is all there is.
  SmallVector<SizeExpr> inexact;
  for (const SizeExpr &bound : a.upper) {
    if (!table.hasVariables(bound)) {
      addUpper(result, table.floorDiv(bound, b.lower));
      continue;
    }
    SizeExpr whole, rest;
    std::optional<int64_t> divisor = b.lower.getConstant();
    for (const auto &[factors, coefficient] : bound.terms)
      (divisor && coefficient % *divisor == 0 ? whole : rest).terms[factors] = coefficient;
    if (table.hasVariables(rest))
      inexact.push_back(bound);
    else
      addUpper(result, *whole.dividedBy(b.lower) + table.floorDiv(rest, b.lower));
  }
  if (result.upper.empty())
    for (const SizeExpr &bound : inexact)
      for (const SizeExpr &replaced : replaceVariables(bound, /*upwards=*/true))
        addUpper(result, table.floorDiv(replaced, b.lower));
  std::vector<SizeExpr> lower = replaceVariables(a.lower, /*upwards=*/false);
  if (!lower.empty())
    result.lower = table.floorDiv(lower.front(), b.lower);
  return result;
}

Bounds IndexBounds::compute(Operation *op) {
  auto operand = [&](unsigned i) { return of(op->getOperand(i)); };
  auto combine = [](const Bounds &a, const Bounds &b, auto function) {
    Bounds result{{}, 0, a.isLoaded || b.isLoaded, {}};
    for (const SizeExpr &x : a.upper)
      for (const SizeExpr &y : b.upper)
        addUpper(result, function(x, y));
    return result;
  };
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
    return operand(0);
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    return index && operandFor(dim.getSource()) ? Bounds::exactly(size(dim.getSource(), *index)) : Bounds();
  }
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    Value buffer = operandFor(load.getMemRef());
    if (std::optional<SizeExpr> element = buffer ? host.uniformElement(buffer) : std::nullopt)
      return Bounds::exactly(*element);
    return {{}, 0, true, {}};
  }
  if (op->getNumOperands() < 2 || !isa<arith::ArithDialect>(op->getDialect()))
    return {};
  Bounds a = operand(0), b = operand(1);
  if (isa<arith::AddIOp>(op)) {
    Bounds result = combine(a, b, [](const SizeExpr &x, const SizeExpr &y) { return x + y; });
    result.lower = a.lower + b.lower;
    return result;
  }
  if (isa<arith::SubIOp>(op)) {
    Bounds result{{}, 0, a.isLoaded || b.isLoaded, {}};
    for (const SizeExpr &x : a.upper)
      addUpper(result, x - b.lower);
    if (b.upper.size() == 1)
      result.lower = a.lower - b.upper[0];
    return result;
  }
  if (isa<arith::MulIOp>(op)) {
    Bounds result = combine(a, b, [](const SizeExpr &x, const SizeExpr &y) { return x * y; });
    result.lower = a.lower * b.lower;
    return result;
  }
  if (isa<arith::DivUIOp, arith::DivSIOp>(op))
    return divide(a, b);
  if (isa<arith::RemUIOp, arith::RemSIOp>(op)) {
    Bounds result{a.upper, 0, a.isLoaded || b.isLoaded, {}};
    for (const SizeExpr &bound : b.upper)
      addUpper(result, bound - 1);
    Bounds range = eliminate(a);
    for (const SizeExpr &bound : range.upper)
      result.counts.push_back(bound - range.lower + 1);
    return result;
  }
  bool isMin = isa<arith::MinSIOp, arith::MinUIOp>(op), isMax = isa<arith::MaxSIOp, arith::MaxUIOp>(op);
  if (isMin || isMax) {
    Bounds result{{}, 0, a.isLoaded || b.isLoaded, {}};
    bool comparable = !table.hasVariables(a.lower) && !table.hasVariables(b.lower);
    if (comparable)
      result.lower = isMin ? table.min(a.lower, b.lower) : table.max(a.lower, b.lower);
    if (isMin) {
      result.upper = a.upper;
      for (const SizeExpr &bound : b.upper)
        addUpper(result, bound);
      return result;
    }
    for (const SizeExpr &x : a.upper)
      for (const SizeExpr &y : b.upper)
        if (table.isAtLeast(x, y) || table.isAtLeast(y, x))
          addUpper(result, table.isAtLeast(x, y) ? x : y);
        else if (!table.hasVariables(x) && !table.hasVariables(y))
          addUpper(result, table.max(x, y));
    return result;
  }
  return {{}, 0, a.isLoaded || b.isLoaded, {}};
}

std::optional<unsigned> IndexBounds::lastVariable(const SizeExpr &expr) const {
  std::optional<unsigned> last;
  for (const auto &[factors, coefficient] : expr.terms)
    for (unsigned number : factors)
      if (table.isVariable(number) && (!last || number > *last))
        last = number;
  return last;
}

/// Bounds of `expr` from above or below, with the inner variables' bounds put in first.
std::vector<SizeExpr> IndexBounds::replaceVariables(const SizeExpr &expr, bool upwards) {
  std::optional<unsigned> variable = lastVariable(expr);
  if (!variable)
    return {expr};
  SizeExpr slope, rest; // expr = slope * variable + rest
  for (const auto &[factors, coefficient] : expr.terms) {
    auto it = llvm::find(factors, *variable);
    if (it == factors.end()) {
      rest.terms[factors] = coefficient;
      continue;
    }
    std::vector<unsigned> others(factors.begin(), it);
    others.insert(others.end(), it + 1, factors.end());
    if (llvm::is_contained(others, *variable))
      return {};
    slope.terms[others] = coefficient;
  }
  bool grows = llvm::all_of(slope.terms, [](const auto &term) { return term.second > 0; });
  bool shrinks = llvm::all_of(slope.terms, [](const auto &term) { return term.second < 0; });
  if (!grows && !shrinks)
    return {};
  const Bounds &range = ranges.at(*variable);
  std::vector<SizeExpr> results;
  ArrayRef<SizeExpr> ends = grows == upwards ? ArrayRef<SizeExpr>(range.upper) : ArrayRef<SizeExpr>(range.lower);
  for (const SizeExpr &end : ends)
    for (const SizeExpr &result : replaceVariables(slope * end + rest, upwards))
      if (results.size() < maxAlternatives && !llvm::is_contained(results, result))
        results.push_back(result);
  return results;
}

Bounds IndexBounds::eliminate(const Bounds &bounds) {
  Bounds result{{}, 0, bounds.isLoaded, bounds.counts};
  for (const SizeExpr &bound : bounds.upper)
    for (const SizeExpr &replaced : replaceVariables(bound, /*upwards=*/true))
      addUpper(result, replaced);
  std::vector<SizeExpr> lower = replaceVariables(bounds.lower, /*upwards=*/false);
  if (!lower.empty() && table.isAtLeast(lower.front(), 0))
    result.lower = lower.front();
  return result;
}
