//===- Translation.cpp - --kernel-to-cuda of moe-translate
//---------------------------------------------------------------===//

#include "moe-mlir/InitAll.h"
#include "moe-mlir/Target/Cuda.h"

#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;

void moe_mlir::registerCudaTranslations() {
  TranslateFromMLIRRegistration cuda(
      "kernel-to-cuda", "kernels of the kernel level to CUDA C++",
      [](Operation *op, raw_ostream &os) -> LogicalResult {
        auto module = dyn_cast<ModuleOp>(op);
        return module ? emitCuda(module, os) : op->emitOpError("is not a module");
      },
      [](DialectRegistry &registry) { registerAllDialects(registry); });
}
