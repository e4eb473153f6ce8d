//===- Code.h - arithmetic and control flow of the code that roles run ----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOCUDA_CODE_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOCUDA_CODE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace mlir::kernel {

/// Builds operations at one location. Numbers are i32 or index; a constant takes the type of the other operand.
class Code {
public:
  Code(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  Value i32(int64_t value);
  Value index(int64_t value);
  Value toI32(Value value);
  Value toIndex(Value value);

  Value add(Value x, Value y);
  Value add(Value x, int64_t y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value mul(Value x, int64_t y);
  Value div(Value x, int64_t y);
  Value rem(Value x, int64_t y);
  Value compare(arith::CmpIPredicate predicate, Value x, Value y);
  Value isLess(Value x, Value y) { return compare(arith::CmpIPredicate::slt, x, y); }
  Value areBoth(Value x, Value y);
  Value select(Value condition, Value x, Value y);

  template <typename Op, typename... Arguments> auto make(Arguments &&...arguments) {
    return Op::create(b, loc, std::forward<Arguments>(arguments)...);
  }

  void ifThen(Value condition, function_ref<void()> body);
  void ifThenElse(Value condition, function_ref<void(bool)> body);
  /// A loop that stays one: its body is written once.
  void loop(Value lower, Value upper, Value step, function_ref<void(Value)> body);
  /// `body` for 0, 1, .., count - 1 (i32), unrolled by the compiler of the text.
  void unrolled(int64_t count, function_ref<void(Value)> body);

private:
  Value constantLike(Value like, int64_t value);

  OpBuilder &b;
  Location loc;
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOCUDA_CODE_H
