//===- VariantContract.cpp - what functions that are variants of one entry must keep ------------------------------===//
//
// A session goes from one variant to another between two calls, and nothing moves then: both take the same inputs, run
// on the same ranks, and find the states where the other one left them. Grids are axes of the job, each with windows of
// its own: flags of one variant must not stand where rows of another one were.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Pipelines/Variants.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace moe_mlir;

namespace {
/// Part `number` of `count` equal parts.
struct Part {
  int64_t number = 0, count = 1;
  bool operator==(const Part &other) const { return number == other.number && count == other.count; }
};

class VariantCheck {
public:
  explicit VariantCheck(ModuleOp module) : module(module) {}

  LogicalResult run() {
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isExternal())
        functions.push_back(func);
    auto isVariant = [](func::FuncOp func) { return bool(moe::variantOf(func)); };
    if (llvm::none_of(functions, isVariant))
      return success();
    for (func::FuncOp func : functions) {
      if (!isVariant(func))
        return func.emitOpError("has no 'moe.variant' beside functions that have one; give each one");
      if (failed(checkGrids(func)) || failed(checkRanks(func)))
        return failure();
    }
    llvm::MapVector<StringRef, SmallVector<func::FuncOp>> entries;
    for (func::FuncOp func : functions)
      entries[moe::variantOf(func).getEntry()].push_back(func);
    for (auto &[entry, variants] : entries)
      for (size_t i = 1; i < variants.size(); ++i) {
        for (func::FuncOp other : ArrayRef(variants).take_front(i))
          if (moe::variantOf(other).getName() == moe::variantOf(variants[i]).getName())
            return fault(variants[i]) << "is called as another variant of its entry";
        if (failed(compare(variants[0], variants[i])))
          return failure();
      }
    return success();
  }

private:
  /// "'main.1', variant 'dp=4' of 'main', .."
  static InFlightDiagnostic fault(func::FuncOp func) {
    auto variant = moe::variantOf(func);
    InFlightDiagnostic diagnostic = func.emitError();
    diagnostic << "'" << func.getName() << "', variant '" << variant.getName() << "' of '" << variant.getEntry()
               << "', ";
    return diagnostic;
  }

  LogicalResult checkGrids(func::FuncOp func) {
    auto variant = moe::variantOf(func);
    for (FlatSymbolRefAttr grid : variant.getGrids()) {
      func::FuncOp first = ownerOf.try_emplace(grid, func).first->second;
      auto owner = moe::variantOf(first);
      if (owner.getName() != variant.getName() || owner.getGrids() != variant.getGrids())
        return fault(func) << "has the grid " << grid << " of '" << first.getName()
                           << "', another variant; give each its own";
    }
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(func);
    for (SymbolTable::SymbolUse use : uses ? *uses : SymbolTable::UseRange({})) {
      auto name = dyn_cast<FlatSymbolRefAttr>(use.getSymbolRef());
      if (!name || !SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(func, name))
        continue;
      std::optional<moe::GridAxis> axis = moe::axisOf(func, name);
      if (!llvm::is_contained(variant.getGrids(), axis ? axis->grid : name))
        return fault(func) << "names the grid " << name << ", which is none of its own";
    }
    return success();
  }

  LogicalResult checkRanks(func::FuncOp func) {
    int64_t ranks = ranksOf(func);
    int64_t others = ranksOf(functions.front());
    if (ranks == others)
      return success();
    return fault(func) << "runs on " << ranks << " ranks and '" << functions.front().getName() << "' on " << others
                       << "; all variants run on the same ranks";
  }

  static int64_t ranksOf(func::FuncOp func) {
    int64_t ranks = 1;
    for (FlatSymbolRefAttr grid : moe::variantOf(func).getGrids())
      ranks = llvm::SaturatingMultiply<uint64_t>(ranks, moe::ranksOf(func, grid));
    return ranks;
  }

  /// What of a value a caller sees, and whatever else is said of it, but for what divides it.
  static DictionaryAttr visible(DictionaryAttr attrs, MLIRContext *context) {
    NamedAttrList list(attrs ? attrs : DictionaryAttr::get(context));
    list.erase(moe::kSplitAttr);
    return list.getDictionary(context);
  }

