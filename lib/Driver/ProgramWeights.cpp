//===- ProgramWeights.cpp - the parameters of a program, and their archive ----------------------------------------===//

#include "ProgramWeights.h"
#include "moe-mlir/Weights/Dtype.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace moe_mlir;

static std::string shape(ArrayRef<int64_t> sizes, StringRef element) {
  std::string text;
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + element.str();
}

int ProgramWeights::plan(mlir::DictionaryAttr parameter, const WeightSource *source, Console &console) {
  StringRef key = stringIn(parameter, "key");
  auto sources = parameter.getAs<mlir::ArrayAttr>("sources");
  auto type = parameter.getAs<mlir::TypeAttr>("type");
  auto shaped = type ? dyn_cast<mlir::ShapedType>(type.getValue()) : mlir::ShapedType();
  if (key.empty() || !sources || !shaped || !shaped.hasStaticShape()) {
    console.error("malformed entry of moert.program's parameters");
    return kUserError;
  }
  auto fail = [&](Error error) {
    console.error("parameter '" + key + "': " + toString(std::move(error)));
    return kUserError;
  };
  std::vector<Blob> blobs;
  std::vector<std::string> names;
  for (mlir::Attribute name : sources) {
    auto text = dyn_cast<mlir::StringAttr>(name);
    Expected<Blob> blob = source->find(text ? text.getValue() : "");
    if (!blob)
      return fail(blob.takeError());
    blobs.push_back(std::move(*blob));
    names.push_back(text.getValue().str());
  }
  // Of a packed parameter its shape before the pack is compared, which is the one that people know.
  std::optional<ArrayRef<int64_t>> own;
  if (auto sizes = parameter.getAs<mlir::DenseI64ArrayAttr>("shape"))
    own = sizes.asArrayRef();
  // What the file has, by its own names: a recipe that does not fit is best understood from that.
  std::string held;
  for (auto [name, blob] : zip_equal(names, blobs))
    if (held.size() < 200)
      held += (held.empty() ? "'" : ", '") + name + "' of " + shape(blob.sizes, dtypeName(blob.dtype));
    else if (!StringRef(held).ends_with("..."))
      held += ", ...";
  held = ("'" + source->name() + "' has " + held).str();
  Expected<PackedTensor> tensor = PackedTensor::create(blobs, parameter.getAs<mlir::ArrayAttr>("recipe"), own);
  if (!tensor)
    return fail(createStringError(toString(tensor.takeError()) + "; " + held));
  std::optional<moert_dtype> dtype = dtypeOf(shaped.getElementType());
  ArrayRef<int64_t> expected = own.value_or(shaped.getShape()), actual = own ? tensor->ownSizes() : tensor->sizes();
  if (dtype != tensor->dtype() || actual != expected || tensor->sizes() != shaped.getShape()) {
    std::string made = shape(actual, dtypeName(tensor->dtype()));
    return fail(createStringError("the program expects " +
                                  shape(expected, dtype ? dtypeName(*dtype) : "an unknown type") +
                                  (StringRef(held).ends_with("of " + made) ? "" : ", the weights give " + made) +
                                  "; " + held));
  }
  auto check = [source, names]() -> Error {
    for (const std::string &name : names)
      if (Error error = source->verify(name))
        return error;
    return Error::success();
  };
  entries.push_back({key.str(), std::move(*tensor), check});
  return kOk;
}

/// Which ranks read which part of a parameter is no matter of the archive.
static std::string computeArchiveId(mlir::ArrayAttr parameters, StringRef contentId) {
  SHA256 hash;
  auto add = [&](StringRef part) {
    hash.update(part);
    hash.update(StringRef("\0", 1));
  };
  StringSet<> seen;
  for (auto parameter : parameters.getAsRange<mlir::DictionaryAttr>()) {
    if (!seen.insert(stringIn(parameter, "key")).second)
      continue;
    mlir::NamedAttrList entries(parameter);
    entries.erase("axes");
    entries.erase("slices");
    std::string text;
    raw_string_ostream(text) << mlir::Attribute(entries.getDictionary(parameters.getContext()));
    add(text);
  }
  add(contentId);
  add("moe-compile " MOE_VERSION);
  return toHex(hash.final(), /*LowerCase=*/true).substr(0, 32);
}

int ProgramWeights::open(mlir::ModuleOp module, const WeightsFile &file, Console &console) {
  auto parameters = module->getAttrOfType<mlir::ArrayAttr>("moert.parameters");
  if (!parameters || parameters.empty())
    return kOk;
  random = file.isNone();
  if (random)
    return kOk;
  if (!file.get()) {
    console.error(
        "the module has parameters but no moe.weights attribute: give the file with --weights (none: the program "
        "gets random ones when it runs)");
    return kUserError;
  }
  contentId = file.id().str();
  // Several may be parts of one in the archive.
  StringSet<> seen;
  for (mlir::Attribute attr : parameters) {
    auto parameter = cast<mlir::DictionaryAttr>(attr);
    if (StringRef key = stringIn(parameter, "key"); !key.empty() && !seen.insert(key).second)
      continue;
    if (int status = plan(parameter, file.get(), console))
      return status;
  }
  ownId = computeArchiveId(parameters, contentId);
  return kOk;
}

Error ProgramWeights::write(StringRef path, StringRef name, Console &console) const {
  ArchiveOptions options;
  options.name = name.str();
  uint64_t total = std::max<uint64_t>(bytes(), 1);
  options.progress = [&](uint64_t done) { console.update(static_cast<unsigned>(done * 100 / total)); };
  return writeArchive(path, ownId, entries, options);
}
