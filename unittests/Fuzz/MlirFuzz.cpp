//===- MlirFuzz.cpp - any bytes as a module of IR -----------------------------------------------------------------===//
//
// Goes the way of moe-compile's reader: the look at the text, the parser, the look at the types, the verifiers. What
// passes is printed, and the print is accepted, too.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "FuzzTarget.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Support/UntrustedIr.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include <memory>

using namespace mlir;
using namespace moe_mlir;

static std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<affine::AffineDialect, arith::ArithDialect, aten::AtenDialect, cf::ControlFlowDialect,
                  cuda::CudaDialect,
                  emitc::EmitCDialect, func::FuncDialect, kernel::KernelDialect, linalg::LinalgDialect,
                  LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, moe::MoeDialect, moert::MoeRtDialect,
                  nn::NnDialect, scf::SCFDialect, shard::ShardDialect, tensor::TensorDialect, x86::X86Dialect>();
  return std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
}

/// The module, or null with at least one error. The parser reads the zero behind the text.
static OwningOpRef<ModuleOp> read(const std::string &text, MLIRContext *context) {
  unsigned line;
  if (llvm::Error error = checkIrText(text, line)) {
    emitError(UnknownLoc::get(context)) << llvm::toString(std::move(error));
    return {};
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());
  return parseIr(sources, context);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Types and attributes stay in the context for good: a fresh one now and then.
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 1000 == 0)
    context = makeContext();

  unsigned errors = 0;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    check(!diagnostic.str().empty(), "an error says something");
    errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
  });
  OwningOpRef<ModuleOp> module = read(std::string(reinterpret_cast<const char *>(data), size), context.get());
  check(bool(module) == (errors == 0), "either a module or an error");
  if (!module)
    return 0;
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  check(bool(read(text, context.get())), "the module can be read again");
  return 0;
}
