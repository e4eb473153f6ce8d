//===- Interface.h - inputs, outputs, states and parameters of a program ------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_INTERFACE_H
#define MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_INTERFACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::moert {

/// What the runtime knows of the program, read from the host function before it is lowered.
class Interface {
public:
  /// Reads the attributes of `main`'s arguments and results; emits an error if one does not fit.
  static FailureOr<Interface> read(func::FuncOp main);

  struct Value {
    std::string name;
    MemRefType type;
    SmallVector<int64_t> dims; ///< symbol numbers of the dynamic dimensions, in order
    int64_t lo = 0, hi = -1, symbol = -1;
    bool uniform = false;
  };

  /// An argument's place among the inputs or among the states.
  struct Place {
    bool state;
    int32_t index;
  };

  ArrayRef<Place> arguments() const { return places; }
  ArrayRef<Value> inputs() const { return inputValues; }
  ArrayRef<Value> states() const { return stateValues; }
  unsigned symbolCount() const { return symbolNames.size(); }
  /// The input and its dimension that give the size of symbol `symbol`; none if no input has it.
  std::optional<std::pair<int32_t, int32_t>> sourceOf(unsigned symbol) const;

  /// The number of the parameter; equal ones have one number.
  int32_t parameter(ArrayAttr sources, ArrayAttr recipe, MemRefType type);

  /// The module attribute `moert.program`.
  DictionaryAttr toAttr(MLIRContext *context) const;

private:
  FailureOr<Value> readValue(func::FuncOp main, DictionaryAttr attrs, Type type, std::string defaultName);
  int64_t symbolNumber(StringRef name);

  SmallVector<Place> places;
  SmallVector<Value> inputValues, outputValues, stateValues;
  SmallVector<std::string> symbolNames;
  llvm::StringMap<int64_t> symbolNumbers;
  llvm::MapVector<Attribute, std::string> parameters; ///< [sources, recipe, type] -> key
  llvm::StringSet<> keys;
};

} // namespace mlir::moert

#endif // MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_INTERFACE_H
