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

/// Its text, but for where the weights lie: that is no part of a program.
static std::string programText(mlir::ModuleOp module) {
  mlir::Attribute weights = module->removeAttr("moe.weights");
  std::string text = textOf(module);
  if (weights)
    module->setAttr("moe.weights", weights);
  return text;
}

/// Says which program this is: the same for equal IR, weights and compiler.
static std::string computeBuildId(StringRef ir, StringRef weightsId) {
  SHA256 hash;
  for (StringRef part : {ir, weightsId, StringRef("moe-compile " MOE_VERSION)}) {
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

void Compiler::warnOfCache(StringRef warning) {
  // Kernels for GPU and CPU are kept in one folder: one warning for all.
  if (!warning.empty() && !std::exchange(warnedOfCache, true))
    console.warning(warning);
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
  const CubinCache cache = CubinCache::fromEnvironment();
  warnOfCache(cache.warning());
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

int Compiler::failLink(Error error) {
  bool isOurs = false;
  handleAllErrors(
      std::move(error),
      [&](const UndefinedSymbols &undefined) {
        // A text at level runtime declares what it calls; the rest is what the code generator left to functions.
        isOurs = !all_of(undefined.names, [&](StringRef name) { return input.module->lookupSymbol(name) != nullptr; });
        isOurs ? reportInternalError(undefined.message())
               : console.error("'" + options.input + "': " + undefined.message());
      },
      [&](const ErrorInfoBase &other) { console.error(other.message()); });
  return isOurs ? kInternal : kUserError;
}

int Compiler::emitObjects(ArrayRef<ProgramModule> programs, std::string text, Outputs &outputs,
                          const std::string &program) {
  ObjectOptions object;
  object.compiler = MOE_VERSION " (LLVM " LLVM_VERSION_STRING ")";
  object.targetCpu = cpu;
  const bool isForGpu = programs.back().cuda;
  setCrashContext("generate machine code", "moe-compile --from=runtime" + (isForGpu ? " --target-cpu=" + cpu : ""),
                  std::move(text));
  mlir::TimingScope scope = timingRoot.nest("generate machine code");
  std::vector<std::string> objects;
  if (options.emit == Emit::Object) {
    SmallString<0> bytes;
    raw_svector_ostream stream(bytes);
    if (failed(moe_mlir::emitObject(programs, object, stream)))
      return kUnsupported;
    objects.push_back(bytes.str().str());
  } else {
    const ObjectCache cache = ObjectCache::fromEnvironment();
    warnOfCache(cache.getWarning());
    auto made = moe_mlir::emitObjects(programs, object, cache, [&](unsigned percent) { console.update(percent); });
    if (failed(made))
      return kUnsupported;
    objects = std::move(*made);
    cache.prune();
  }
  for (auto [number, bytes] : enumerate(objects)) {
    Expected<std::string> path =
        options.emit == Emit::Object ? program
                                     : outputs.scratch(outputPath(), "program." + std::to_string(number) + ".o");
    if (!path)
      return fail(path.takeError());
    // The object stands in the folder of the program that the user asked for.
    std::error_code code;
    raw_fd_ostream os(*path, code);
    if (!code) {
      os << bytes;
      os.close();
      code = os.error();
      os.clear_error(); // else the destructor ends the process
    }
    if (code) {
      console.error("cannot write '" + outputPath() + "': " + code.message());
      return kUserError;
    }
    job.objects.push_back(*path);
  }
  return kOk;
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
  std::string text; // of the last program; printing one takes a while
  for (auto [program, archive] : zip_equal(programs, archives)) {
    text = programText(program.module);
    program.buildId = computeBuildId(text, archive.weights.id());
    program.weightsId = archive.weights.archiveId();
    program.weightsPath = archive.weights.areRandom() ? "" : sys::path::filename(archive.final).str();
  }
  console.begin("generate machine code");
  if (int status = emitObjects(programs, std::move(text), outputs, *program))
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
    job.output = *program;
    job.soname = sys::path::filename(final).str();
    if (Error error = link(job))
      return failLink(std::move(error));
  }
  if (int status = finish(outputs))
    return status;
  if (!isObject)
    console.end();
  console.finish("in all: " + written);
  return kOk;
}
