//===- Import.cpp - importPt2 and moe-translate --import-pt2 ------------------------------------------------------===//

#include "Graph.h"
#include "Support.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

static llvm::Error read(const Pt2Archive &archive, const Pt2ImportOptions &options, ModuleOp module) {
  llvm::Expected<Metadata> metadata = readMetadata(archive);
  if (!metadata)
    return metadata.takeError();
  llvm::Expected<JsonDocument> program = parseJson(archive.getGraphText(), "graph");
  if (!program)
    return program.takeError();
  const JsonObject *object = program->root().getAsObject();
  if (!object)
    return inputError("graph: not an object");
  MLIRContext *context = module.getContext();
  if (llvm::Error error = GraphReader(archive, *metadata, context).read(*object, module))
    return error;

  Builder b(context);
  StringRef source = options.weightsPath.empty() ? archive.getPath() : StringRef(options.weightsPath);
  module->setAttr("moe.weights", b.getDictionaryAttr({b.getNamedAttr("source", b.getStringAttr(source)),
                                                      b.getNamedAttr("id", b.getStringAttr(archive.getContentId()))}));
  if (!metadata->present)
    return llvm::Error::success();
  if (!metadata->model.empty())
    module->setAttr("moe.name", b.getStringAttr(metadata->model));
  module->setAttr("moe.generation", metadata->getGeneration(context));
  return llvm::Error::success();
}

OwningOpRef<ModuleOp> moe_mlir::importPt2(StringRef path, MLIRContext *context, const Pt2ImportOptions &options,
                                          ImportErrorKind *errorKind) {
  context->loadDialect<aten::AtenDialect, moe::MoeDialect, arith::ArithDialect, cf::ControlFlowDialect,
                       func::FuncDialect>();
  Location loc = UnknownLoc::get(context);
  auto report = [&](llvm::Error error, bool named) {
    llvm::handleAllErrors(std::move(error), [&](const ImportError &e) {
      std::string message;
      llvm::raw_string_ostream os(message);
      e.log(os);
      emitError(loc) << (named ? "" : path.str() + ": ") << message;
      if (errorKind)
        *errorKind = e.getKind();
    });
    return nullptr;
  };
  llvm::Expected<std::unique_ptr<Pt2Archive>> archive = Pt2Archive::open(path);
  if (!archive)
    return report(archive.takeError(), /*named=*/true);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  if (llvm::Error error = read(**archive, options, *module))
    return report(std::move(error), /*named=*/false);
  if (failed(verify(*module)))
    return nullptr;
  return module;
}

void moe_mlir::registerPt2Translation() {
  static TranslateToMLIRRegistration registration(
      "import-pt2", "import a .pt2 file of torch.export.save as aten.call ops",
      [](llvm::SourceMgr &sources, MLIRContext *context) -> OwningOpRef<ModuleOp> {
        return importPt2(sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier(), context);
      },
      [](DialectRegistry &registry) {
        registry.insert<aten::AtenDialect, moe::MoeDialect, arith::ArithDialect, cf::ControlFlowDialect,
                        func::FuncDialect>();
      });
}
