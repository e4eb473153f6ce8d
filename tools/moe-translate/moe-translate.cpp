//===- moe-translate.cpp - bridges to and from file formats -------------------------------------------------------===//

#include "moe-mlir/Import/Pt2.h"
#include "moe-mlir/Support/FatalErrors.h"
#include "moe-mlir/Target/Cuda.h"
#include "moe-mlir/Target/Object.h"

#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  moe_mlir::handleFatalErrors("moe-translate");
  mlir::registerAllTranslations();
  moe_mlir::registerPt2Translation();
  moe_mlir::registerObjectTranslations();
  moe_mlir::registerCudaTranslations();
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "moe-mlir translation driver"));
}
