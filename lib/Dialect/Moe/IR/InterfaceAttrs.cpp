//===- InterfaceAttrs.cpp - rules of the attributes that describe a program ---------------------------------------===//
//
// What a caller of the program must know stands on the module, and on the arguments and results of its functions. No op
// carries it, so that every level keeps it; the dialect checks it here, where a wrong one is written. A name that is
// not known is an error: it would have no effect, and nobody would see why.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Groups.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Moe/IR/PlainLayers.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::moe;

static constexpr StringRef moduleNames[] = {"moe.generation", "moe.level", "moe.name", "moe.weights"};
static constexpr StringRef argumentNames[] = {"moe.dim_ranges", "moe.dims",   "moe.encoding",   "moe.index_of",
                                              "moe.name",       "moe.range",  "moe.range_plus", "moe.split",
                                              "moe.state",      "moe.uniform"};
static constexpr StringRef resultNames[] = {"moe.dims", "moe.name", "moe.split", "moe.state_of"};

static LogicalResult verifyName(Operation *op, StringRef name, ArrayRef<StringRef> known, const Twine &owner) {
  if (llvm::is_contained(known, name))
    return success();
  InFlightDiagnostic error = op->emitOpError() << "'" << name << "' is no attribute of " << owner << "; one of ";
  llvm::interleaveComma(known, error);
  return error;
}

/// Descriptors and archives hold names as texts of C: what stands behind a zero byte would be lost, and two names could
/// become one.
static bool isText(Attribute attr) {
  auto text = dyn_cast_if_present<StringAttr>(attr);
  return text && !text.empty() && !text.getValue().contains('\0');
}

