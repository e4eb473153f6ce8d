//===- Emitter.h - builds the emitc form of one kernel --------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EMITTER_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EMITTER_H

#include "Tiles.h"

#include "moe-mlir/Dialect/Cuda/IR/CudaLaunch.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::kernel {

using cuda::CudaLaunch;
using cuda::CudaMap;

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

  // How a kernel is launched (Launch.cpp).
  void setLaunch(emitc::FuncOp func);
  /// For a kernel without products; with `isBlockWork` the warps of a block share an index.
  void planRows(FuncOp func, bool isBlockWork);
  /// `weights` and `rows` are the matrices that TMA knows, in the order of the maps.
  void emitLaunch(emitc::FuncOp func, ArrayRef<Value> weights, ArrayRef<Value> rows);
  CudaMap mapOf(Value matrix, int64_t boxRows);

  // Products over tiles: roles (Roles.cpp).
  enum class Role { None, Load, Compute };
  LogicalResult emitRoles(FuncOp func, ArrayRef<Value> matrices, ArrayRef<Value> maps);
  /// The loop over the tiles of a product (Schedule.cpp); false if `forall` has another form and nothing was written.
  FailureOr<bool> emitTileLoop(scf::ForallOp forall, ArrayRef<Value> counts);
  LogicalResult emitRowTile(RowTileOp tile);
  LogicalResult emitRowTileBody(RowTileOp tile);
  /// The form for few rows, for each strip of columns.
  LogicalResult emitStrips(RowTileOp tile);
  /// The C++ type of the operands of products.
  std::string elementName() const;
  /// Text that adds the first column of the strip to a sum; `{}` is the strip.
  std::string plusStrip() const { return strip ? " + " + std::to_string(plan->stripColumns) + " * {}" : ""; }
  /// The row index in memory of row `row` of a tile.
  FailureOr<Value> emitRowIndex(Value rows, Value row);
  /// The loop over K of a group of products, as C++ values, and the tiles that it leaves.
  struct Steps {
    Value lower, upper, step;
    SmallVector<Value> results;
    bool isSingle = false; ///< there is one step
  };

  bool isFew() const { return tileRows != plan->rows; }

  // The role that loads (Loads.cpp).
  LogicalResult emitLoads(const Steps &range, ArrayRef<MmaOp> products, RowTileOp tile);
  /// Pointers to the rows of which a thread copies a part.
  LogicalResult emitRowPointers(MmaOp mma, RowTileOp tile);
  void emitRowCopies(MmaOp mma, RowTileOp tile, Value k);
  /// Arrives for the step whose copies were issued `lag` steps ago, or for all that are left.
  void emitAnnouncement(Location loc);
  void emitDrain(Location loc);

  // The role that multiplies (Products.cpp).
  /// One or more products with the same accumulators: these and the operands in a stage, as text. `{}` is the first
  /// column of the weights.
  struct Multiplication {
    std::string accumulators, left, right;
    Value column;
    int64_t width = 0; ///< columns of the accumulators
  };
  void emitProducts(const Steps &range, ArrayRef<MmaOp> products, RowTileOp tile);
  /// `needsFence`: between the wait for a stage and the products.
  void emitTensorProducts(Location loc, const Steps &range, ArrayRef<Multiplication> list, bool needsFence);
  /// Products of f32, by the threads (ThreadProducts.cpp).
  void emitThreadProducts(Location loc, const Steps &range, ArrayRef<Multiplication> list, RowTileOp tile);
  void emitStepByThreads(Location loc, ArrayRef<Multiplication> list);
  /// What a warpgroup multiplies; declares the accumulators.
  SmallVector<Multiplication> shareProducts(const Steps &range, ArrayRef<MmaOp> products);
  Multiplication &addMultiplication(Location loc, SmallVectorImpl<Multiplication> &list, int64_t width);

  // Its epilogue (Epilogue.cpp).
  using ColumnValues = llvm::MapVector<Value, Value>; ///< results of ops of the epilogue that only depend on the column
  struct StoredAt {
    Value row, address;
  };
  LogicalResult emitEpilogue(StoreTileOp store, RowTileOp tile);
  /// All elements of a thread as pairs of neighbours, so many in all.
  LogicalResult emitPairs(StoreTileOp store, int64_t elements, Value count, Value firstColumn, Value limit,
                          bool hasAll);
  /// Where the element of the row `inTile` and of `column` goes.
  FailureOr<StoredAt> emitPlace(StoreTileOp store, Value column);
  LogicalResult emitOfColumn(ArrayRef<Operation *> ops, StoreTileOp store, Value column, ColumnValues &results);
  FailureOr<Value> emitStoredValue(StoreTileOp store, Value row, Value column, const ColumnValues &ofColumn,
                                   Value element);

  /// A line of text; `{}` are the arguments.
  void line(Location loc, const Twine &text, ValueRange arguments = {});
  Value literal(Location loc, Type type, StringRef text);
  void emitIf(Location loc, Value condition, llvm::function_ref<void()> body);
  /// `body` for 0, 1, .., count - 1 (i32), unrolled.
  void emitUnrolled(Location loc, int64_t count, llvm::function_ref<void(Value)> body);

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
  CudaLaunch launch; ///< of the kernel that is written
  std::optional<TilePlan> plan;
  DenseMap<Value, Value> tensorMaps; ///< matrix -> its tensor map
  int64_t tileRows = 0;              ///< of the form of a row tile that is written: plan->rows or plan->fewRows()
  bool hasStrips = false;            ///< the tile loop says which strips of a tile with few rows are wanted
  Value strip;                       ///< the one that is written, of several
  /// A tile of accumulators as a thread has it: the variable, its columns, and the first of its registers.
  struct Tile {
    std::string name;
    int64_t width = 0, first = 0;
  };
  DenseMap<Value, Tile> accumulators;
  int accumulatorCount = 0;
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EMITTER_H
