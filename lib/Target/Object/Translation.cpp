//===- Translation.cpp - --moe-to-object and its like in moe-translate --------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/InitAll.h"
#include "moe-mlir/Target/Object.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/ADT/SmallString.h"

using namespace mlir;

/// Text of every level is read, so that this can be said.
static LogicalResult checkLevel(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (isa<func::FuncOp, kernel::FuncOp>(op))
      return op.emitOpError("is not an op of level runtime, of which machine code is made (moe-compile --to=runtime)");
  return success();
}

void moe_mlir::registerObjectTranslations() {
  using Emit = LogicalResult (*)(ArrayRef<ProgramModule>, const ObjectOptions &, llvm::raw_pwrite_stream &);
  auto translate = [](Emit emit) {
    return [emit](Operation *op, raw_ostream &os) -> LogicalResult {
      auto module = dyn_cast<ModuleOp>(op);
      if (!module)
        return op->emitOpError("is not a module");
      if (failed(checkLevel(module)))
        return failure();
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
  auto registerDialects = [](DialectRegistry &registry) { registerAllDialects(registry); };
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
