//===- MakeProgram.cpp - from level runtime to an executable and its weights -------------------------------------===//

#include "Compiler.h"
#include "Interrupt.h"
#include "ProgramWeights.h"
#include "moe-mlir/Analysis/CudaDevices.h"
#include "moe-mlir/Target/Cuda.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace moe_mlir;

/// Says which program this is: the same for equal IR, weights and compiler.
static std::string computeBuildId(mlir::ModuleOp module, StringRef weightsId) {
  // Where the weights lie is no part of the program.
  mlir::Attribute weights = module->removeAttr("moe.weights");
  const std::string ir = textOf(module);
  if (weights)
    module->setAttr("moe.weights", weights);
  SHA256 hash;
  for (StringRef part : {StringRef(ir), weightsId, StringRef("moe-compile " MOE_VERSION)}) {
    hash.update(part);
    hash.update(StringRef("\0", 1));
  }
  return toHex(hash.final(), /*LowerCase=*/true).substr(0, 32);
}

int Compiler::findTools() {
  if (options.emit != Emit::Object)
    if (int status = findLinkJob())
      return status;
  if (gpu.empty())
    return kOk;
  Expected<std::unique_ptr<Nvrtc>> loaded = Nvrtc::load();
  if (!loaded)
    return fail(loaded.takeError());
  nvrtc = std::move(*loaded);
  return kOk;
}

int Compiler::findLinkJob() {
  Expected<std::string> linker = findLinker();
  if (!linker)
    return fail(linker.takeError());
  Expected<std::string> runtime = findRuntime(options.tool);
  if (!runtime)
    return fail(runtime.takeError(), kInternal);
  job.emit = options.emit;
  job.linker = *linker;
  job.runtime = *runtime;
  job.cuda = !gpu.empty();
  if (Error error = checkCudaRuntime(job))
    return fail(std::move(error));
  return kOk;
}

int Compiler::compileKernels(CudaCode &code) {
  mlir::FailureOr<std::vector<KernelText>> texts = printKernels(*input.module);
  if (failed(texts)) {
    reportInternalError("a kernel has no CUDA text");
    return kInternal;
  }
  code.arch = findCudaDevice(gpu)->arch.str();
  code.texts = std::move(*texts);
  mlir::TimingScope scope = timingRoot.nest("compile CUDA kernels");
  auto progress = [&](size_t done) { console.update(static_cast<unsigned>(done * 100 / code.texts.size())); };
  // Both programs of a GPU compile with one cache: one warning for all.
  const CubinCache cache = CubinCache::fromEnvironment();
  if (!cache.warning().empty() && !std::exchange(warnedOfCache, true))
    console.warning(cache.warning());
  Expected<std::vector<Cubin>> cubins =
      moe_mlir::compileKernels(*nvrtc, cache, code.texts, code.arch, /*threads=*/0, progress);
  if (!cubins) {
    // The text is the compiler's own.
    reportInternalError(toString(cubins.takeError()));
    return kInternal;
  }
  code.cubins = std::move(*cubins);
  StringMap<int64_t> registers;
  for (auto [text, cubin] : zip_equal(code.texts, code.cubins))
    registers[text.name] = cubin.registers;
  for (const Cubin &cubin : code.cubins)
    for (const std::string &warning : cubin.warnings)
      console.warning(warning);
  if (counted)
    addRegisters(*counted, registers);
  return kOk;
}

int Compiler::emitObject(const std::string &path, ArrayRef<ProgramModule> programs) {
  ObjectOptions object;
  object.compiler = MOE_VERSION " (LLVM " LLVM_VERSION_STRING ")";
  object.targetCpu = cpu;
  // The object stands in the folder of the program that the user asked for.
  auto cannotWrite = [&](std::error_code why) {
    console.error("cannot write '" + outputPath() + "': " + why.message());
    return kUserError;
  };
  std::error_code code;
  raw_fd_ostream os(path, code);
  if (code)
    return cannotWrite(code);
  const bool isForGpu = programs.back().cuda;
  setCrashContext("generate machine code", "moe-compile --from=runtime" + (isForGpu ? " --target-cpu=" + cpu : ""),
                  textOf(programs.back().module));
  mlir::TimingScope scope = timingRoot.nest("generate machine code");
  const bool emitted = succeeded(moe_mlir::emitObject(programs, object, os));
  os.close();
  code = os.error();
  os.clear_error(); // else the destructor ends the process
  if (!emitted)
    return kUnsupported;
  return code ? cannotWrite(code) : kOk;
}

namespace {
/// The weights of the programs for one device, on their way to their file.
struct DeviceWeights {
  ProgramWeights weights;
  std::string final, temporary;
};
} // namespace

int Compiler::makeProgram() {
  const std::string final = outputPath();
  const bool isObject = options.emit == Emit::Object;
  // A GPU's program comes first, and its weights have the plain name.
  SmallVector<ProgramModule> programs = {{*input.module, "", ""}};
  std::vector<DeviceWeights> archives(1 + bool(forCpu));
  archives[0].final = archivePath("");
  if (forCpu) {
    programs.push_back({*forCpu, "", ""});
    archives[1].final = archivePath(".cpu");
  }
  for (auto [program, archive] : zip_equal(programs, archives))
    if (int status = archive.weights.open(program.module, weights, console))
      return status;
  if (archives[0].weights.areRandom() && !options.quiet)
    console.note("the program has no weights: run it with --random-weights");
  Outputs outputs;
  // Archives are moved to their places first: a program never stands there without its weights.
  for (DeviceWeights &archive : archives) {
    if (archive.weights.areRandom())
      continue;
    Expected<std::string> file = outputs.add(archive.final);
    if (!file)
      return fail(file.takeError());
    archive.temporary = *file;
  }
  Expected<std::string> program = outputs.add(final);
  if (!program)
    return fail(program.takeError());

  CudaCode code;
  if (!gpu.empty()) {
    console.begin("compile CUDA kernels");
    if (int status = compileKernels(code))
      return status;
    console.end();
    programs[0].cuda = &code;
  }
  for (auto [program, archive] : zip_equal(programs, archives)) {
    program.buildId = computeBuildId(program.module, archive.weights.id());
    program.weightsId = archive.weights.archiveId();
    program.weightsPath = archive.weights.areRandom() ? "" : sys::path::filename(archive.final).str();
  }
  Expected<std::string> object = isObject ? *program : outputs.scratch(final, "program.o");
  if (!object)
    return fail(object.takeError());
  console.begin("generate machine code");
  if (int status = emitObject(*object, programs))
    return status;
  console.end();

  console.begin("pack weights");
  std::string written = final;
  for (auto [program, archive] : zip_equal(programs, archives)) {
    if (archive.temporary.empty())
      continue;
    if (Error error = archive.weights.write(archive.temporary, archive.final, console))
      return fail(std::move(error));
    written += (&archive == &archives.back() ? " and " : ", ") + archive.final;
  }
  console.end();

  if (!isObject) {
    console.begin("link");
    job.object = *object;
    job.output = *program;
    job.soname = sys::path::filename(final).str();
    if (Error error = link(job))
      return fail(std::move(error));
  }
  if (int status = finish(outputs))
    return status;
  if (!isObject)
    console.end();
  console.finish("in all: " + written);
  return kOk;
}
