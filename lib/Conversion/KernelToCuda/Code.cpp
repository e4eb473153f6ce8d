//===- Code.cpp - arithmetic and control flow of the code that roles run ------------------------------------------===//

#include "Code.h"

using namespace mlir;
using namespace mlir::kernel;

static constexpr StringLiteral unrollAttr = "unroll"; // as convert-kernel-to-emitc reads it

Value Code::i32(int64_t value) { return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value); }
Value Code::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

Value Code::constantLike(Value like, int64_t value) { return like.getType().isIndex() ? index(value) : i32(value); }

Value Code::toI32(Value value) { return arith::IndexCastOp::create(b, loc, b.getI32Type(), value); }
Value Code::toIndex(Value value) { return arith::IndexCastOp::create(b, loc, b.getIndexType(), value); }

Value Code::add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
Value Code::add(Value x, int64_t y) { return y == 0 ? x : add(x, constantLike(x, y)); }
Value Code::sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
Value Code::mul(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
Value Code::mul(Value x, int64_t y) { return y == 1 ? x : mul(x, constantLike(x, y)); }
Value Code::div(Value x, int64_t y) { return arith::DivSIOp::create(b, loc, x, constantLike(x, y)); }
Value Code::rem(Value x, int64_t y) { return arith::RemSIOp::create(b, loc, x, constantLike(x, y)); }

Value Code::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, loc, predicate, x, y);
}
Value Code::areBoth(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
Value Code::select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, loc, condition, x, y); }

void Code::ifThen(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

void Code::ifThenElse(Value condition, function_ref<void(bool)> body) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
  for (bool holds : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(holds ? branch.thenBlock() : branch.elseBlock());
    body(holds);
  }
}

void Code::loop(Value lower, Value upper, Value step, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, lower, upper, step);
  loop->setAttr(unrollAttr, b.getI64IntegerAttr(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void Code::unrolled(int64_t count, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, i32(0), i32(count), i32(1));
  loop->setAttr(unrollAttr, b.getUnitAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}
