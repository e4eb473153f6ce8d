//===- CudaDescriptor.cpp - the code of CUDA kernels as LLVM globals ---------------------------------------------===//
//
// The structs mirror moert_model.h field by field.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Descriptor.h"
#include "moe-mlir/Dialect/Cuda/IR/CudaLaunch.h"
#include "moe-mlir/Weights/Dtype.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"

using namespace mlir;
using namespace moe_mlir;

static llvm::Constant *makeMap(ConstantBuilder &b, const cuda::CudaMap &map, moert_dtype dtype) {
  return b.structure({b.int32(map.slot), b.int32(dtype), b.int64(map.rows), b.int64(map.columns), b.int32(map.boxRows),
                      b.int32(map.boxColumns), b.int32(map.swizzle)});
}

static FailureOr<llvm::Constant *> makeKernel(ConstantBuilder &b, emitc::FuncOp function, size_t image) {
  FailureOr<cuda::CudaLaunch> launch = cuda::CudaLaunch::get(function);
  if (failed(launch))
    return failure();
  int64_t slots = function.getNumArguments() - static_cast<int64_t>(launch->maps.size());
  SmallVector<llvm::Constant *> maps;
  for (const cuda::CudaMap &map : launch->maps) {
    std::optional<moert_dtype> dtype = dtypeOf(map.element);
    if (!dtype || map.slot >= slots || -map.rows - 1 >= slots)
      return function.emitOpError("has a map of a slot or an element type that there is not");
    maps.push_back(makeMap(b, map, *dtype));
  }
  return b.structure({b.int32(image), b.int32(launch->threads), b.int32(launch->sharedBytes),
                      b.int32(launch->blocksPerSm), b.int32(slots), b.int32(maps.size()),
                      b.array(maps, "moert.cuda.maps")});
}

/// The names in the table that convert-moert-to-llvm made, in its order.
static SmallVector<StringRef> namesIn(llvm::GlobalVariable *kernels) {
  SmallVector<StringRef> names;
  llvm::Constant *table = kernels->getInitializer();
  for (unsigned i = 0, e = cast<llvm::ArrayType>(table->getType())->getNumElements(); i < e; ++i) {
    auto *name = cast<llvm::GlobalVariable>(table->getAggregateElement(i)->getAggregateElement(0u));
    names.push_back(cast<llvm::ConstantDataArray>(name->getInitializer())->getAsCString());
  }
  return names;
}

FailureOr<llvm::Constant *> moe_mlir::makeCudaCode(const ProgramModule &source, llvm::GlobalVariable *kernels,
                                                   ConstantBuilder &b) {
  const CudaCode &code = *source.cuda;
  SmallVector<llvm::Constant *> images, launches;
  for (auto [text, cubin] : llvm::zip_equal(code.texts, code.cubins))
    images.push_back(b.structure({b.string(text.name), b.bytes(cubin.code, "moert.cubin." + text.name),
                                  b.int64(cubin.code.size()), b.string(text.source), b.int64(text.source.size())}));
  ModuleOp module = source.module;
  for (StringRef name : namesIn(kernels)) {
    auto function = module.lookupSymbol<emitc::FuncOp>(name);
    auto image = llvm::find_if(code.texts, [&](const KernelText &text) { return text.name == name; });
    if (!function || image == code.texts.end())
      return emitError(module.getLoc()) << "kernel '" << name << "' has no CUDA code";
    FailureOr<llvm::Constant *> launch = makeKernel(b, function, image - code.texts.begin());
    if (failed(launch))
      return failure();
    launches.push_back(*launch);
  }
  return static_cast<llvm::Constant *>(
      b.global(b.structure({b.string(code.arch), b.int32(images.size()), b.array(images, "moert.cuda.images"),
                            b.array(launches, "moert.cuda.kernels"), b.string(deviceLibrary())}),
               "moert.cuda"));
}
