//===- Executable.cpp - links a program's object with the runtime -------------------------------------------------===//

#include "moe-mlir/Target/Executable.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace moe_mlir;

/// Runs a program and returns what it wrote; `status` gets its exit code (negative: it could not run or was killed).
static std::string capture(ArrayRef<StringRef> command, int &status) {
  // A file without a name: nothing is left of it, however the process ends.
  int log = memfd_create("moe-compile", MFD_CLOEXEC);
  if (log < 0) {
    status = -1;
    return "cannot create a temporary file: " + sys::StrError(errno);
  }
  const std::string name = "/proc/self/fd/" + std::to_string(log);
  std::string message;
  status = sys::ExecuteAndWait(command.front(), command, std::nullopt, {StringRef(""), name, name}, 0, 0, &message);
  std::string output;
  if (ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
          MemoryBuffer::getOpenFile(sys::fs::convertFDToNativeFile(log), name, /*FileSize=*/-1))
    output = (*buffer)->getBuffer().str();
  close(log);
  if (!message.empty())
    output += message;
  return output;
}

static StringRef firstLine(StringRef text) { return text.trim().split('\n').first; }

/// Whether a linker calls itself LLD of this LLVM's major version. One that does not start gives a reason.
static bool isRightLinker(StringRef path, std::string &reason) {
  int status;
  std::string version = capture({path, "--version"}, status);
  if (status != 0)
    reason = firstLine(version).str();
  return status == 0 && StringRef(version).contains("LLD " + std::to_string(LLVM_VERSION_MAJOR) + ".");
}

Expected<std::string> moe_mlir::findLinker() {
  const std::string versioned = "ld.lld-" + std::to_string(LLVM_VERSION_MAJOR);
  SmallString<128> beside(MOE_LLVM_TOOLS_DIR);
  sys::path::append(beside, "ld.lld");
  std::string reason;
  if (sys::fs::can_execute(beside) && isRightLinker(beside, reason))
    return beside.str().str();
  for (StringRef name : {StringRef(versioned), StringRef("ld.lld")})
    if (ErrorOr<std::string> path = sys::findProgramByName(name); path && isRightLinker(*path, reason))
      return *path;
  if (!reason.empty()) // it is larger than this process
    return createStringError("ld.lld does not start; perhaps memory is limited: " + reason);
  return createStringError("no ld.lld of LLVM %d: looked for '%s', then for '%s' and 'ld.lld' on PATH; install lld-%d",
                           LLVM_VERSION_MAJOR, beside.c_str(), versioned.c_str(), LLVM_VERSION_MAJOR);
}

Expected<std::string> moe_mlir::findRuntime(StringRef toolPath) {
  SmallString<128> tool;
  if (sys::fs::real_path(toolPath, tool))
    tool = toolPath;
  StringRef folder = sys::path::parent_path(tool);
  SmallString<128> runtime(folder);
  sys::path::append(runtime, "..", "lib", "moe-mlir");
  sys::path::remove_dots(runtime, /*remove_dot_dot=*/true);
  if (sys::fs::exists(runtime + "/moert_launcher.o"))
    return runtime.str().str();
  return createStringError("the runtime is not in '" + runtime +
                           "': moe-compile was moved without its lib folder, or not installed completely");
}

namespace {
/// The files of the C library that this process itself runs on: the program will be loaded with the same.
struct CLibrary {
  std::string libc, libm;

  CLibrary() { dl_iterate_phdr(visit, this); }

  static int visit(dl_phdr_info *info, size_t, void *data) {
    auto *self = static_cast<CLibrary *>(data);
    StringRef path(info->dlpi_name), name = sys::path::filename(path);
    if (name == "libc.so.6")
      self->libc = path.str();
    else if (name == "libm.so.6")
      self->libm = path.str();
    return 0;
  }
};
} // namespace

