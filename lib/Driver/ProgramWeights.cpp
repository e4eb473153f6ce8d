//===- ProgramWeights.cpp - the weights that a module names, and their archive ------------------------------------===//

#include "ProgramWeights.h"
#include "moe-mlir/Import/Pt2.h"
#include "moe-mlir/Weights/Dtype.h"
#include "moe-mlir/Weights/SafetensorsSource.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace moe_mlir;

static StringRef stringIn(mlir::DictionaryAttr dictionary, StringRef name) {
  auto value = dictionary ? dictionary.getAs<mlir::StringAttr>(name) : mlir::StringAttr();
  return value ? value.getValue() : StringRef();
}

int ProgramWeights::openSource(mlir::ModuleOp module, StringRef other, Console &console) {
  auto named = module->getAttrOfType<mlir::DictionaryAttr>("moe.weights");
  std::string path = other.empty() ? stringIn(named, "source").str() : other.str();
  if (path.empty()) {
    console.error(
        "the module has parameters but no moe.weights attribute: give the file with --weights (none: the program "
        "gets random ones when it runs)");
    return kUserError;
  }
  Expected<std::unique_ptr<WeightSource>> opened = openWeights(path);
  if (!opened) {
    int code = kUserError;
    handleAllErrors(
        opened.takeError(),
        [&](const ImportError &error) {
          code = static_cast<int>(error.getKind());
          console.error(static_cast<const ErrorInfoBase &>(error).message());
        },
        [&](const ErrorInfoBase &error) { console.error(error.message()); });
    if (other.empty())
      console.note("the module names this file; if it moved, give its new place with --weights");
    return code;
  }
  source = std::move(*opened);
  contentId = source->contentId();
  StringRef expected = stringIn(named, "id");
  if (other.empty() && !expected.empty() && expected != contentId) {
    console.error("'" + path + "' has changed: its content id is " + contentId + ", the module names " + expected);
    console.note("to use these weights all the same, name them with --weights");
    return kUserError;
  }
  return kOk;
}

static std::string shape(ArrayRef<int64_t> sizes, StringRef element) {
  std::string text;
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + element.str();
}

int ProgramWeights::plan(mlir::DictionaryAttr parameter, Console &console) {
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
  Expected<PackedTensor> tensor = PackedTensor::create(blobs, parameter.getAs<mlir::ArrayAttr>("recipe"));
  if (!tensor)
    return fail(tensor.takeError());
  std::optional<moert_dtype> dtype = dtypeOf(shaped.getElementType());
  if (dtype != tensor->dtype() || tensor->sizes() != shaped.getShape())
    return fail(createStringError("the program expects " +
                                  shape(shaped.getShape(), dtype ? dtypeName(*dtype) : "an unknown type") +
                                  ", the weights give " + shape(tensor->sizes(), dtypeName(tensor->dtype()))));
  auto check = [this, names]() -> Error {
    for (const std::string &name : names)
      if (Error error = source->verify(name))
        return error;
    return Error::success();
  };
  entries.push_back({key.str(), std::move(*tensor), check});
  return kOk;
}

int ProgramWeights::open(mlir::ModuleOp module, StringRef other, Console &console) {
  auto parameters = module->getAttrOfType<mlir::ArrayAttr>("moert.parameters");
  if (!parameters || parameters.empty())
    return kOk;
  random = other == "none";
  if (random)
    return kOk;
  if (int status = openSource(module, other, console))
    return status;
  for (mlir::Attribute parameter : parameters)
    if (int status = plan(cast<mlir::DictionaryAttr>(parameter), console))
      return status;
  return kOk;
}

Error ProgramWeights::write(StringRef path, StringRef name, StringRef buildId, Console &console) const {
  ArchiveOptions options;
  options.name = name.str();
  uint64_t total = std::max<uint64_t>(bytes(), 1);
  options.progress = [&](uint64_t done) { console.update(static_cast<unsigned>(done * 100 / total)); };
  return writeArchive(path, buildId, entries, options);
}
