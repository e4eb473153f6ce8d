//===- KernelBuilder.cpp - construction and sharing of block programs -------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace mlir::kernel;

/// Equal for kernels that are equal but for their names and locations.
static llvm::hash_code hashOf(FuncOp func) {
  llvm::hash_code hash = hash_value(Type(func.getFunctionType()));
  DenseMap<Value, unsigned> numbers;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        numbers.try_emplace(argument, numbers.size());
    if (op == func)
      return;
    auto numberOf = [&](Value operand) { return numbers.lookup(operand); };
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(op, numberOf, OperationEquivalence::ignoreHashValue,
                                                                   OperationEquivalence::IgnoreLocations));
    for (Value result : op->getResults())
      numbers.try_emplace(result, numbers.size());
  });
  return hash;
}

FuncOp KernelTable::share(FuncOp func) {
  // Equal but for the name: compare under the name of the other.
  std::string name = func.getSymName().str();
  Variants &known = variants[name];
  SmallVector<FuncOp, 1> &alike = known.byContent[hashOf(func)];
  for (FuncOp other : alike) {
    func.setSymName(other.getSymName());
    if (OperationEquivalence::isEquivalentTo(func, other, OperationEquivalence::IgnoreLocations)) {
      func->erase();
      return other;
    }
  }
  ++known.count;
  func.setSymName(known.count == 1 ? name : name + "_v" + std::to_string(known.count));
  symbols.insert(func);
  alike.push_back(func);
  return func;
}

//===----------------------------------------------------------------------===//
// KernelBuilder
//===----------------------------------------------------------------------===//

KernelBuilder::KernelBuilder(KernelTable &table, Location loc)
    : ImplicitLocOpBuilder(loc, loc.getContext()), table(table) {
  OpBuilder detached(loc.getContext());
  func = FuncOp::create(detached, loc, "kernel", detached.getFunctionType({}, {}));
  setInsertionPointToStart(&func.getBody().front());
}

KernelBuilder::~KernelBuilder() {
  if (func)
    func->erase();
}

Value KernelBuilder::arg(Value value) {
  auto [it, isNew] = arguments.try_emplace(value);
  if (!isNew)
    return it->second;
  Attribute attr;
  if (!isa<MemRefType>(value.getType()) && matchPattern(value, m_Constant(&attr))) {
    if (value.getType().isIndex())
      return it->second = idx(cast<IntegerAttr>(attr).getInt());
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(&func.getBody().front());
    return arguments[value] = arith::ConstantOp::create(*this, cast<TypedAttr>(attr));
  }
  operands.push_back(value);
  return arguments[value] = func.getBody().front().addArgument(value.getType(), getLoc());
}

Value KernelBuilder::indexArg(OpFoldResult size) {
  std::optional<int64_t> value = getConstantIntValue(size);
  return value ? idx(*value) : arg(cast<Value>(size));
}

std::optional<int64_t> KernelBuilder::constant(Value value) const { return getConstantIntValue(value); }

Value KernelBuilder::idx(int64_t value) {
  Value &known = constants[value];
  if (!known) {
    // All constants stand at the top, in the order of their first use.
    OpBuilder::InsertionGuard guard(*this);
    Block &entry = func.getBody().front();
    auto it = llvm::find_if(entry, [](Operation &op) { return !isa<arith::ConstantOp>(op); });
    setInsertionPoint(&entry, it);
    known = arith::ConstantIndexOp::create(*this, value);
  }
  return known;
}

Value KernelBuilder::add(Value a, Value b) {
  auto x = constant(a), y = constant(b);
  if (x && y)
    return idx(*x + *y);
  if (x == 0)
    return b;
  if (y == 0)
    return a;
  return arith::AddIOp::create(*this, a, b);
}

Value KernelBuilder::sub(Value a, Value b) {
  auto x = constant(a), y = constant(b);
  if (x && y)
    return idx(*x - *y);
  if (y == 0)
    return a;
  return arith::SubIOp::create(*this, a, b);
}

Value KernelBuilder::mul(Value a, Value b) {
  auto x = constant(a), y = constant(b);
  if (x && y)
    return idx(*x * *y);
  if (x == 0 || y == 0)
    return idx(0);
  if (x == 1)
    return b;
  if (y == 1)
    return a;
  return arith::MulIOp::create(*this, a, b);
}

Value KernelBuilder::div(Value a, Value b) {
  auto x = constant(a), y = constant(b);
  if (x && y && *y)
    return idx(*x / *y);
  if (y == 1)
    return a;
  return arith::DivUIOp::create(*this, a, b);
}

Value KernelBuilder::rem(Value a, Value b) {
  auto x = constant(a), y = constant(b);
  if (x && y && *y)
    return idx(*x % *y);
  if (y == 1)
    return idx(0);
  return arith::RemUIOp::create(*this, a, b);
}

