//===- EpilogueVectorizer.cpp - a scalar region on vectors of columns ---------------------------------------------===//

#include "EpilogueVectorizer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

/// Whether this holds for an operand of the op or of one inside of it.
static bool anyOperand(Operation &op, llvm::function_ref<bool(Value)> holds) {
  return op.walk([&](Operation *nested) {
             return llvm::any_of(nested->getOperands(), holds) ? WalkResult::interrupt() : WalkResult::advance();
           })
      .wasInterrupted();
}

bool EpilogueVectorizer::supports(Block &block) {
  llvm::DenseSet<Value> varying(block.args_begin() + 1, block.args_end());
  return supports(block, varying);
}

bool EpilogueVectorizer::supports(Block &block, llvm::DenseSet<Value> &varying) {
  for (Operation &op : block.without_terminator()) {
    if (!anyOperand(op, [&](Value value) { return varying.contains(value); })) {
      if (!isMemoryEffectFree(&op) && !isa<memref::LoadOp>(op))
        return false;
      continue;
    }
    bool scalar = llvm::all_of(op.getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      // A division, say, may stop the program where its branch is not taken.
      if (!scalar || !branch.elseBlock() || !isPure(branch) || !supports(*branch.thenBlock(), varying) ||
          !supports(*branch.elseBlock(), varying))
        return false;
      varying.insert(branch->result_begin(), branch->result_end());
      continue;
    }
    bool elementwise = OpTrait::hasElementwiseMappableTraits(&op) && op.getNumRegions() == 0;
    if (!scalar || (!elementwise && !isa<memref::LoadOp>(op)))
      return false;
    varying.insert(op.result_begin(), op.result_end());
  }
  return true;
}

EpilogueVectorizer::Lanes EpilogueVectorizer::get(Value value) const {
  auto found = lanes.find(value);
  return found == lanes.end() ? Lanes{Kind::Uniform, value} : found->second; // defined outside of the region
}

Value EpilogueVectorizer::asVector(Lanes value) {
  if (value.kind == Kind::Vector)
    return value.value;
  auto type = VectorType::get({width}, value.value.getType());
  Value vector = vector::BroadcastOp::create(builder, loc, type, value.value);
  if (value.kind == Kind::Uniform)
    return vector;
  Value offsets = vector::StepOp::create(builder, loc, type);
  if (limit) {
    // Lanes beyond the limit repeat the last column, so that what is computed from the index stays in bounds.
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value last = arith::SubIOp::create(builder, loc, arith::SubIOp::create(builder, loc, limit, one), firstColumn);
    offsets = arith::MinSIOp::create(builder, loc, offsets, vector::BroadcastOp::create(builder, loc, type, last));
  }
  return arith::AddIOp::create(builder, loc, vector, offsets);
}

void EpilogueVectorizer::cloneUniform(Operation &op) {
  IRMapping mapping;
  op.walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (auto found = lanes.find(operand); found != lanes.end())
        mapping.map(operand, found->second.value);
  });
  Operation *copy = builder.clone(op, mapping);
  for (auto [original, result] : llvm::zip(op.getResults(), copy->getResults()))
    set(original, Kind::Uniform, result);
}

/// column + uniform, uniform + column and column - uniform are columns again.
bool EpilogueVectorizer::cloneColumnArithmetic(Operation &op) {
  if (!isa<arith::AddIOp, arith::SubIOp>(op))
    return false;
  Lanes lhs = get(op.getOperand(0)), rhs = get(op.getOperand(1));
  bool left = lhs.kind == Kind::Column && rhs.kind == Kind::Uniform;
  bool right = isa<arith::AddIOp>(op) && lhs.kind == Kind::Uniform && rhs.kind == Kind::Column;
  if (!left && !right)
    return false;
  Operation *copy = builder.clone(op);
  copy->setOperands({lhs.value, rhs.value});
  set(op.getResult(0), Kind::Column, copy->getResult(0));
  return true;
}

void EpilogueVectorizer::cloneElementwise(Operation &op) {
  OperationState state(op.getLoc(), op.getName());
  for (Value operand : op.getOperands())
    state.addOperands(asVector(get(operand)));
  for (Type type : op.getResultTypes())
    state.addTypes(VectorType::get({width}, type));
  state.addAttributes(op.getAttrs());
  Operation *copy = builder.create(state);
  for (auto [original, result] : llvm::zip(op.getResults(), copy->getResults()))
    set(original, Kind::Vector, result);
}

void EpilogueVectorizer::cloneLoad(memref::LoadOp load) {
  SmallVector<Lanes> indices = llvm::map_to_vector(load.getIndices(), [&](Value index) { return get(index); });
  auto type = VectorType::get({width}, load.getType());
  Value memref = get(load.getMemRef()).value, result;
  bool contiguous = indices.back().kind == Kind::Column &&
                    llvm::all_of(ArrayRef(indices).drop_back(), [](Lanes l) { return l.kind == Kind::Uniform; });
  if (contiguous) {
    auto scalars = llvm::map_to_vector(indices, [](Lanes l) { return l.value; });
    if (mask) {
      Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
      result = vector::MaskedLoadOp::create(builder, loc, type, memref, scalars, mask, zero);
    } else {
      result = vector::LoadOp::create(builder, loc, type, memref, scalars);
    }
  } else {
    for (Lanes &index : indices)
      if (index.kind == Kind::Column)
        index = {Kind::Vector, asVector(index)};
    result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    for (int64_t lane = 0; lane < width; ++lane) {
      SmallVector<Value> scalars;
      for (Lanes index : indices)
        scalars.push_back(index.kind == Kind::Uniform
                              ? index.value
                              : vector::ExtractOp::create(builder, loc, index.value, lane).getResult());
      Value element = memref::LoadOp::create(builder, loc, memref, scalars);
      result = vector::InsertOp::create(builder, loc, element, result, lane);
    }
  }
  set(load, Kind::Vector, result);
}

void EpilogueVectorizer::cloneBranch(scf::IfOp branch) {
  cloneBody(*branch.thenBlock());
  cloneBody(*branch.elseBlock());
  Lanes condition = get(branch.getCondition());
  Value which = condition.kind == Kind::Uniform ? condition.value : asVector(condition);
  for (auto [result, then, otherwise] :
       llvm::zip(branch.getResults(), branch.thenYield().getOperands(), branch.elseYield().getOperands()))
    set(result, Kind::Vector,
        arith::SelectOp::create(builder, loc, which, asVector(get(then)), asVector(get(otherwise))));
}

Value EpilogueVectorizer::run(Block &block, Value row, Value column, ValueRange accumulators) {
  lanes.clear();
  firstColumn = column;
  set(block.getArgument(0), Kind::Uniform, row);
  set(block.getArgument(1), Kind::Column, column);
  for (auto [arg, value] : llvm::zip(block.getArguments().drop_front(2), accumulators))
    set(arg, Kind::Vector, value);
  cloneBody(block);
  return asVector(get(block.getTerminator()->getOperand(0)));
}

void EpilogueVectorizer::cloneBody(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (!anyOperand(op, [&](Value value) { return get(value).kind != Kind::Uniform; }))
      cloneUniform(op);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      cloneBranch(branch);
    else if (auto load = dyn_cast<memref::LoadOp>(op))
      cloneLoad(load);
    else if (!cloneColumnArithmetic(op))
      cloneElementwise(op);
  }
}
