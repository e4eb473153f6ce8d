//===- Functionalizer.h - what follows the memory of a function's tensors ---------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_FUNCTIONALIZER_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_FUNCTIONALIZER_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::aten {

/// Replaces in-place calls of one function by calls with results.
class Functionalizer {
public:
  explicit Functionalizer(func::FuncOp function) : function(function), builder(function.getContext()) {}
  LogicalResult run();

private:
  /// One step from a tensor to a view of it.
  struct View {
    CallOp call;
    unsigned result;
  };

  /// A value seen as memory: a base tensor and the views that lead from it to the value.
  struct Alias {
    Value base;
    SmallVector<View> views;
    /// The value that holds the elements now, as of `version` of the base.
    Value value;
    unsigned version = 0;
  };

  struct Storage {
    Value current;
    unsigned version = 0;
  };

  Alias &getAlias(Value value);
  Storage &getStorage(Value base);
  Value read(Value value);
  LogicalResult write(CallOp call, Value target, Value replacement);
  FailureOr<Value> putBack(CallOp write, View view, Value parent, Value part);
  Value applyView(View view, Value parent);
  bool isView(CallOp call, Value self);
  LogicalResult visit(CallOp call);
  FailureOr<BlockArgument> addState(Type type, StringRef name, Location loc);
  FailureOr<BlockArgument> getStarted(Location loc);
  FailureOr<unsigned> makeState(Value base);
  LogicalResult returnChanged();

  func::FuncOp function;
  OpBuilder builder;
  DenseMap<Value, Alias> aliases;
  llvm::MapVector<Value, Storage> storages;
  /// What the function returns, with what follows from its writes.
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> resultAttrs;
  /// The state that is false in the first call, where a state starts as something other than zeros.
  BlockArgument started;
};

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_FUNCTIONALIZER_H
