//===- Graph.h - the graph of a .pt2 file as aten.call ops ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_GRAPH_H
#define MOE_MLIR_LIB_IMPORT_PT2_GRAPH_H

#include "GuardText.h"
#include "Metadata.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "moe-mlir/Support/UntrustedJson.h"
#include "llvm/ADT/MapVector.h"

namespace moe_mlir::pt2 {

/// The element type of values of the graph. They may be complex, which tensors of the file may not: aten-expand-complex
/// takes them apart.
mlir::Type getGraphElementType(Pt2ScalarType type, mlir::MLIRContext *context);

/// Turns the JSON of an exported program into `func.func @main`. One object reads one graph and the graphs nested in
/// it.
class GraphReader {
public:
  GraphReader(const Pt2Archive &archive, const Metadata &metadata, mlir::MLIRContext *context)
      : archive(archive), metadata(metadata), builder(context) {}

  llvm::Error read(const JsonObject &program, mlir::ModuleOp module);

private:
  /// Values of one graph by name; nested graphs have their own.
  struct Scope {
    const JsonObject *graph;
    llvm::StringMap<mlir::Value> values;
  };
  /// Operands of one call, each once.
  struct Operands {
    llvm::SmallVector<mlir::Value> values;
    llvm::DenseMap<mlir::Value, int64_t> index;
  };
  struct InputSpec {
    enum Kind { User, Parameter, Stored } kind;
    std::string name;
    std::string key;
  };
  /// Values of buffers, parameters and inputs that the signature says to have another value at the end: their names in
  /// the model, and that value.
  using Changes = llvm::MapVector<mlir::Value, std::pair<std::string, mlir::Value>>;

  llvm::Error readInputs(const JsonObject &signature);
  llvm::Error createFunction(Scope &scope, mlir::ModuleOp module, const JsonObject &signature);
  llvm::Error defineStored(Scope &scope, const InputSpec &input);
  llvm::Error readNodes(Scope &scope);
  llvm::Error readNode(Scope &scope, const JsonObject &node);
  llvm::Error inlineGraph(Scope &scope, const JsonObject &node, llvm::StringRef target);
  llvm::Error checkLeftOver();
  llvm::Error checkRoles(llvm::ArrayRef<mlir::Type> types) const;
  llvm::Error checkLogits(mlir::Type type) const;
  llvm::Error readChange(const Scope &scope, llvm::StringRef kind, const JsonObject &fields, mlir::Value value,
                         Changes &changes);
  /// Appends the results that are next values of states, and writes what is changed and no state.
  llvm::Error makeChanges(const Changes &changes, llvm::SmallVectorImpl<mlir::Value> &values,
                          llvm::SmallVectorImpl<mlir::DictionaryAttr> &attrs);
  llvm::Error readReturn(Scope &scope, const JsonObject &signature);

  llvm::Expected<mlir::RankedTensorType> getTensorType(const Scope &scope, llvm::StringRef name);
  llvm::Expected<mlir::Value> getValue(const Scope &scope, llvm::StringRef name);
  /// Every name stands for one value.
  static llvm::Error checkNew(const Scope &scope, llvm::StringRef name);
  llvm::Error define(Scope &scope, llvm::StringRef name, mlir::Value value);
  /// The attribute of an argument; null for None and for what has no meaning on values (device, layout, ...).
  llvm::Expected<mlir::Attribute> getArgument(const Scope &scope, const JsonObject &argument, Operands &operands);
  llvm::Expected<mlir::Attribute> getOperandAttr(const Scope &scope, llvm::StringRef name, Operands &operands);
  /// Names and types of a node's results in order, lists flattened.
  llvm::Error getResults(const Scope &scope, const JsonObject &node, llvm::SmallVectorImpl<std::string> &names,
                         llvm::SmallVectorImpl<mlir::Type> &types);
  mlir::DictionaryAttr getArgumentAttrs(const Scope &scope, llvm::StringRef name, mlir::Type type);
  /// Gives dimensions the names that users know, where the metadata says what they are.
  void nameDims(const Scope &scope);
  /// `moe.dims` of a tensor of the graph: a name for each dynamic dimension; empty for static ones.
  mlir::ArrayAttr getDimNames(const Scope &scope, llvm::StringRef name, mlir::RankedTensorType type);
  /// `moe.dim_ranges` of a tensor of the graph; null if its sizes may be any.
  mlir::ArrayAttr getDimRanges(const Scope &scope, llvm::StringRef name, mlir::RankedTensorType type);
  /// For each dimension of a tensor the symbol or the expression that gives its size; empty for static ones.
  static llvm::SmallVector<llvm::StringRef> getSymbols(const Scope &scope, llvm::StringRef name,
                                                       mlir::RankedTensorType type);
  /// Reads the ranges that the program declares for its symbols.
  llvm::Error readDimRanges(const JsonObject &program);
  /// Makes checks of the guards that the program declares.
  llvm::Error readGuards(const Scope &scope, const JsonObject &program);
  /// Puts the names of inputs in the graph where guards have those of the module's arguments.
  llvm::Error findInputs(GuardTerm &guard, llvm::StringRef text) const;
  llvm::Expected<std::string> findInput(const GuardTerm &size, llvm::StringRef guard) const;
  /// Whether names of sizes and their ranges say the same.
  bool isKnown(const Scope &scope, const GuardTerm &guard);

  const Pt2Archive &archive;
  const Metadata &metadata;
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  std::vector<InputSpec> inputs;
  /// For each kind: the name that the model has for an input -> its name in the graph.
  llvm::StringMap<std::string> inputsOf[InputSpec::Stored + 1];
  /// Name of an input of the caller -> argument number.
  llvm::StringMap<unsigned> argumentOf;
  /// Keys of buffers that an output spec names as changed.
  llvm::StringSet<> changedBuffers;
  llvm::StringMap<std::string> dimNames;
  /// Symbol -> least size and, if there is one, greatest size.
  llvm::StringMap<llvm::SmallVector<int64_t, 2>> dimRanges;
  /// The same of expressions of symbols.
  std::vector<std::pair<GuardTerm, llvm::SmallVector<int64_t, 2>>> expressionRanges;
  /// Names of what the caller gives, also of constants, in order.
  std::vector<std::string> flatInputs;
};

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_GRAPH_H
