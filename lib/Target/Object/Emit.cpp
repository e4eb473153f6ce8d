//===- Emit.cpp - LLVM IR, optimiser and code generator -----------------------------------------------------------===//

#include "Descriptor.h"
#include "moe-mlir/Conversion/MoeRtToLLVM/Passes.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace mlir;
using namespace moe_mlir;

static constexpr llvm::StringLiteral triple = "x86_64-unknown-linux-gnu";

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(Location loc, x86::TargetAttr target,
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
      found->createTargetMachine(parsed, target.getCpu(), target.getFeatures(), options, llvm::Reloc::PIC_, std::nullopt, level));
}

/// Everything but the descriptor is private to the object; each function says which CPU it is for.
static void setAttributes(llvm::Module &module, x86::TargetAttr target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) {
      function.addFnAttr(llvm::Attribute::NoUnwind);
      continue;
    }
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", target.getCpu());
    if (!target.getFeatures().empty())
      function.addFnAttr("target-features", target.getFeatures());
    // LLVM prefers 256-bit vectors on CPUs that once slowed down for wider ones; the tiles use 512 bits anyway.
    function.addFnAttr("prefer-vector-width", std::to_string(target.getVector() * 32));
  }
}

/// The CPU that a module's host functions run on.
static FailureOr<x86::TargetAttr> hostTarget(ModuleOp module, const ObjectOptions &options) {
  if (!kernel::isOffloaded(module))
    return x86::TargetAttr::get(module);
  std::string error;
  auto target = x86::TargetAttr::forCpu(
      module.getContext(), options.targetCpu.empty() ? "native" : StringRef(options.targetCpu), error);
  if (!target)
    return emitError(module.getLoc()) << error;
  return target;
}

/// One module, with visible descriptors.
static std::unique_ptr<llvm::Module> translate(const ProgramModule &program, llvm::LLVMContext &context,
                                               const ObjectOptions &options, SmallVectorImpl<Descriptor> &descriptors) {
  ModuleOp module = program.module;
  FailureOr<x86::TargetAttr> target = hostTarget(module, options);
  if (failed(target))
    return nullptr;
  if (!program.cuda && kernel::isOffloaded(module)) {
    emitError(module.getLoc()) << "CUDA kernels without machine code; moe-compile makes programs for a GPU";
    return nullptr;
  }
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager pm(module.getContext());
  pm.addPass(moert::createConvertMoeRtToLLVM());
  if (failed(pm.run(*copy)))
    return nullptr;
  // What is left of CUDA kernels is their text.
  for (auto function : llvm::make_early_inc_range(copy->getOps<emitc::FuncOp>()))
    function.erase();

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
  if (failed(addDescriptors(program, *copy, *llvmModule, options, *target, descriptors)))
    return nullptr;
  return llvmModule;
}

std::unique_ptr<llvm::Module> moe_mlir::translateToLLVMIR(ArrayRef<ProgramModule> programs, llvm::LLVMContext &context,
                                                          const ObjectOptions &options) {
  SmallVector<Descriptor> descriptors;
  std::unique_ptr<llvm::Module> all;
  for (const ProgramModule &program : programs) {
    std::unique_ptr<llvm::Module> module = translate(program, context, options, descriptors);
    if (!module)
      return nullptr;
    if (!all) {
      all = std::move(module);
    } else if (llvm::Linker::linkModules(*all, std::move(module))) {
      emitError(ModuleOp(program.module).getLoc()) << "cannot put the programs of two devices into one object";
      return nullptr;
    }
  }
  addProgramList(*all, descriptors);
  return all;
}

namespace {
/// Keeps the loop vectorizer from loops whose bodies are very large: its time grows with their square (10,000 operations
/// take it half a minute). The compiler's own bodies are far smaller; fused ops have 64 scalar operations at most.
struct LeaveLargeLoops : llvm::PassInfoMixin<LeaveLargeLoops> {
  static constexpr size_t kMaxInstructions = 4096;

  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    for (llvm::Loop *loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      size_t count = 0;
      for (llvm::BasicBlock *block : loop->blocks())
        count += block->size();
      if (loop->isInnermost() && count > kMaxInstructions)
        llvm::addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
    }
    return llvm::PreservedAnalyses::all();
  }
};
} // namespace

static void optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned optLevel) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = optLevel > 1;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager &passes, llvm::OptimizationLevel) {
    passes.addPass(LeaveLargeLoops());
  });
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

static FailureOr<Compiled> compile(ArrayRef<ProgramModule> programs, const ObjectOptions &options) {
  // The one that has kernels for the CPU, if there is one: they decide about the code generator.
  ModuleOp module = programs.back().module;
  FailureOr<x86::TargetAttr> target = hostTarget(module, options);
  if (failed(target))
    return failure();
  Compiled result;
  result.module = translateToLLVMIR(programs, *result.context, options);
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

static LogicalResult emitFile(ArrayRef<ProgramModule> programs, const ObjectOptions &options,
                              llvm::raw_pwrite_stream &os, llvm::CodeGenFileType type) {
  FailureOr<Compiled> compiled = compile(programs, options);
  if (failed(compiled))
    return failure();
  llvm::legacy::PassManager passes;
  if (compiled->machine->addPassesToEmitFile(passes, os, nullptr, type))
    return emitError(ModuleOp(programs.front().module).getLoc())
           << "LLVM cannot write this kind of file for " << triple;
  passes.run(*compiled->module);
  return success();
}

LogicalResult moe_mlir::emitObject(ArrayRef<ProgramModule> programs, const ObjectOptions &options,
                                   llvm::raw_pwrite_stream &os) {
  return emitFile(programs, options, os, llvm::CodeGenFileType::ObjectFile);
}

LogicalResult moe_mlir::emitAssembly(ArrayRef<ProgramModule> programs, const ObjectOptions &options,
                                     llvm::raw_pwrite_stream &os) {
  return emitFile(programs, options, os, llvm::CodeGenFileType::AssemblyFile);
}

LogicalResult moe_mlir::emitLLVMIR(ArrayRef<ProgramModule> programs, const ObjectOptions &options,
                                   llvm::raw_ostream &os) {
  FailureOr<Compiled> compiled = compile(programs, options);
  if (failed(compiled))
    return failure();
  compiled->module->print(os, nullptr);
  return success();
}
