//===- Targets.cpp - targets by their names -----------------------------------------------------------------------===//

#include "moe-mlir/Pipelines/Targets.h"

#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/X86/IR/X86.h"

using namespace mlir;

kernel::TargetAttrInterface moe_mlir::makeTarget(MLIRContext *context, StringRef name, std::string &error) {
  auto [kind, device] = name.split(':');
  if (kind == "cpu")
    return x86::TargetAttr::forCpu(context, device.empty() ? "native" : device, error);
  if (kind == "cuda")
    return cuda::TargetAttr::forDevice(context, device, error);
  error = "unknown target '" + name.str() + "'; " + targetNames();
  return {};
}

std::string moe_mlir::targetNames() { return "cpu, " + cudaDeviceNames("cuda:"); }
