//===- Interface.cpp - inputs, outputs, states and parameters of a program ----------------------------------------===//

#include "Interface.h"

#include "mlir/IR/Builders.h"

#include <array>
#include <limits>

using namespace mlir;
using namespace mlir::moert;

int64_t Interface::symbolNumber(StringRef name) {
  auto [entry, isNew] = symbolNumbers.try_emplace(name, symbolNames.size());
  if (isNew)
    symbolNames.push_back(name.str());
  return entry->second;
}

FailureOr<Interface::Value> Interface::readValue(func::FuncOp function, DictionaryAttr attrs, Type type,
                                                 std::string defaultName, const Axes &axes) {
  Value value;
  value.name = defaultName;
  if (attrs)
    if (auto name = attrs.getAs<StringAttr>("moe.name"))
      value.name = name.str();
  value.type = dyn_cast<MemRefType>(type);
  if (!value.type || !value.type.getLayout().isIdentity())
    return function.emitOpError() << "'" << value.name << "' must be a contiguous memref, got " << type;
  auto dims = attrs ? attrs.getAs<ArrayAttr>("moe.dims") : ArrayAttr();
  for (int64_t d = 0; d < value.type.getRank(); ++d) {
    if (!value.type.isDynamicDim(d))
      continue;
    auto name = dims ? dyn_cast<StringAttr>(dims[d]) : StringAttr();
    value.dims.push_back(symbolNumber(name && !name.empty() ? name.str() : value.name + "." + std::to_string(d)));
  }
  if (!attrs)
    return value;
  if (auto ranges = attrs.getAs<ArrayAttr>("moe.dim_ranges"))
    for (auto bounds : ranges.getAsRange<ArrayAttr>())
      for (auto [i, otherwise] : llvm::enumerate(std::array<int64_t, 2>{0, std::numeric_limits<int64_t>::max()}))
        value.dimRanges.push_back(i < bounds.size() ? cast<IntegerAttr>(bounds[i]).getInt() : otherwise);
  if (auto range = attrs.getAs<ArrayAttr>("moe.range")) {
    auto lo = range.size() == 2 ? dyn_cast<IntegerAttr>(range[0]) : IntegerAttr();
    auto hi = range.size() == 2 ? dyn_cast<IntegerAttr>(range[1]) : IntegerAttr();
    if (!lo || !hi)
      return function.emitOpError() << "'moe.range' of '" << value.name << "' must be [lo, hi], got " << range;
    value.lo = lo.getInt();
    value.hi = hi.getInt();
  }
  if (auto symbol = attrs.getAs<StringAttr>("moe.range_plus"))
    value.symbol = symbolNumber(symbol);
  if (auto symbol = attrs.getAs<StringAttr>("moe.index_of"))
    value.indexOf = symbolNumber(symbol);
  value.uniform = attrs.contains("moe.uniform");
  for (FlatSymbolRefAttr grid : moe::splitGrids(attrs.get(moe::kSplitAttr)))
    value.axes.push_back(axes.number(grid));
  return value;
}

/// Callers name what they give and get: of two values with one name, one could not be given, or would be lost.
static LogicalResult checkNames(func::FuncOp function, ArrayRef<Interface::Value> values, StringRef what) {
  llvm::StringMap<unsigned> seen;
  for (auto [i, value] : llvm::enumerate(values)) {
    auto [first, isNew] = seen.try_emplace(value.name, i);
    if (!isNew)
      return function.emitOpError() << what << "s " << first->second << " and " << i << " have one name, '"
                                    << value.name << "'; give each its own in 'moe.name'";
  }
  return success();
}

FailureOr<Interface> Interface::read(func::FuncOp function, const Axes &axes) {
  if (function.getName().contains('\0')) // which ends a text of C
    return function.emitOpError() << "holds a zero byte in its name, by which callers choose an entry";
  Interface interface;
  interface.variant = moe::variantOf(function);
  if (interface.variant)
    for (FlatSymbolRefAttr grid : interface.variant.getGrids())
      interface.ownAxes.push_back(axes.number(grid));
  else if (SmallVector<int64_t> whole = axes.wholeGrids(); whole.size() < axes.size())
    interface.ownAxes = std::move(whole);
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    DictionaryAttr attrs = function.getArgAttrDict(i);
    FailureOr<Value> value = interface.readValue(function, attrs, type, "input" + std::to_string(i), axes);
    if (failed(value))
      return failure();
    bool state = attrs && attrs.contains("moe.state");
    auto &list = state ? interface.stateValues : interface.inputValues;
    interface.places.push_back({state, static_cast<int32_t>(list.size())});
    list.push_back(*value);
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    FailureOr<Value> value =
        interface.readValue(function, function.getResultAttrDict(i), type, "output" + std::to_string(i), axes);
    if (failed(value))
      return failure();
    interface.outputValues.push_back(*value);
  }
  if (failed(checkNames(function, interface.inputValues, "input")) ||
      failed(checkNames(function, interface.outputValues, "output")))
    return failure();
  for (const Value &state : interface.stateValues)
    for (int64_t symbol : state.dims)
      if (!interface.sourceOf(symbol))
        return function.emitOpError() << "no input gives the size '" << interface.symbolNames[symbol] << "' of state '"
                                      << state.name << "'";
  return interface;
}

