//===- Translation.cpp - --moe-to-object and its like in moe-translate --------------------------------------------===//

#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"
#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Target/Object.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/ADT/SmallString.h"

using namespace mlir;

static void registerDialects(DialectRegistry &registry) {
  registry.insert<LLVM::LLVMDialect, DLTIDialect, cuda::CudaDialect, emitc::EmitCDialect, kernel::KernelDialect, moe::MoeDialect,
                  moert::MoeRtDialect, x86::X86Dialect>();
}

void moe_mlir::registerObjectTranslations() {
  using Emit = LogicalResult (*)(ArrayRef<ProgramModule>, const ObjectOptions &, llvm::raw_pwrite_stream &);
  auto translate = [](Emit emit) {
    return [emit](Operation *op, raw_ostream &os) -> LogicalResult {
      auto module = dyn_cast<ModuleOp>(op);
      if (!module)
        return op->emitOpError("is not a module");
      ObjectOptions options;
      options.compiler = "moe-translate";
      SmallString<0> bytes;
      llvm::raw_svector_ostream stream(bytes);
      if (failed(emit(ProgramModule{module, "", ""}, options, stream)))
        return failure();
      os << bytes;
      return success();
    };
  };
  TranslateFromMLIRRegistration object("moe-to-object", "runtime level to an object file for the module's CPU",
                                       translate(emitObject), registerDialects);
  TranslateFromMLIRRegistration assembly("moe-to-assembly", "runtime level to assembly for the module's CPU",
                                         translate(emitAssembly), registerDialects);
  TranslateFromMLIRRegistration ir(
      "moe-to-llvmir", "runtime level to optimised LLVM IR",
      translate([](ArrayRef<ProgramModule> programs, const ObjectOptions &options, llvm::raw_pwrite_stream &os) {
        return emitLLVMIR(programs, options, os);
      }),
      registerDialects);
}
