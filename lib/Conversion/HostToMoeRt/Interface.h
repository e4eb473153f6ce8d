//===- Interface.h - inputs, outputs, states and parameters of a program ------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_INTERFACE_H
#define MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_INTERFACE_H

#include "Axes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::moert {

/// The parameters that the host functions of a module read. Equal ones have one number. What the archive has of several
/// that differ in who has which part is the same, and has one key.
class ParameterTable {
public:
  int32_t number(ArrayAttr sources, const WholeParameter &parameter);
  /// The function whose parameters come next. Its variant decides what the archive holds.
  void beginFunction(func::FuncOp function);
  /// Emits an error if variants of one entry read a weight in different orders, or not all of them read it.
  LogicalResult checkVariants() const;
  /// The module attribute `moert.parameters`.
  ArrayAttr toAttr(MLIRContext *context) const;

private:
  llvm::MapVector<Attribute, std::string> entries; ///< what an entry holds, but for the key
  llvm::MapVector<Attribute, std::string> held;    ///< the same of what the archive holds
  llvm::StringSet<> keys;
  /// A function, and what it reads of the archive.
  struct Reader {
    std::string name;
    Location loc;
    moe::VariantAttr variant;
    llvm::SetVector<Attribute> read;
  };
  SmallVector<Reader> readers;
};

/// What the runtime knows of a program, read from the host function before it is lowered.
class Interface {
public:
  /// Reads the attributes of the function's arguments and results; emits an error if one does not fit.
  static FailureOr<Interface> read(func::FuncOp function, const Axes &axes);

  struct Value {
    std::string name;
    MemRefType type;
    SmallVector<int64_t> dims; ///< symbol numbers of the dynamic dimensions, in order
    SmallVector<int64_t> dimRanges; ///< least and greatest size of each dimension; none: may be any
    int64_t lo = 0, hi = -1, symbol = -1, indexOf = -1;
    bool uniform = false;
    SmallVector<int64_t, 2> axes; ///< among whose ranks dimension 0 is divided
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

  /// The attribute `moert.program` of the lowered function.
  DictionaryAttr toAttr(MLIRContext *context) const;

private:
  FailureOr<Value> readValue(func::FuncOp function, DictionaryAttr attrs, Type type, std::string defaultName,
                             const Axes &axes);
  int64_t symbolNumber(StringRef name);

  SmallVector<Place> places;
  SmallVector<Value> inputValues, outputValues, stateValues;
  moe::VariantAttr variant;
  SmallVector<int64_t, 2> ownAxes; ///< whose numbers make that of a rank; none: all
  SmallVector<std::string> symbolNames;
  llvm::StringMap<int64_t> symbolNumbers;
};

} // namespace mlir::moert

#endif // MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_INTERFACE_H