/// What `isText` asks of an attribute that it refuses.
static StringRef nameExpected(Attribute attr) {
  auto text = dyn_cast_if_present<StringAttr>(attr);
  return text && !text.empty() ? "a name without zero bytes" : "a name";
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static LogicalResult verifyWeights(Operation *op, Attribute value) {
  auto fields = dyn_cast<DictionaryAttr>(value);
  if (!fields || !isText(fields.get("source")))
    return op->emitOpError() << "'moe.weights' must be {source = \"file\", id = \"content id\"}, got " << value;
  for (NamedAttribute field : fields)
    if (field.getName() != "source" && field.getName() != "id")
      return op->emitOpError() << "'moe.weights' has source and id, but no " << field.getName();
  if (Attribute id = fields.get("id"); id && !isText(id))
    return op->emitOpError() << "id of 'moe.weights' must be the content id of the source, got " << id;
  return success();
}

static LogicalResult verifyGenerationField(Operation *op, NamedAttribute field) {
  auto wrong = [&](StringRef expected) {
    return op->emitOpError() << field.getName() << " of 'moe.generation' must be " << expected << ", got "
                             << field.getValue();
  };
  StringRef name = field.getName();
  if (llvm::is_contained({"tokens", "position", "keep"}, name))
    return isText(field.getValue()) ? success() : wrong("the name of an input");
  if (name == "logits")
    return isText(field.getValue()) ? success() : wrong("the name of an output");
  if (name == "vocabulary") {
    auto kind = dyn_cast<StringAttr>(field.getValue());
    return kind && (kind == "bytes" || kind == "ids") ? success() : wrong("\"bytes\" or \"ids\"");
  }
  if (name == "cache_length" || name == "vocab_size") {
    auto number = dyn_cast<IntegerAttr>(field.getValue());
    return number && number.getInt() > 0 ? success() : wrong("an integer of at least 1");
  }
  if (name == "eos") {
    auto ids = dyn_cast<ArrayAttr>(field.getValue());
    return ids && llvm::all_of(ids, llvm::IsaPred<IntegerAttr>) ? success() : wrong("a list of token ids");
  }
  return op->emitOpError() << "'moe.generation' has no field " << field.getName()
                           << "; one of tokens, position, keep, logits, vocabulary, vocab_size, cache_length, eos";
}

static LogicalResult verifyGeneration(Operation *op, Attribute value) {
  auto fields = dyn_cast<DictionaryAttr>(value);
  if (!fields)
    return op->emitOpError() << "'moe.generation' must be a dictionary, got " << value;
  for (NamedAttribute field : fields)
    if (failed(verifyGenerationField(op, field)))
      return failure();
  auto size = fields.getAs<IntegerAttr>("vocab_size");
  auto eos = fields.getAs<ArrayAttr>("eos");
  if (!size || !eos)
    return success();
  for (auto id : eos.getAsRange<IntegerAttr>())
    if (id.getInt() < 0 || id.getInt() >= size.getInt())
      return op->emitOpError() << "eos of 'moe.generation' has " << id.getInt() << ", outside the vocabulary 0.."
                               << size.getInt() - 1;
  return success();
}

/// One name per dimension of a grid, each another one.
static LogicalResult verifyAxes(Operation *op, Attribute value) {
  auto grid = dyn_cast<shard::GridOp>(op);
  if (!grid)
    return op->emitOpError() << "'" << kAxesAttr << "' belongs to a shard.grid";
  auto names = dyn_cast<ArrayAttr>(value);
  if (!names || !llvm::all_of(names, isText) || static_cast<int64_t>(names.size()) != grid.getRank())
    return op->emitOpError() << "'" << kAxesAttr << "' must name each of the " << grid.getRank()
                             << " dimensions of the grid, got " << value;
  llvm::SmallDenseSet<Attribute> seen;
  for (Attribute name : names)
    if (!seen.insert(name).second)
      return op->emitOpError() << "'" << kAxesAttr << "' must give each dimension another name, got " << value;
  return success();
}

LogicalResult MoeDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName();
  bool ofModule = name == "moe.generation" || name == "moe.weights" || name == "moe.level";
  if (!isa<ModuleOp>(op)) {
    if (ofModule)
      return op->emitOpError() << "'" << name << "' belongs to the module";
    if (name == kAxesAttr)
      return verifyAxes(op, attr.getValue());
    if (name == kAxisOfAttr)
      return verifyAxisOf(op, attr.getValue());
    if (name == kGroupsOfAttr)
      return verifyGroupsOf(op, attr.getValue());
    if (name == kVariantAttr)
      return verifyVariant(op, attr.getValue());
    return name == kPlainAttr ? verifyPlainLayers(op, attr.getValue()) : success();
  }
  if (failed(verifyName(op, name, moduleNames, "a module")))
    return failure();
  if (name == "moe.weights")
    return verifyWeights(op, attr.getValue());
  if (name == "moe.generation")
    return verifyGeneration(op, attr.getValue());
  if (!isText(attr.getValue()))
    return op->emitOpError() << "'" << name << "' must be " << nameExpected(attr.getValue()) << ", got "
                             << attr.getValue();
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

namespace {
/// An argument or a result of a function, with its attributes.
struct Slot {
  FunctionOpInterface func;
  Type type;
  DictionaryAttr attrs;
  std::string name; ///< in messages: its own, or its number

  Slot(FunctionOpInterface func, Type type, DictionaryAttr attrs, const Twine &number)
      : func(func), type(type), attrs(attrs), name(number.str()) {
    if (auto own = attrs ? attrs.getAs<StringAttr>("moe.name") : StringAttr(); isText(own))
      name = ("'" + own.getValue() + "'").str();
  }

  LogicalResult verify(NamedAttribute attr);
  LogicalResult verifyDims(Attribute value);
  LogicalResult verifyDimRanges(Attribute value);
  LogicalResult verifyRange(Attribute value);
  LogicalResult verifySizeName(StringRef key, StringAttr size);
  LogicalResult verifySplit(Attribute value);
  LogicalResult verifyStateOf(Attribute value);
};
} // namespace

/// One name per dimension; "" where the size is static, or has no name.
LogicalResult Slot::verifyDims(Attribute value) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank())
    return func.emitOpError() << name << " of " << type << " has no dimensions that 'moe.dims' could name";
  auto names = dyn_cast<ArrayAttr>(value);
  if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return func.emitOpError() << "'moe.dims' of " << name << " must be a list of names, got " << value;
  if (static_cast<int64_t>(names.size()) != shaped.getRank())
    return func.emitOpError() << name << " of " << type << " needs a name in 'moe.dims' for each dimension, or \"\": "
                              << shaped.getRank() << " in all, got " << names.size();
  for (auto [d, entry] : llvm::enumerate(names.getAsRange<StringAttr>())) {
    if (entry.empty())
      continue;
    if (!isText(entry))
      return func.emitOpError() << "'moe.dims' of " << name << " must have names without zero bytes, got " << entry;
    if (!shaped.isDynamicDim(d))
      return func.emitOpError() << "'moe.dims' of " << name << " names dimension " << d << " " << entry
                                << ", but its size is always " << shaped.getDimSize(d);
  }
  return success();
}

