//===- WeightsFile.cpp - the file of weights that a run reads -----------------------------------------------------===//

#include "WeightsFile.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Import/Pt2.h"
#include "moe-mlir/Weights/SafetensorsSource.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace moe_mlir;

/// What --weights and the module say if there are to be no weights.
static constexpr StringLiteral kNone = "none";

StringRef moe_mlir::stringIn(mlir::DictionaryAttr dictionary, StringRef name) {
  auto value = dictionary ? dictionary.getAs<mlir::StringAttr>(name) : mlir::StringAttr();
  return value ? value.getValue() : StringRef();
}

/// Up to level kernel parameters are ops; then the module lists them.
static bool hasParameters(mlir::ModuleOp module) {
  if (auto list = module->getAttrOfType<mlir::ArrayAttr>("moert.parameters"))
    return !list.empty();
  return module.walk([](mlir::moe::ParameterOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
}

/// With an absolute path, so that a dump can be compiled from anywhere.
static void record(mlir::ModuleOp module, StringRef path, StringRef id) {
  mlir::Builder b(module.getContext());
  SmallString<256> absolute(path);
  if (path != kNone && sys::fs::make_absolute(absolute))
    absolute = path;
  SmallVector<mlir::NamedAttribute> fields = {b.getNamedAttr("source", b.getStringAttr(absolute))};
  if (!id.empty())
    fields.push_back(b.getNamedAttr("id", b.getStringAttr(id)));
  module->setAttr("moe.weights", b.getDictionaryAttr(fields));
}

int WeightsFile::openSource(bool isFlag, StringRef expectedId, Console &console) {
  Expected<std::unique_ptr<WeightSource>> opened = openWeights(chosen);
  if (!opened) {
    int code = kUserError;
    handleAllErrors(
        opened.takeError(),
        [&](const ImportError &error) {
          code = static_cast<int>(error.getKind());
          console.error(static_cast<const ErrorInfoBase &>(error).message());
        },
        [&](const ErrorInfoBase &error) { console.error(error.message()); });
    if (!isFlag)
      console.note("the module names this file; if it moved, give its new place with --weights");
    return code;
  }
  source = std::move(*opened);
  contentId = source->contentId();
  if (!isFlag && !expectedId.empty() && expectedId != contentId) {
    console.error("'" + chosen + "' has changed: its content id is " + contentId + ", the module names " + expectedId);
    console.note("to use these weights all the same, name them with --weights");
    return kUserError;
  }
  return kOk;
}

int WeightsFile::open(mlir::ModuleOp module, StringRef flag, bool makesProgram, Console &console) {
  auto attr = module->getAttrOfType<mlir::DictionaryAttr>("moe.weights");
  const StringRef expectedId = stringIn(attr, "id");
  recorded = stringIn(attr, "source").str();
  if (recorded == kNone)
    recorded.clear(), none = flag.empty();
  if (flag == kNone)
    none = true;
  chosen = none ? "" : flag.empty() ? recorded : flag.str();
  if (!chosen.empty() && (!flag.empty() || (makesProgram && hasParameters(module))))
    if (int status = openSource(!flag.empty(), expectedId, console))
      return status;
  if (none)
    record(module, kNone, "");
  else if (source)
    record(module, chosen, contentId);
  else if (sys::fs::exists(recorded))
    record(module, recorded, expectedId);
  return kOk;
}