  LogicalResult compare(func::FuncOp first, func::FuncOp other) {
    MLIRContext *context = module.getContext();
    auto differs = [&](StringRef what, unsigned number) {
      return fault(other) << "has another " << what << " " << number << " than '" << first.getName()
                          << "'; variants of an entry have the same, but for 'moe.split'";
    };
    if (first.getNumArguments() != other.getNumArguments())
      return differs("argument", std::min(first.getNumArguments(), other.getNumArguments()));
    if (first.getNumResults() != other.getNumResults())
      return differs("result", std::min(first.getNumResults(), other.getNumResults()));
    for (unsigned i = 0; i < first.getNumArguments(); ++i)
      if (first.getArgumentTypes()[i] != other.getArgumentTypes()[i] ||
          visible(first.getArgAttrDict(i), context) != visible(other.getArgAttrDict(i), context))
        return differs("argument", i);
    for (unsigned i = 0; i < first.getNumResults(); ++i)
      if (first.getResultTypes()[i] != other.getResultTypes()[i] ||
          visible(first.getResultAttrDict(i), context) != visible(other.getResultAttrDict(i), context))
        return differs("result", i);
    return compareStates(first, other);
  }

  /// A state's sizes that have the name of an input's dimension 0 are divided as that is.
  LogicalResult compareStates(func::FuncOp first, func::FuncOp other) {
    for (unsigned i = 0; i < first.getNumArguments(); ++i) {
      auto dims = first.getArgAttrOfType<ArrayAttr>(i, "moe.dims");
      if (!first.getArgAttr(i, "moe.state") || !dims)
        continue;
      for (StringAttr size : dims.getAsRange<StringAttr>()) {
        SmallVector<FlatSymbolRefAttr> one = splitOf(first, size), two = splitOf(other, size);
        for (int64_t rank = 0, ranks = ranksOf(first); rank < ranks; ++rank)
          if (!(partOf(first, one, rank) == partOf(other, two, rank)))
            return fault(other) << "divides state '" << nameOf(first, i) << "' in another way than '" << first.getName()
                                << "': rank " << rank << " has " << describe(partOf(other, two, rank)) << " of '"
                                << size.getValue() << "' instead of " << describe(partOf(first, one, rank))
                                << "; states stay when another variant goes on";
      }
    }
    return success();
  }

  static std::string nameOf(func::FuncOp func, unsigned argument) {
    auto name = func.getArgAttrOfType<StringAttr>(argument, "moe.name");
    return name ? name.str() : std::to_string(argument);
  }

  static std::string describe(Part part) {
    return part.count == 1 ? "all"
                           : "part " + std::to_string(part.number) + " of " + std::to_string(part.count);
  }

  /// The grids that divide the inputs whose dimension 0 has this name.
  static SmallVector<FlatSymbolRefAttr> splitOf(func::FuncOp func, StringAttr size) {
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      auto dims = func.getArgAttrOfType<ArrayAttr>(i, "moe.dims");
      if (dims && !dims.empty() && !size.empty() && dims[0] == size && !func.getArgAttr(i, "moe.state"))
        return moe::splitGrids(func.getArgAttr(i, moe::kSplitAttr));
    }
    return {};
  }

  static Part partOf(func::FuncOp func, ArrayRef<FlatSymbolRefAttr> split, int64_t rank) {
    Part part;
    int64_t stride = ranksOf(func);
    for (FlatSymbolRefAttr grid : moe::variantOf(func).getGrids()) {
      int64_t ranks = moe::ranksOf(func, grid);
      stride /= ranks;
      if (!llvm::is_contained(split, grid))
        continue;
      part.number = part.number * ranks + rank / stride % ranks;
      part.count *= ranks;
    }
    return part;
  }

  ModuleOp module;
  SmallVector<func::FuncOp> functions;
  llvm::DenseMap<Attribute, func::FuncOp> ownerOf; ///< by grid
};
} // namespace

LogicalResult moe_mlir::verifyVariants(Operation *module) { return VariantCheck(cast<ModuleOp>(module)).run(); }