/// One range per dimension: [least, greatest], [least], or [] where the size is static or may be any.
LogicalResult Slot::verifyDimRanges(Attribute value) {
  auto shaped = dyn_cast<ShapedType>(type);
  auto ranges = dyn_cast<ArrayAttr>(value);
  if (!shaped || !shaped.hasRank() || !ranges || static_cast<int64_t>(ranges.size()) != shaped.getRank())
    return func.emitOpError() << "'moe.dim_ranges' of " << name
                              << " must be a list with one range for each dimension of " << type << ", got " << value;
  if (attrs.contains("moe.state"))
    return func.emitOpError() << "'moe.dim_ranges' is for what a caller gives, but " << name << " is a state";
  for (auto [d, entry] : llvm::enumerate(ranges)) {
    auto bounds = dyn_cast<ArrayAttr>(entry);
    if (!bounds || bounds.size() > 2 || !llvm::all_of(bounds, llvm::IsaPred<IntegerAttr>))
      return func.emitOpError() << "'moe.dim_ranges' of " << name << " must hold [least, greatest], [least] or [] for "
                                << "dimension " << d << ", got " << entry;
    if (bounds.empty())
      continue;
    const int64_t least = cast<IntegerAttr>(bounds[0]).getInt();
    if (least < 0 || cast<IntegerAttr>(bounds[bounds.size() - 1]).getInt() < least)
      return func.emitOpError() << "'moe.dim_ranges' of " << name << " holds no size for dimension " << d << ", got "
                                << entry;
    if (!shaped.isDynamicDim(d))
      return func.emitOpError() << "'moe.dim_ranges' of " << name << " has a range for dimension " << d
                                << ", but its size is always " << shaped.getDimSize(d);
  }
  return success();
}

LogicalResult Slot::verifyRange(Attribute value) {
  auto bounds = dyn_cast<ArrayAttr>(value);
  if (!bounds || bounds.size() != 2 || !llvm::all_of(bounds, llvm::IsaPred<IntegerAttr>))
    return func.emitOpError() << "'moe.range' of " << name << " must be [lo, hi], got " << value;
  if (cast<IntegerAttr>(bounds[0]).getInt() > cast<IntegerAttr>(bounds[1]).getInt())
    return func.emitOpError() << "'moe.range' of " << name << " must not be empty, got " << value;
  if (!isa<IntegerType>(getElementTypeOrSelf(type)))
    return func.emitOpError() << "'moe.range' is for integers, but " << name << " is " << type;
  return success();
}

/// Without a size of that name the bound would hold for the first position only, or there would be none.
LogicalResult Slot::verifySizeName(StringRef key, StringAttr size) {
  if (key == "moe.range_plus" && !attrs.contains("moe.range"))
    return func.emitOpError() << "'moe.range_plus' of " << name << " needs 'moe.range'";
  if (key == "moe.index_of" && attrs.contains("moe.state"))
    return func.emitOpError() << "'moe.index_of' is for what a caller gives, but " << name << " is a state";
  if (!isa<IntegerType>(getElementTypeOrSelf(type)))
    return func.emitOpError() << "'" << key << "' is for integers, but " << name << " is " << type;
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
    if (auto names = func.getArgAttrOfType<ArrayAttr>(i, "moe.dims"); names && llvm::is_contained(names, size))
      return success();
  return func.emitOpError() << "'" << key << "' of " << name << " names " << size
                            << ", which is no size of an argument in 'moe.dims'";
}

LogicalResult Slot::verifySplit(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  bool isList = list && list.size() > 1 && llvm::all_of(list, llvm::IsaPred<FlatSymbolRefAttr>);
  if (!isList && !isa<FlatSymbolRefAttr>(value))
    return func.emitOpError() << "'moe.split' of " << name
                              << " must be a grid, as @ep, or several, as [@dp, @ep], got " << value;
  shard::GridOp before;
  for (FlatSymbolRefAttr name : splitGrids(value)) {
    auto grid = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(func, name);
    if (!grid)
      return func.emitOpError() << "'moe.split' of " << this->name << " names no shard.grid: " << name;
    if (grid->hasAttr(kAxisOfAttr))
      return func.emitOpError() << "'moe.split' of " << this->name << " must name whole grids, but " << name
                                << " is a dimension of another one";
    if (groupsOf(func, name))
      return func.emitOpError() << "'moe.split' of " << this->name
                                << " names a grid of groups, which share weights only: " << name;
    if (before && (before->getBlock() != grid->getBlock() || !before->isBeforeInBlock(grid)))
      return func.emitOpError() << "'moe.split' of " << this->name << " must name grids in their order in the module, "
                                << "each once, got " << value;
    before = grid;
  }
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank() || shaped.getRank() == 0 || !shaped.isDynamicDim(0))
    return func.emitOpError() << "'moe.split' divides dimension 0 of " << name
                              << " among ranks, so its size must be dynamic, got " << type;
  if (attrs.contains("moe.state") || attrs.contains("moe.state_of"))
    return func.emitOpError() << "'moe.split' is for what a caller gives and takes, but " << name
                              << " is a state; each rank makes its own";
  return success();
}

