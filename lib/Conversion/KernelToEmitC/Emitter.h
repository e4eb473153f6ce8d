//===- Emitter.h - builds the emitc form of one kernel --------------------------------------------------------*- C++
//-*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EMITTER_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EMITTER_H

#include "moe-mlir/Dialect/Kernel/IR/CudaLaunch.h"
#include "moe-mlir/Dialect/Kernel/IR/CudaTarget.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::kernel {

/// Writes a kernel op by op as emitc. An emitter of a group of ops (Scalars.cpp, ControlFlow.cpp, Memory.cpp,
/// Threads.cpp) returns failure without a message for an op that it cannot write; the innermost such op is reported.
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

  LogicalResult emitOp(Operation *op);
  LogicalResult emitConstant(Operation *op);
  LogicalResult emitArithmetic(Operation *op);
  LogicalResult emitComparison(Operation *op);
  LogicalResult emitCast(Operation *op);
  LogicalResult emitMath(Operation *op);
  LogicalResult emitControlFlow(Operation *op);
  LogicalResult emitMemory(Operation *op);
  LogicalResult emitThreads(Operation *op);

  // Products over tiles (Tiles.cpp).
  enum class Role { None, Load, Compute };
  LogicalResult addMaps(FuncOp func, const CudaTarget &target, ArrayRef<Value> weights);
  LogicalResult emitRoles(FuncOp func, const CudaTarget &target, ArrayRef<Value> weights, ArrayRef<Value> maps);
  LogicalResult emitRowTile(RowTileOp tile);
  /// The row index in memory of row `row` of a tile.
  FailureOr<Value> emitRowIndex(Value rows, Value row);
  /// The loop over K of a group of products, as C++ values, and the tiles that it leaves.
  struct Steps {
    Value lower, upper, step;
    SmallVector<Value> results;
  };
  LogicalResult emitLoads(const Steps &range, ArrayRef<MmaOp> products, RowTileOp tile);
  LogicalResult emitProducts(const Steps &range, ArrayRef<MmaOp> products);
  LogicalResult emitEpilogue(StoreTileOp store, RowTileOp tile);
  /// A line of text; `{}` are the arguments.
  void line(Location loc, const Twine &text, ValueRange arguments = {});

  Value get(Value value) const { return values.lookup(value); }
  /// Gives the single result of `op` its C++ value.
  LogicalResult set(Operation *op, Value value);
  Value integer(Location loc, Type type, int64_t value);
  /// Calls `callee`, or `callee<parameter>`.
  Value call(Operation *op, Type result, StringRef callee, ValueRange arguments, Type parameter = Type());
  /// A variable of type `type`, set to `start` unless that is null.
  Value variable(Location loc, Type type, Value start);
  Value read(Location loc, Value variable);
  /// pointer + row-major offset of `indices`.
  Value address(Operation *op, Value memref, ValueRange indices);

  OpBuilder &b;
  DenseMap<Value, Value> values;
  DenseMap<Value, Buffer> buffers;
  bool hasReported = false;

  Role role = Role::None;
  const CudaTarget *cuda = nullptr;
  CudaLaunch launch;                         ///< of the kernel that is written
  int64_t stageBytes = 0;                    ///< operands of one step in shared memory
  DenseMap<Value, Value> tensorMaps;         ///< weight -> its tensor map
  DenseMap<Value, std::string> accumulators; ///< tile -> name of its variable
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EMITTER_H
