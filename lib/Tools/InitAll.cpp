//===- InitAll.cpp - registration of everything, for the tools ----------------------------------------------------===//

#include "moe-mlir/InitAll.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"

#include "moe-mlir/Conversion/AtenToGraph/Passes.h"
#include "moe-mlir/Conversion/AtenToLinalg/Passes.h"
#include "moe-mlir/Conversion/GraphToKernel/Passes.h"
#include "moe-mlir/Conversion/HostToMoeRt/Passes.h"
#include "moe-mlir/Conversion/KernelToCuda/Passes.h"
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Conversion/MoeRtToLLVM/Passes.h"
#include "moe-mlir/Dialect/Aten/IR/Aten.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Cuda/Transforms/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Moe/Transforms/Passes.h"
#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Dialect/Nn/Transforms/Passes.h"
#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Pipelines/ImportPipeline.h"
#include "moe-mlir/Pipelines/Passes.h"
#include "moe-mlir/Pipelines/Pipelines.h"
#include "moe-mlir/Schedule/Passes.h"
#include "moe-mlir/Target/Cuda.h"
#include "moe-mlir/Target/Object.h"

void moe_mlir::registerAllDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mlir::aten::AtenDialect, mlir::cuda::CudaDialect, mlir::kernel::KernelDialect, mlir::moe::MoeDialect,
                  mlir::moert::MoeRtDialect, mlir::nn::NnDialect, mlir::x86::X86Dialect>();
}

void moe_mlir::registerAllPasses() {
  mlir::registerAllPasses();
  mlir::aten::registerAtenToGraphPasses();
  mlir::aten::registerAtenToLinalgPasses();
  mlir::cuda::registerCudaPasses();
  mlir::kernel::registerGraphToKernelPasses();
  mlir::kernel::registerKernelPasses();
  mlir::kernel::registerSchedulePasses();
  mlir::kernel::registerKernelToCudaPasses();
  mlir::kernel::registerKernelToEmitCPasses();
  mlir::kernel::registerKernelToEmitCPipeline();
  mlir::kernel::registerKernelToLLVMPasses();
  mlir::kernel::registerConvertKernelToLLVMPipeline();
  mlir::moe::registerMoePasses();
  mlir::nn::registerNnPasses();
  mlir::moert::registerHostToMoeRtPasses();
  mlir::moert::registerMoeRtToLLVMPasses();
  registerGraphToKernelPipeline();
  registerKernelToRuntimePipeline();
  registerImportPipeline();
  registerPipelinesPasses();
  registerArrowPipelines();
  registerReferencePipeline();
}
