//===- ImportPipeline.cpp - from an imported graph to the graph level ---------------------------------------------===//

#include "moe-mlir/Pipelines/ImportPipeline.h"

#include "moe-mlir/Conversion/AtenToGraph/Passes.h"
#include "moe-mlir/Conversion/AtenToLinalg/Passes.h"
#include "moe-mlir/Pipelines/Levels.h"
#include "moe-mlir/Pipelines/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void moe_mlir::buildImportPipeline(OpPassManager &pm) {
  auto cleanUp = [&] {
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
  };
  pm.addNestedPass<func::FuncOp>(aten::createAtenFunctionalize());
  pm.addNestedPass<func::FuncOp>(aten::createAtenExpandComplex());
  pm.addNestedPass<func::FuncOp>(aten::createAtenSimplify());
  cleanUp(); // equal subexpressions (masks, position tables) must be equal values before patterns compare them
  pm.addNestedPass<func::FuncOp>(aten::createRaiseAtenToGraph());
  pm.addNestedPass<func::FuncOp>(aten::createAtenDecompose());
  cleanUp(); // calls that nobody reads any more must not be checked
  pm.addNestedPass<func::FuncOp>(aten::createAtenCheckIndices());
  pm.addNestedPass<func::FuncOp>(aten::createConvertAtenToLinalg());
  pm.addNestedPass<func::FuncOp>(aten::createResolveGraphSizes());
  cleanUp();
  pm.addPass(createMoeSetLevel({levelName(Level::Graph).str()}));
}

void moe_mlir::registerImportPipeline() {
  PassPipelineRegistration<>("import-to-graph", "From an imported graph of aten calls to the graph level",
                             buildImportPipeline);
}