std::optional<std::pair<int32_t, int32_t>> Interface::sourceOf(unsigned symbol) const {
  for (auto [i, input] : llvm::enumerate(inputValues)) {
    auto next = input.dims.begin();
    for (int64_t d = 0; d < input.type.getRank(); ++d)
      if (input.type.isDynamicDim(d) && *next++ == symbol)
        return std::pair<int32_t, int32_t>(i, d);
  }
  return std::nullopt;
}

int32_t ParameterTable::number(ArrayAttr sources, const WholeParameter &parameter) {
  Builder b(parameter.type.getContext());
  NamedAttrList entry;
  entry.set("sources", sources);
  entry.set("recipe", parameter.recipe ? parameter.recipe : b.getArrayAttr({}));
  entry.set("type", TypeAttr::get(parameter.type));
  if (parameter.shape)
    entry.set("shape", parameter.shape);
  Attribute archived = entry.getDictionary(b.getContext());
  if (!parameter.axes.empty())
    entry.set("axes", b.getDenseI64ArrayAttr(parameter.axes));
  if (parameter.sliceAxis >= 0)
    entry.set("slices", b.getDenseI64ArrayAttr({parameter.sliceAxis, parameter.sliceStep}));
  auto key = held.find(archived);
  if (key == held.end()) {
    std::string source = sources.empty() ? "parameter" : cast<StringAttr>(sources[0]).str(), name = source;
    for (unsigned use = 2; !keys.insert(name).second; ++use)
      name = source + "#" + std::to_string(use);
    key = held.insert({archived, name}).first;
  }
  if (!readers.empty())
    readers.back().read.insert(archived);
  return entries.insert({entry.getDictionary(b.getContext()), key->second}).first - entries.begin();
}

void ParameterTable::beginFunction(func::FuncOp function) {
  readers.push_back({function.getName().str(), function.getLoc(), moe::variantOf(function), {}});
}

LogicalResult ParameterTable::checkVariants() const {
  llvm::StringMap<const Reader *> firsts;
  for (const Reader &reader : readers) {
    if (!reader.variant)
      continue;
    const Reader &first = *firsts.try_emplace(reader.variant.getEntry(), &reader).first->second;
    for (auto [one, other] : {std::pair(&first, &reader), std::pair(&reader, &first)})
      for (Attribute weight : one->read) {
        if (other->read.contains(weight))
          continue;
        auto sources = cast<DictionaryAttr>(weight).getAs<ArrayAttr>("sources");
        return emitError(reader.loc) << "variant '" << reader.variant.getName() << "' of '" << reader.variant.getEntry()
                                     << "' reads weight " << (sources.empty() ? Attribute(sources) : sources[0])
                                     << " packed in another way than variant '" << first.variant.getName()
                                     << "'; all variants read one archive, so make this one a program of its own";
      }
  }
  return success();
}

ArrayAttr ParameterTable::toAttr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<Attribute> attrs;
  for (auto &[identity, key] : entries) {
    NamedAttrList entry(cast<DictionaryAttr>(identity));
    entry.set("key", b.getStringAttr(key));
    attrs.push_back(entry.getDictionary(context));
  }
  return b.getArrayAttr(attrs);
}

DictionaryAttr Interface::toAttr(MLIRContext *context) const {
  Builder b(context);
  auto valuesAttr = [&](ArrayRef<Value> values) {
    SmallVector<Attribute> entries;
    for (const Value &value : values) {
      NamedAttrList entry;
      entry.set("name", b.getStringAttr(value.name));
      entry.set("type", TypeAttr::get(value.type));
      entry.set("dims", b.getDenseI64ArrayAttr(value.dims));
      if (!value.dimRanges.empty())
        entry.set("dim_ranges", b.getDenseI64ArrayAttr(value.dimRanges));
      if (value.lo <= value.hi) {
        entry.set("lo", b.getI64IntegerAttr(value.lo));
        entry.set("hi", b.getI64IntegerAttr(value.hi));
      }
      if (value.symbol >= 0)
        entry.set("symbol", b.getI64IntegerAttr(value.symbol));
      if (value.indexOf >= 0)
        entry.set("index_of", b.getI64IntegerAttr(value.indexOf));
      if (value.uniform)
        entry.set("uniform", b.getUnitAttr());
      if (!value.axes.empty())
        entry.set("axes", b.getDenseI64ArrayAttr(value.axes));
      entries.push_back(entry.getDictionary(context));
    }
    return b.getArrayAttr(entries);
  };
  SmallVector<StringRef> symbols(symbolNames.begin(), symbolNames.end());
  NamedAttrList program;
  program.set("inputs", valuesAttr(inputValues));
  program.set("outputs", valuesAttr(outputValues));
  program.set("states", valuesAttr(stateValues));
  program.set("symbols", b.getStrArrayAttr(symbols));
  if (variant) {
    program.set("entry", b.getStringAttr(variant.getEntry()));
    program.set("variant", b.getStringAttr(variant.getName()));
  }
  if (variant || !ownAxes.empty())
    program.set("axes", b.getDenseI64ArrayAttr(ownAxes));
  return program.getDictionary(context);
}
