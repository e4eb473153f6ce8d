//===- CodeGenerator.cpp - LLVM's optimiser and code generator ----------------------------------------------------===//

#include "CodeGenerator.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace mlir;
using namespace moe_mlir;

static constexpr llvm::StringLiteral triple = "x86_64-unknown-linux-gnu";

std::unique_ptr<llvm::TargetMachine> moe_mlir::makeTargetMachine(Location loc, x86::TargetAttr target,
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
      found->createTargetMachine(parsed, target.getCpu(), target.getFeatures(), options, llvm::Reloc::PIC_, std::nullopt,
                                 level));
}

static size_t countInstructions(const llvm::Loop &loop) {
  size_t count = 0;
  for (llvm::BasicBlock *block : loop.blocks())
    count += block->size();
  return count;
}

namespace {
/// Keeps the loop vectorizer from loops whose bodies are very large: its time grows with their square (10,000 operations
/// take it half a minute). The compiler's own bodies are far smaller; fused ops have 64 scalar operations at most.
struct SkipVectorizing : llvm::PassInfoMixin<SkipVectorizing> {
  static constexpr size_t kMaxInstructions = 4096;

  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    for (llvm::Loop *loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder())
      if (loop->isInnermost() && countInstructions(*loop) > kMaxInstructions)
        llvm::addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
    return llvm::PreservedAnalyses::all();
  }
};
} // namespace

void moe_mlir::optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned optLevel) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = optLevel > 1;
  // Tiles are unrolled in the kernel's IR, as far as pays. More of it takes a fifth of the time of compiling and makes no program faster.
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager &passes, llvm::OptimizationLevel) {
    passes.addPass(SkipVectorizing());
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

LogicalResult moe_mlir::generate(Location loc, llvm::Module &module, llvm::TargetMachine &machine,
                                 llvm::raw_pwrite_stream &os, llvm::CodeGenFileType type) {
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, type))
    return emitError(loc) << "LLVM cannot write this kind of file for " << triple;
  passes.run(module);
  return success();
}
