//===- Emit.cpp - LLVM IR, optimiser and code generator -----------------------------------------------------------===//

#include "Descriptor.h"
#include "moe-mlir/Conversion/MoeRtToLLVM/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

using namespace mlir;
using namespace moe_mlir;

static constexpr llvm::StringLiteral triple = "x86_64-unknown-linux-gnu";

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(Location loc, const kernel::CpuTarget &target,
                                                              unsigned optLevel) {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple parsed(triple);
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(parsed, error);
  if (!found) {
    emitError(loc) << error;
    return nullptr;
  }
  llvm::TargetOptions options;
  // Kernels say where products and sums may be fused or reordered; the code generator decides nothing on its own.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  auto level = static_cast<llvm::CodeGenOptLevel>(std::min(optLevel, 3u));
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(parsed, target.cpu, target.features, options, llvm::Reloc::PIC_, std::nullopt, level));
}

/// Everything but the descriptor is private to the object; each function says which CPU it is for.
static void setAttributes(llvm::Module &module, const kernel::CpuTarget &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) {
      function.addFnAttr(llvm::Attribute::NoUnwind);
      continue;
    }
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    // LLVM prefers 256-bit vectors on CPUs that once slowed down for wider ones; the tiles use 512 bits anyway.
    function.addFnAttr("prefer-vector-width", std::to_string(target.vector * 32));
  }
}

std::unique_ptr<llvm::Module> moe_mlir::translateToLLVMIR(ModuleOp module, llvm::LLVMContext &context,
                                                          const CpuObjectOptions &options) {
  FailureOr<kernel::CpuTarget> target = kernel::CpuTarget::get(module);
  if (failed(target))
    return nullptr;
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager pm(module.getContext());
  pm.addPass(moert::createConvertMoeRtToLLVM());
  if (failed(pm.run(*copy)))
    return nullptr;

  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(*copy, context, "moe-mlir");
  if (!llvmModule) {
    emitError(module.getLoc()) << "cannot translate the runtime level to LLVM IR";
    return nullptr;
  }
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(module.getLoc(), *target, options.optLevel);
  if (!machine)
    return nullptr;
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setPICLevel(llvm::PICLevel::BigPIC);
  setAttributes(*llvmModule, *target);
  if (failed(addDescriptor(*copy, *llvmModule, options, *target)))
    return nullptr;
  return llvmModule;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned optLevel) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = optLevel > 1;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  static const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                                   llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel level = levels[std::min(optLevel, 3u)];
  llvm::ModulePassManager passes =
      optLevel ? builder.buildPerModuleDefaultPipeline(level) : builder.buildO0DefaultPipeline(level);
  passes.run(module, modules);
}

namespace {
/// An optimised module with the machine that it is for.
struct Compiled {
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

static FailureOr<Compiled> compile(ModuleOp module, const CpuObjectOptions &options) {
  FailureOr<kernel::CpuTarget> target = kernel::CpuTarget::get(module);
  if (failed(target))
    return failure();
  Compiled result;
  result.module = translateToLLVMIR(module, *result.context, options);
  result.machine = makeTargetMachine(module.getLoc(), *target, options.optLevel);
  if (!result.module || !result.machine)
    return failure();
  std::string error;
  llvm::raw_string_ostream stream(error);
  if (llvm::verifyModule(*result.module, &stream))
    return emitError(module.getLoc()) << "the runtime level gives invalid LLVM IR: " << error;
  optimize(*result.module, *result.machine, options.optLevel);
  return result;
}

static LogicalResult emitFile(ModuleOp module, const CpuObjectOptions &options, llvm::raw_pwrite_stream &os,
                              llvm::CodeGenFileType type) {
  FailureOr<Compiled> compiled = compile(module, options);
  if (failed(compiled))
    return failure();
  llvm::legacy::PassManager passes;
  if (compiled->machine->addPassesToEmitFile(passes, os, nullptr, type))
    return emitError(module.getLoc()) << "LLVM cannot write this kind of file for " << triple;
  passes.run(*compiled->module);
  return success();
}

LogicalResult moe_mlir::emitObject(ModuleOp module, const CpuObjectOptions &options, llvm::raw_pwrite_stream &os) {
  return emitFile(module, options, os, llvm::CodeGenFileType::ObjectFile);
}

LogicalResult moe_mlir::emitAssembly(ModuleOp module, const CpuObjectOptions &options, llvm::raw_pwrite_stream &os) {
  return emitFile(module, options, os, llvm::CodeGenFileType::AssemblyFile);
}

LogicalResult moe_mlir::emitLLVMIR(ModuleOp module, const CpuObjectOptions &options, llvm::raw_ostream &os) {
  FailureOr<Compiled> compiled = compile(module, options);
  if (failed(compiled))
    return failure();
  compiled->module->print(os, nullptr);
  return success();
}
