//===- Kernels.cpp - the machine code of a program and its source -------------------------------------------------===//

#include "Console.h"
#include "Cubin.h"
#include "Modes.h"
#include "core/OutputFile.h"

#include <cstring>

namespace moert {

std::string kernelTable(const moert_program &program) {
  std::string text = "kernels:\n";
  if (!program.cuda) {
    for (int32_t i = 0; i < program.kernel_count; ++i)
      text += format("  %s\n", printable(program.kernels[i].name).c_str());
    return text;
  }
  text += format("  %-32s %8s %10s %12s %10s %12s\n", "name", "threads", "blocks/SM", "shared bytes", "registers",
                 "cubin bytes");
  for (int32_t i = 0; i < program.kernel_count; ++i) {
    const moert_cuda_kernel &kernel = program.cuda->kernels[i];
    const moert_cuda_image &image = program.cuda->images[kernel.image];
    int32_t registers = cubinRegisters(image.cubin, image.cubin_bytes);
    text += format("  %-32s %8d %10d %12d %10s %12lld\n", program.kernels[i].name, kernel.threads, kernel.blocks_per_sm,
                   kernel.shared_bytes, registers < 0 ? "?" : format("%d", registers).c_str(),
                   static_cast<long long>(image.cubin_bytes));
  }
  return text;
}

static Status writeFile(const std::string &path, const void *data, size_t size) {
  OutputFile file;
  if (Status s = file.open(path, OutputFile::Links::Replace); s.failed())
    return s;
  if (Status s = file.write(data, size); s.failed())
    return s;
  return file.commit();
}

// The device library, and two files of each kernel.
std::vector<std::string> sourcePaths(const moert_program &program, const std::string &dir) {
  std::vector<std::string> paths;
  if (!program.cuda)
    return paths;
  paths.push_back(dir + "/device.cuh");
  for (int32_t i = 0; i < program.cuda->image_count; ++i)
    for (const char *suffix : {".cu", ".cubin"})
      paths.push_back(dir + "/" + program.cuda->images[i].name + suffix);
  return paths;
}

Status dumpSource(const moert_program &program, const std::string &dir) {
  const moert_cuda_code *code = program.cuda;
  if (!code)
    return failure(kUserError, "'%s' has source for its CUDA kernels only", program.entry);
  if (Status s = makeFolder(dir); s.failed())
    return s;
  SignalsHeld held;
  const std::vector<std::string> paths = sourcePaths(program, dir);
  const std::string *path = paths.data();
  if (Status s = writeFile(*path++, code->library, std::strlen(code->library)); s.failed())
    return s;
  for (int32_t i = 0; i < code->image_count; ++i) {
    const moert_cuda_image &image = code->images[i];
    if (Status s = writeFile(*path++, image.source, static_cast<size_t>(image.source_bytes)); s.failed())
      return s;
    if (Status s = writeFile(*path++, image.cubin, static_cast<size_t>(image.cubin_bytes)); s.failed())
      return s;
  }
  return print(format("%d kernels; each .cu is compiled by NVRTC with -arch=%s -std=c++17 -I%s\n", code->image_count,
                      code->arch, dir.c_str()));
}

} // namespace moert
