//===- ConvertAtenToLinalg.cpp - lowers every call, or reports all that it cannot ---------------------------------===//

#include "moe-mlir/Conversion/AtenToLinalg/Passes.h"

#include "Lowering.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::aten {
#define GEN_PASS_DEF_CONVERTATENTOLINALG
#include "moe-mlir/Conversion/AtenToLinalg/Passes.h.inc"
} // namespace mlir::aten

using namespace mlir;
using namespace mlir::aten;

namespace {
/// Where an operator first occurred, and how often it does.
struct Occurrence {
  CallOp first;
  unsigned count = 0;
  bool known = false;
};

struct ConvertAtenToLinalg : aten::impl::ConvertAtenToLinalgBase<ConvertAtenToLinalg> {
  using ConvertAtenToLinalgBase::ConvertAtenToLinalgBase;

  ConvertAtenToLinalg() {
    addConvolutions(table);
    addCreation(table);
    addElementwise(table);
    addIndexAdd(table);
    addIndexing(table);
    addMatMul(table);
    addRankings(table);
    addReductions(table);
    addShapes(table);
    addSlices(table);
    addSymbolic(table);
    addTriangles(table);
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<CallOp> calls;
    function.walk([&](CallOp call) { calls.push_back(call); });
    llvm::MapVector<StringRef, Occurrence> unsupported;
    SmallVector<std::pair<CallOp, SmallVector<Value>>> lowered;
    // Nothing is replaced or erased before all calls are lowered.
    OpBuilder builder(&getContext());
    for (CallOp call : calls) {
      auto it = table.find(call.getBase());
      std::optional<SmallVector<Value>> results;
      if (it != table.end() && computesNumbers(call)) {
        builder.setInsertionPoint(call);
        Lowering lowering(builder, call);
        results = it->second(lowering);
        if (!lowering.fits)
          results.reset();
      }
      if (results) {
        lowered.emplace_back(call, std::move(*results));
        continue;
      }
      Occurrence &entry = unsupported.insert({call.getTarget(), Occurrence{call}}).first->second;
      entry.known = it != table.end();
      ++entry.count;
    }
    if (!unsupported.empty())
      return report(unsupported, lowered);
    // A call that only hands its operand on is lowered to the result of another call, which goes as well.
    IRMapping replaced;
    for (auto &[call, results] : lowered) {
      for (auto [from, to] : llvm::zip_equal(call.getResults(), results)) {
        if (from.getType() != to.getType())
          return (void)(call.emitOpError("was lowered to ") << to.getType() << ", expected " << from.getType()),
                 signalPassFailure();
        replaced.map(from, replaced.lookupOrDefault(to));
        from.replaceAllUsesWith(replaced.lookup(from));
      }
    }
    for (auto &entry : llvm::reverse(lowered))
      entry.first.erase();
  }

private:
  /// Complex numbers are taken apart before (aten-expand-complex).
  static bool computesNumbers(CallOp call) {
    auto isNumber = [](Type type) { return type.isIndex() || getElementTypeOrSelf(type).isIntOrFloat(); };
    return llvm::all_of(call.getOperandTypes(), isNumber) && llvm::all_of(call.getResultTypes(), isNumber);
  }

  llvm::StringMap<LoweringFunction> table;

  void report(const llvm::MapVector<StringRef, Occurrence> &unsupported,
              ArrayRef<std::pair<CallOp, SmallVector<Value>>> lowered) {
    unsigned count = 0;
    for (auto &entry : unsupported)
      count += entry.second.count;
    InFlightDiagnostic diagnostic = emitError(getOperation().getLoc());
    diagnostic << count << " call(s) of " << unsupported.size()
               << " operator(s) are not supported; see docs/Ops.md for what is";
    for (auto &[name, entry] : unsupported) {
      CallOp first = entry.first;
      Diagnostic &note = diagnostic.attachNote(first.getLoc()) << name << " (" << entry.count << ")";
      // A choice by name (an activation, a rounding mode) is often what is not known.
      for (NamedAttribute argument : first.getArguments())
        if (auto text = dyn_cast<StringAttr>(argument.getValue()))
          note << ", " << argument.getName().getValue() << " = '" << text.getValue() << "'";
      note << (entry.known ? ": this form of the operator" : "");
    }
    // Built ops have no users yet: take them away again, so that the function is as it was.
    llvm::SetVector<Operation *> built;
    for (auto &[call, results] : lowered)
      for (Value result : results)
        if (Operation *op = result.getDefiningOp(); op && op->use_empty() && !isa<CallOp>(op))
          built.insert(op);
    for (Operation *op : built)
      op->erase();
    signalPassFailure();
  }
};
} // namespace
