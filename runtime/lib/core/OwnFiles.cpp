//===- OwnFiles.cpp - the files that a running program consists of ------------------------------------------------===//

#include "core/OwnFiles.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace moert {

std::string ownExecutable() {
  // Not by realpath(): a file that was replaced meanwhile has no path any more, but still a folder.
  char path[4096];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 && static_cast<size_t>(size) < sizeof path ? std::string(path, static_cast<size_t>(size)) : "";
}

/// The file that is mapped at an address, as the system knows it.
static std::string mappedFile(const void *address) {
  std::string file;
  FILE *maps = fopen("/proc/self/maps", "re");
  char *line = nullptr;
  size_t room = 0;
  for (ssize_t size; maps && file.empty() && (size = getline(&line, &room, maps)) > 0;) {
    char *at;
    const uintptr_t begin = strtoull(line, &at, 16), end = *at == '-' ? strtoull(at + 1, nullptr, 16) : 0;
    const auto sought = reinterpret_cast<uintptr_t>(address);
    const char *slash = std::strchr(line, '/');
    if (sought >= begin && sought < end && slash)
      file.assign(slash, std::strcspn(slash, "\n"));
  }
  free(line);
  if (maps)
    fclose(maps);
  for (size_t at; (at = file.find("\\012")) != std::string::npos;)
    file.replace(at, 4, "\n"); // as the system writes a line feed there
  return file;
}

std::string fileOf(const moert_program &program) {
  Dl_info info;
  link_map *object = nullptr;
  if (!dladdr1(&program, &info, reinterpret_cast<void **>(&object), RTLD_DL_LINKMAP) || !info.dli_fname)
    return "";
  // Of the executable dladdr() says what it was called, and of an object what was asked for: that may be a name of
  // another working directory, or none of a file. Nor is the executable what the process runs, if the dynamic loader
  // was called with its name.
  const bool isExecutable = object && !*object->l_name;
  if (!isExecutable && *info.dli_fname == '/')
    return info.dli_fname;
  std::string mapped = mappedFile(&program);
  return !mapped.empty() ? mapped : isExecutable ? ownExecutable() : info.dli_fname;
}

std::string recordedWeights(const moert_program &program) {
  std::string weights = program.weights;
  if (weights.empty() || weights[0] == '/')
    return weights;
  std::string file = fileOf(program);
  size_t slash = file.rfind('/');
  return slash == std::string::npos ? weights : file.substr(0, slash + 1) + weights;
}

} // namespace moert
