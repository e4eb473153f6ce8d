//===- Emitter.h - builds the emitc form of one kernel --------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EMITTER_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EMITTER_H

#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Cuda/IR/CudaLaunch.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::kernel {

/// Writes a kernel op by op as emitc. An emitter of a group of ops (Scalars.cpp, ControlFlow.cpp, Memory.cpp,
/// Threads.cpp, Windows.cpp, Groups.cpp, Calls.cpp) returns failure without a message for an op that it cannot write;
/// the innermost such op is reported.
class Emitter {
public:
  explicit Emitter(OpBuilder &b) : b(b) {}

  /// The C++ type of a value: index is a 64-bit integer, bf16 and f16 are the device library's storage types. Null if
  /// there is none.
  Type convert(Type type) const;

  /// `extern "C" __global__` function for `func`, before it; null after an error was reported.
  emitc::FuncOp emitFunction(FuncOp func);
  LogicalResult emitBlock(Block &block);

private:
  /// What a memref is in C++: a pointer, and the sizes of its dimensions (static ones as constants).
  struct Buffer {
    Value pointer;
    SmallVector<Value> sizes;
  };
  /// What a window is: who the ranks are, where it is in the memory of each, and the sizes of a part.
  struct Window {
    Value peers, offset;
    SmallVector<Value> sizes;
  };

  LogicalResult emitOp(Operation *op);
  /// Says why `op` cannot be written, where that is more than that it has no form.
  LogicalResult report(Operation *op, const Twine &why);
  LogicalResult emitConstant(Operation *op);
  LogicalResult emitArithmetic(Operation *op);
  LogicalResult emitComparison(Operation *op);
  LogicalResult emitCast(Operation *op);
  LogicalResult emitMath(Operation *op);
  LogicalResult emitControlFlow(Operation *op);
  LogicalResult emitMemory(Operation *op);
  LogicalResult emitThreads(Operation *op);
  LogicalResult emitWindows(Operation *op);
  LogicalResult emitArrivals(Operation *op);

  // Calls of the device library, and the roles of warps around them (Calls.cpp, Roles.cpp).
  LogicalResult emitCall(Operation *op);
  LogicalResult emitStructure(Operation *op);
  /// `body` where `number` is below `end`. What is emitted next stands in the other branch.
  LogicalResult emitBelow(Location loc, Value number, Value end, function_ref<LogicalResult()> body);
  LogicalResult emitRoles(cuda::WarpRolesOp roles);
  LogicalResult emitRole(cuda::RoleOp role);

  // The members of a launch, each with a range of its blocks (Groups.cpp).
  LogicalResult emitBody(FuncOp func);
  LogicalResult emitMember(cuda::MemberOp member);
  /// What a kernel does, or a member; its maps are the next ones of the arguments.
  LogicalResult emitProgram(FuncOp func);
  /// Sets the value of an op that asks for the number of the block, or of blocks; fails if it is another op, or in no
  /// member.
  LogicalResult emitBlockOfMember(Operation *op);

  // How the kernel is launched, in its attributes, bounds and first lines (Launch.cpp).
  void setLaunch(emitc::FuncOp func);
  void describeLaunch(emitc::FuncOp func);

  /// The types of the slots of an argument: one, and one more for each dynamic dimension; of a window an offset too.
  /// Empty if it has no C++ form.
  SmallVector<Type> slotTypes(Type argument) const;
  /// Takes the slots of `argument` from `next` on.
  void bind(BlockArgument argument, Block::args_iterator &next);

  /// A comment or a pragma; `{}` are the arguments.
  void line(Location loc, const Twine &text, ValueRange arguments = {});

  Value get(Value value) const { return values.lookup(value); }
  /// Gives the single result of `op` its C++ value.
  LogicalResult set(Operation *op, Value value);
  Value integer(Location loc, Type type, int64_t value);
  /// Calls `callee`, or `callee<parameter>`. Null if `result` is: nothing is returned.
  Value call(Operation *op, Type result, StringRef callee, ValueRange arguments, Attribute parameter = Attribute());
  /// The same, of a function that has no op.
  Value call(Operation *op, Type result, cuda::DeviceFunction callee, ValueRange arguments,
             Attribute parameter = Attribute()) {
    return call(op, result, cuda::stringifyDeviceFunction(callee), arguments, parameter);
  }
  /// A variable of type `type`, set to `start` unless that is null.
  Value variable(Location loc, Type type, Value start);
  Value read(Location loc, Value variable);
  /// pointer + row-major offset of `indices`.
  Value address(Operation *op, Value memref, ValueRange indices);

  OpBuilder &b;
  DenseMap<Value, Value> values;
  DenseMap<Value, Buffer> buffers;
  DenseMap<Value, Window> windows;
  bool hasReported = false;
  /// In a member: the number of the block among those of the member, and how many they are, in 32 bits. Else null.
  Value ownBlock, ownBlocks;
  bool isInRole = false;
  Block::args_iterator nextMap; ///< among the arguments

  cuda::CudaLaunch launch; ///< of the kernel that is written
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EMITTER_H