/// The prelinked runtime that a job links with.
static std::string runtimeObject(const LinkJob &job) {
  return job.runtime + (job.emit == Emit::Executable ? "/moert_launcher" : "/moert_session") +
         (job.cuda ? "_cuda.o" : ".o");
}

Error moe_mlir::checkCudaRuntime(const LinkJob &job) {
  if (!job.cuda || sys::fs::exists(runtimeObject(job)))
    return Error::success();
  return createStringError(
      "this moe-compile was built without the CUDA runtime, so it makes programs for the CPU only: run "
      "'pip install nvidia-cuda-runtime nvidia-cuda-crt' (or install CUDA 13) and build it again");
}

char UndefinedSymbols::ID = 0;

void UndefinedSymbols::log(raw_ostream &os) const {
  os << "the program needs '" << join(names, "', '") << "', which neither the runtime nor the C library has";
}

/// What stands behind "undefined symbol: " in messages of LLD.
static std::vector<std::string> undefinedSymbols(StringRef output) {
  std::vector<std::string> names;
  for (StringRef line : split(output, '\n'))
    if (StringRef name = line.split("undefined symbol: ").second; !name.empty() && !is_contained(names, name))
      names.push_back(name.str());
  return names;
}

namespace {
/// A folder by a name that LLD takes as it is. In the path of its output each '%' would become a random digit, and a
/// path from the working directory on may begin with '@' or '-'.
class LinkFolder {
public:
  explicit LinkFolder(StringRef path) : fd(open(path.str().c_str(), O_PATH | O_DIRECTORY)) {}
  ~LinkFolder() {
    if (fd >= 0)
      close(fd);
  }
  LinkFolder(const LinkFolder &) = delete;

  bool isOpen() const { return fd >= 0; }
  /// The linker inherits the open folder, under the same number.
  std::string operator/(StringRef file) const { return ("/proc/self/fd/" + Twine(fd) + "/" + file).str(); }

private:
  int fd;
};
} // namespace

/// Also of a path that begins like an option.
static std::string absolute(StringRef path) {
  SmallString<128> result(path);
  (void)sys::fs::make_absolute(result); // else the linker says that there is no such file
  return result.str().str();
}

Error moe_mlir::link(const LinkJob &job) {
  CLibrary system;
  if (system.libc.empty() || system.libm.empty())
    return createStringError("cannot find the files of the running C library");
  const bool executable = job.emit == Emit::Executable;
  StringRef folder = sys::path::parent_path(job.output);
  LinkFolder place(folder.empty() ? "." : folder);
  if (!place.isOpen())
    return createStringError("cannot write '" + job.output + "': " + sys::StrError(errno));
  const std::string output = place / sys::path::filename(job.output), runtime = absolute(runtimeObject(job)),
                    soname = "-soname=" + job.soname;
  std::vector<std::string> objects;
  for (StringRef object : job.objects)
    objects.push_back(absolute(object));
  std::vector<StringRef> command = {
      job.linker, "-o",          output,            "--gc-sections", "-z", "relro", "-z", "now",
      "-z",       "noexecstack", "--build-id=none", "--eh-frame-hdr"};
  if (executable)
    command.insert(command.end(), {"-pie", "--dynamic-linker", "/lib64/ld-linux-x86-64.so.2"});
  else
    command.insert(command.end(), {"-shared", "-Bsymbolic", soname});
  command.push_back(runtime);
  command.insert(command.end(), objects.begin(), objects.end());
  command.insert(command.end(), {system.libm, system.libc});
  int status;
  const std::string said = capture(command, status);
  if (status == 0)
    return Error::success();
  if (status < 0)
    return createStringError("ld.lld has crashed; perhaps memory or threads are limited: " + firstLine(said).str());
  if (std::vector<std::string> names = undefinedSymbols(said); !names.empty())
    return make_error<UndefinedSymbols>(std::move(names));
  return createStringError("linking failed: " + StringRef(said).trim().str());
}
