//===- Emit.cpp - programs as LLVM IR, assembly and objects -------------------------------------------------------===//

#include "CodeGenerator.h"
#include "Descriptor.h"
#include "moe-mlir/Conversion/MoeRtToLLVM/Passes.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace moe_mlir;

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
/// A module with the machine that it is for.
struct Compiled {
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

static FailureOr<Compiled> prepare(ArrayRef<ProgramModule> programs, const ObjectOptions &options) {
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
  return result;
}

static FailureOr<Compiled> compile(ArrayRef<ProgramModule> programs, const ObjectOptions &options) {
  FailureOr<Compiled> result = prepare(programs, options);
  if (succeeded(result))
    optimize(*result->module, *result->machine, options.optLevel);
  return result;
}

static LogicalResult emitFile(ArrayRef<ProgramModule> programs, const ObjectOptions &options,
                              llvm::raw_pwrite_stream &os, llvm::CodeGenFileType type) {
  FailureOr<Compiled> compiled = compile(programs, options);
  if (failed(compiled))
    return failure();
  return generate(ModuleOp(programs.front().module).getLoc(), *compiled->module, *compiled->machine, os, type);
}

LogicalResult moe_mlir::emitObject(ArrayRef<ProgramModule> programs, const ObjectOptions &options,
                                   llvm::raw_pwrite_stream &os) {
  return emitFile(programs, options, os, llvm::CodeGenFileType::ObjectFile);
}

FailureOr<std::vector<std::string>> moe_mlir::emitObjects(ArrayRef<ProgramModule> programs,
                                                          const ObjectOptions &options, const ObjectCache &cache,
                                                          const std::function<void(unsigned)> &progress) {
  FailureOr<Compiled> prepared = prepare(programs, options);
  if (failed(prepared))
    return failure();
  ModuleOp module = programs.back().module;
  return generateParts(module.getLoc(), *prepared->module, *hostTarget(module, options), options.optLevel, cache,
                       progress);
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
