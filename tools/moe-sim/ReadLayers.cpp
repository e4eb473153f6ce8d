//===- ReadLayers.cpp - MoE layers of a program as text -----------------------------------------------------------===//

#include "ReadLayers.h"

#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Support/UntrustedIr.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

static bool alike(const ReadLayer &a, const ReadLayer &b) {
  auto key = [](const ReadLayer &each) {
    const Layer &layer = each.layer;
    return std::tuple(layer.tokens, layer.experts, layer.topK, layer.hidden, layer.ffn, layer.gated, layer.elementBytes,
                      layer.sumBytes, layer.gathered, each.ranks, each.nodes, each.passTokens,
                      each.schedule ? toString(*each.schedule) : "", each.variant, each.why);
  };
  return key(a) == key(b);
}

/// A layer of a variant in which no tokens travel is no error: another variant may have an exchange.
static Expected<ReadLayer> readLayer(mlir::moe::ExpertOp op) {
  ReadLayer result;
  Expected<ProgramLayer> layer = layerOf(op);
  auto function = op->getParentOfType<mlir::FunctionOpInterface>();
  auto variant = function ? mlir::moe::variantOf(function) : mlir::moe::VariantAttr();
  if (!variant && !layer)
    return layer.takeError();
  if (layer)
    static_cast<ProgramLayer &>(result) = *layer;
  if (!variant)
    return result;
  result.variant = variant.getName().str();
  if (!layer)
    result.why = toString(layer.takeError());
  else if (!layer->ranks)
    result.why = "no tokens travel";
  return result;
}

Expected<std::vector<ReadLayer>> sim::readLayers(StringRef path) {
  if (path != "-" && sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    return createStringError("cannot read '" + printablePath(path) + "': it is not a file");
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/false);
  if (!buffer)
    return createStringError("cannot read '" + printablePath(path) + "': " + buffer.getError().message());
  unsigned line = 0;
  if (Error error = checkIrText((*buffer)->getBuffer(), line))
    return createStringError(printablePath(path) + ":" + Twine(line) + ": " + toString(std::move(error)));
  // Later levels are read as well, to say that they are.
  mlir::DialectRegistry registry;
  registry.insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                  mlir::cuda::CudaDialect, mlir::emitc::EmitCDialect, mlir::func::FuncDialect,
                  mlir::kernel::KernelDialect, mlir::LLVM::LLVMDialect, mlir::linalg::LinalgDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::moe::MoeDialect,
                  mlir::moert::MoeRtDialect, mlir::nn::NnDialect, mlir::scf::SCFDialect,
                  mlir::shard::ShardDialect, mlir::tensor::TensorDialect, mlir::x86::X86Dialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module = parseIr(sources, &context);
  if (!module)
    return createStringError("'" + printablePath(path) + "' is not valid");
  auto level = module->getOperation()->getAttrOfType<mlir::StringAttr>("moe.level");
  if (level && (level == "kernel" || level == "runtime"))
    return createStringError("'" + printablePath(path) + "' is at level " + level.getValue() +
                             ", where layers have become kernels; level scheduled has them");
  std::vector<ReadLayer> layers;
  Error error = Error::success();
  module->walk([&](mlir::moe::ExpertOp op) {
    Expected<ReadLayer> layer = readLayer(op);
    if (layer) {
      if (none_of(layers, [&](const ReadLayer &other) { return alike(*layer, other); }))
        layers.push_back(*layer);
      return mlir::WalkResult::advance();
    }
    std::string place;
    raw_string_ostream(place) << op.getLoc();
    error = joinErrors(std::move(error), createStringError("the layer at " + place + " cannot be simulated: " +
                                                           toString(layer.takeError())));
    return mlir::WalkResult::interrupt();
  });
  if (error)
    return error;
  if (layers.empty())
    return createStringError("'" + printablePath(path) + "' has no 'moe.expert'; level scheduled has them");
  return layers;
}
