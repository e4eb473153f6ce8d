//===- Input.cpp - the model that is compiled ---------------------------------------------------------------------===//

#include "Input.h"
#include "moe-mlir/Import/Pt2.h"
#include "moe-mlir/Support/FileKind.h"
#include "moe-mlir/Support/UntrustedIr.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace moe_mlir;

bool moe_mlir::isIr(StringRef path) { return path == "-" || path.ends_with(".mlir") || path.ends_with(".mlirbc"); }

static int levelOf(mlir::ModuleOp module, StringRef path, std::optional<Level> from, Console &console, Level &level) {
  auto named = module->getAttrOfType<mlir::StringAttr>(kLevelAttr);
  std::optional<Level> recorded = named ? parseLevel(named.getValue()) : std::nullopt;
  if (named && !recorded) {
    console.error("'" + path + "' names level '" + printable(named.getValue()) +
                  "' in moe.level, which is none of graph, spmd, scheduled, kernel, runtime");
    return kUserError;
  }
  if (!from && !recorded) {
    console.error("'" + path + "' does not say its level: give --from=graph|spmd|scheduled|kernel|runtime");
    return kUserError;
  }
  if (from && recorded && from != recorded) {
    console.error("'" + path + "' is at level " + levelName(*recorded) + ", but --from says " + levelName(*from));
    return kUserError;
  }
  level = from ? *from : *recorded;
  module->setAttr(kLevelAttr, mlir::StringAttr::get(module.getContext(), levelName(level)));
  return kOk;
}

int moe_mlir::readIr(StringRef path, std::optional<Level> from, mlir::MLIRContext &context, Console &console,
                     Input &input) {
  if (StringRef kind = kindIfNoFile(path); path != "-" && !kind.empty()) {
    console.error("cannot read '" + path + "': it is " + kind + (kind == "a pipe" ? "; give - to read one" : ""));
    return kUserError;
  }
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/false);
  if (!buffer) {
    console.error("cannot read '" + path + "': " + buffer.getError().message());
    return kUserError;
  }
  if ((*buffer)->getBuffer().starts_with("PK\3\4")) {
    console.error("'" + path +
                  "' holds an exported model, whose weights are read from a file: give the name of a .pt2");
    return kUserError;
  }
  unsigned line = 0;
  if (Error error = checkIrText((*buffer)->getBuffer(), line)) {
    console.error(path + ":" + Twine(line) + ": " + toString(std::move(error)));
    return kUserError;
  }
  SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  input.module = parseIr(sources, &context);
  if (!input.module)
    return kUserError;
  return levelOf(*input.module, path, from, console, input.level);
}

int moe_mlir::readPt2(StringRef path, mlir::MLIRContext &context, Console &console, Input &input) {
  // The module names its weights by an absolute path, so that it can be compiled from anywhere.
  SmallString<256> absolute(path);
  Pt2ImportOptions options;
  if (!sys::fs::make_absolute(absolute))
    options.weightsPath = absolute.str().str();
  ImportErrorKind kind = ImportErrorKind::Input;
  input.module = importPt2(path, &context, options, &kind);
  input.level = Level::Graph;
  return input.module ? kOk : static_cast<int>(kind);
}