LogicalResult Slot::verifyStateOf(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  int64_t count = func.getNumArguments();
  if (!number || number.getInt() < 0 || number.getInt() >= count)
    return func.emitOpError() << "'moe.state_of' of " << name << " must be the number of one of the " << count
                              << " arguments, got " << value;
  Type state = func.getArgumentTypes()[number.getInt()];
  if (getElementTypeOrSelf(state) != getElementTypeOrSelf(type) || failed(verifyCompatibleShape(state, type)))
    return func.emitOpError() << name << " of " << type << " cannot be the next state of argument " << number.getInt()
                              << " of " << state;
  unsigned results = 0;
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    if (auto other = func.getResultAttrOfType<IntegerAttr>(i, "moe.state_of"))
      results += other.getInt() == number.getInt();
  if (results > 1)
    return func.emitOpError() << results << " results are the next state of argument " << number.getInt();
  return success();
}

LogicalResult Slot::verify(NamedAttribute attr) {
  StringRef key = attr.getName();
  Attribute value = attr.getValue();
  auto wrong = [&](StringRef expected) {
    return func.emitOpError() << "'" << key << "' of " << name << " must be " << expected << ", got " << value;
  };
  if (key == "moe.dims")
    return verifyDims(value);
  if (key == "moe.dim_ranges")
    return verifyDimRanges(value);
  if (key == "moe.range")
    return verifyRange(value);
  if (key == "moe.state_of")
    return verifyStateOf(value);
  if (key == kSplitAttr)
    return verifySplit(value);
  if (key == "moe.state" || key == "moe.uniform")
    return isa<UnitAttr>(value) ? success() : wrong("without a value");
  if (!isText(value))
    return wrong(nameExpected(value));
  const bool isSize = key == "moe.range_plus" || key == "moe.index_of";
  return isSize ? verifySizeName(key, cast<StringAttr>(value)) : success();
}

/// Callers name what they give and get: of two inputs with one name, one could not be given, and of two outputs one
/// would be lost. States are nobody's to name. Looked at once per function, with the first name.
static LogicalResult verifyNames(FunctionOpInterface func, unsigned first, unsigned count, StringRef what,
                                 function_ref<DictionaryAttr(unsigned)> attrsOf) {
  auto nameOf = [&](unsigned i) {
    DictionaryAttr attrs = attrsOf(i);
    return attrs && !attrs.contains("moe.state") && !attrs.contains("moe.state_of")
               ? attrs.getAs<StringAttr>("moe.name")
               : StringAttr();
  };
  for (unsigned i = first; i-- > 0;)
    if (nameOf(i))
      return success();
  llvm::DenseMap<StringAttr, unsigned> seen;
  for (unsigned i = first; i < count; ++i)
    if (StringAttr name = nameOf(i)) {
      auto [earlier, isNew] = seen.try_emplace(name, i);
      if (!isNew)
        return func.emitOpError() << what << "s " << earlier->second << " and " << i << " have one name, '"
                                  << name.getValue() << "'; give each its own in 'moe.name'";
    }
  return success();
}

LogicalResult MoeDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned arg, NamedAttribute attr) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return success();
  if (failed(verifyName(op, attr.getName(), argumentNames, "an argument")))
    return failure();
  DictionaryAttr attrs = function_interface_impl::getArgAttrDict(func, arg);
  auto attrsOf = [&](unsigned i) { return function_interface_impl::getArgAttrDict(func, i); };
  if (attr.getName() == "moe.name" && failed(verifyNames(func, arg, func.getNumArguments(), "argument", attrsOf)))
    return failure();
  return Slot(func, func.getArgumentTypes()[arg], attrs, "argument " + Twine(arg)).verify(attr);
}

LogicalResult MoeDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result, NamedAttribute attr) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return success();
  if (failed(verifyName(op, attr.getName(), resultNames, "a result")))
    return failure();
  DictionaryAttr attrs = function_interface_impl::getResultAttrDict(func, result);
  auto attrsOf = [&](unsigned i) { return function_interface_impl::getResultAttrDict(func, i); };
  if (attr.getName() == "moe.name" && failed(verifyNames(func, result, func.getNumResults(), "result", attrsOf)))
    return failure();
  return Slot(func, func.getResultTypes()[result], attrs, "result " + Twine(result)).verify(attr);
}
