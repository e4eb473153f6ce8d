//===- Translation.cpp - --kernel-to-cuda and --kernel-to-cubin of moe-translate ----------------------------------===//

#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/InitAll.h"
#include "moe-mlir/Target/Cuda.h"

#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;
using namespace moe_mlir;

static LogicalResult emitCubin(ModuleOp module, raw_ostream &os) {
  FailureOr<cuda::TargetAttr> target = cuda::TargetAttr::get(module);
  if (failed(target))
    return failure();
  FailureOr<std::vector<KernelText>> texts = emitCudaTexts(module);
  if (failed(texts))
    return failure();
  if (texts->size() != 1)
    return emitError(module.getLoc()) << "has " << texts->size()
                                      << " kernels; each is a cubin of its own, so give a module with one";
  llvm::Expected<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::load();
  if (!nvrtc)
    return emitError(module.getLoc()) << llvm::toString(nvrtc.takeError());
  const CubinCache cache = CubinCache::fromEnvironment();
  if (!cache.warning().empty())
    emitWarning(module.getLoc()) << cache.warning();
  llvm::Expected<std::vector<Cubin>> cubins =
      compileKernels(**nvrtc, cache, *texts, target->getArch().str());
  if (!cubins)
    return emitError(module.getLoc()) << llvm::toString(cubins.takeError());
  for (const std::string &warning : cubins->front().warnings)
    emitWarning(module.getLoc()) << warning;
  os << cubins->front().code;
  return success();
}

void moe_mlir::registerCudaTranslations() {
  auto translate = [](LogicalResult (*emit)(ModuleOp, raw_ostream &)) {
    return [emit](Operation *op, raw_ostream &os) -> LogicalResult {
      auto module = dyn_cast<ModuleOp>(op);
      return module ? emit(module, os) : op->emitOpError("is not a module");
    };
  };
  auto dialects = [](DialectRegistry &registry) { registerAllDialects(registry); };
  TranslateFromMLIRRegistration cuda("kernel-to-cuda", "kernels of the kernel level to CUDA C++", translate(emitCuda),
                                     dialects);
  TranslateFromMLIRRegistration cubin("kernel-to-cubin",
                                      "the kernel of a module at the kernel level to machine code, by NVRTC",
                                      translate(emitCubin), dialects);
}
