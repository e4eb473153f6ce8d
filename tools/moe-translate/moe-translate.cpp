//===- moe-translate.cpp - bridges to and from file formats ---------------------------------------------------------===//

#include "moe-mlir/InitAll.h"

#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  mlir::registerAllTranslations();
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "moe-mlir translation driver"));
}