Value KernelBuilder::ceilDiv(Value a, int64_t b) { return div(add(a, idx(b - 1)), idx(b)); }

Value KernelBuilder::min(Value a, Value b) {
  auto x = constant(a), y = constant(b);
  if (x && y)
    return idx(std::min(*x, *y));
  return arith::MinSIOp::create(*this, a, b);
}

Value KernelBuilder::max(Value a, Value b) {
  auto x = constant(a), y = constant(b);
  if (x && y)
    return idx(std::max(*x, *y));
  return arith::MaxSIOp::create(*this, a, b);
}

Value KernelBuilder::toIndex(Value integer) {
  return integer.getType().isIndex() ? integer : arith::IndexCastOp::create(*this, getIndexType(), integer).getResult();
}

Value KernelBuilder::toI32(Value index) { return arith::IndexCastOp::create(*this, getI32Type(), index); }

Value KernelBuilder::dim(Value memref, int64_t dim) {
  int64_t size = cast<MemRefType>(memref.getType()).getDimSize(dim);
  return ShapedType::isDynamic(size) ? memref::DimOp::create(*this, memref, idx(dim)).getResult() : idx(size);
}

Value KernelBuilder::f32(double value) { return arith::ConstantOp::create(*this, getF32FloatAttr(value)); }

Value KernelBuilder::toF32(Value value) { return convert(value, getF32Type()); }

Value KernelBuilder::convert(Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(*this, type, value);
  if (from > to)
    return arith::TruncFOp::create(*this, type, value);
  return convert(convert(value, getF32Type()), type); // f16 <-> bf16
}

Value KernelBuilder::reduceAdd(Value a, Value b) {
  return arith::AddFOp::create(*this, a, b, arith::FastMathFlags::reassoc);
}

Value KernelBuilder::load(Value memref, ValueRange indices) { return memref::LoadOp::create(*this, memref, indices); }

void KernelBuilder::store(Value value, Value memref, ValueRange indices) {
  memref::StoreOp::create(*this, value, memref, indices);
}

scf::ForallOp KernelBuilder::forall(ArrayRef<Value> sizes, Loops body) {
  SmallVector<OpFoldResult> bounds;
  for (Value size : sizes)
    bounds.push_back(getAsOpFoldResult(size));
  auto loop = scf::ForallOp::create(*this, bounds, ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVars());
  return loop;
}

void KernelBuilder::parallel(Value lower, Value upper, Loop body) {
  auto loop = scf::ParallelOp::create(*this, lower, upper, idx(1), nullptr);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVars()[0]);
}

void KernelBuilder::forallElements(Value count, Loop body) {
  // Long enough to pay for the loop, short enough that a few rows still give every block some work.
  constexpr int64_t chunk = 1024;
  forall({ceilDiv(count, chunk)}, [&](ValueRange iv) {
    Value first = mul(iv[0], idx(chunk));
    loop(first, min(count, add(first, idx(chunk))), 1, body);
  });
}

void KernelBuilder::loop(Value lower, Value upper, int64_t step, Loop body) {
  auto loop = scf::ForOp::create(*this, lower, upper, idx(step));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

SmallVector<Value> KernelBuilder::loop(Value lower, Value upper, int64_t step, ValueRange init, Reduction body) {
  auto loop = scf::ForOp::create(*this, lower, upper, idx(step), init);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(*this, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

static void markIndependent(KernelBuilder &b) {
  Operation *loop = &*std::prev(b.getInsertionPoint());
  loop->setAttr(KernelDialect::getIndependentAttrName(), b.getUnitAttr());
}

void KernelBuilder::independentLoop(Value lower, Value upper, Loop body) {
  loop(lower, upper, 1, body);
  markIndependent(*this);
}

SmallVector<Value> KernelBuilder::independentLoop(Value lower, Value upper, ValueRange init, Reduction body) {
  SmallVector<Value> results = loop(lower, upper, 1, init, body);
  markIndependent(*this);
  return results;
}

void KernelBuilder::branch(Value condition, Body then, Body otherwise) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  then();
  if (otherwise) {
    setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

LaunchOp KernelBuilder::launch(OpBuilder &host, const Twine &name, OpFoldResult rows, OpFoldResult work, bool single) {
  setInsertionPointToEnd(&func.getBody().front());
  ReturnOp::create(*this);
  func.setSymName(name.str());
  func.setFunctionType(getFunctionType(func.getBody().front().getArgumentTypes(), {}));
  FuncOp shared = table.share(func);
  func = nullptr;
  return LaunchOp::create(host, getLoc(), shared.getSymName(), operands,
                          getValueOrCreateConstantIndexOp(host, getLoc(), rows),
                          getValueOrCreateConstantIndexOp(host, getLoc(), work), single);
}
