//===- Features.cpp - instruction sets of this machine ------------------------------------------------------------===//
//
// A bit of cpuid says that the CPU knows an instruction; for vector registers, xgetbv says that the operating system
// saves them. Both are needed, or the first such instruction ends the process without a word.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "cpu/Features.h"

#include <cerrno>
#include <cpuid.h>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace moert {

namespace {

enum Register { kEax, kEbx, kEcx, kEdx };
enum Saved { kNone, kAvx, kAvx512, kAmx };

struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  Saved saved;
};

constexpr uint32_t kExtended = 0x80000001;

const Feature kFeatures[] = {
    {"sse", 1, 0, kEdx, 25, kNone},
    {"sse2", 1, 0, kEdx, 26, kNone},
    {"cx8", 1, 0, kEdx, 8, kNone},
    {"cmov", 1, 0, kEdx, 15, kNone},
    {"mmx", 1, 0, kEdx, 23, kNone},
    {"fxsr", 1, 0, kEdx, 24, kNone},
    {"pni", 1, 0, kEcx, 0, kNone},
    {"sse3", 1, 0, kEcx, 0, kNone},
    {"pclmulqdq", 1, 0, kEcx, 1, kNone},
    {"ssse3", 1, 0, kEcx, 9, kNone},
    {"fma", 1, 0, kEcx, 12, kAvx},
    {"cx16", 1, 0, kEcx, 13, kNone},
    {"sse4_1", 1, 0, kEcx, 19, kNone},
    {"sse4_2", 1, 0, kEcx, 20, kNone},
    {"movbe", 1, 0, kEcx, 22, kNone},
    {"popcnt", 1, 0, kEcx, 23, kNone},
    {"aes", 1, 0, kEcx, 25, kNone},
    {"xsave", 1, 0, kEcx, 26, kNone},
    {"avx", 1, 0, kEcx, 28, kAvx},
    {"f16c", 1, 0, kEcx, 29, kAvx},
    {"bmi1", 7, 0, kEbx, 3, kNone},
    {"avx2", 7, 0, kEbx, 5, kAvx},
    {"bmi2", 7, 0, kEbx, 8, kNone},
    {"avx512f", 7, 0, kEbx, 16, kAvx512},
    {"avx512dq", 7, 0, kEbx, 17, kAvx512},
    {"adx", 7, 0, kEbx, 19, kNone},
    {"avx512ifma", 7, 0, kEbx, 21, kAvx512},
    {"avx512cd", 7, 0, kEbx, 28, kAvx512},
    {"sha_ni", 7, 0, kEbx, 29, kNone},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512},
    {"avx512vl", 7, 0, kEbx, 31, kAvx512},
    {"avx512vbmi", 7, 0, kEcx, 1, kAvx512},
    {"avx512_vbmi2", 7, 0, kEcx, 6, kAvx512},
    {"gfni", 7, 0, kEcx, 8, kNone},
    {"vaes", 7, 0, kEcx, 9, kAvx},
    {"vpclmulqdq", 7, 0, kEcx, 10, kAvx},
    {"avx512_vnni", 7, 0, kEcx, 11, kAvx512},
    {"avx512_bitalg", 7, 0, kEcx, 12, kAvx512},
    {"avx512_vpopcntdq", 7, 0, kEcx, 14, kAvx512},
    {"avx512_vp2intersect", 7, 0, kEdx, 8, kAvx512},
    {"amx_bf16", 7, 0, kEdx, 22, kAmx},
    {"avx512_fp16", 7, 0, kEdx, 23, kAvx512},
    {"amx_tile", 7, 0, kEdx, 24, kAmx},
    {"avx_vnni", 7, 1, kEax, 4, kAvx},
    {"avx512_bf16", 7, 1, kEax, 5, kAvx512},
    {"avx_ifma", 7, 1, kEax, 23, kAvx},
    {"avx_ne_convert", 7, 1, kEdx, 5, kAvx},
    {"lahf_lm", kExtended, 0, kEcx, 0, kNone},
    {"abm", kExtended, 0, kEcx, 5, kNone},
    {"lzcnt", kExtended, 0, kEcx, 5, kNone},
    {"sse4a", kExtended, 0, kEcx, 6, kNone},
    {"3dnowprefetch", kExtended, 0, kEcx, 8, kNone},
};

} // namespace

static uint64_t savedStates() {
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) // OSXSAVE
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

// Matrix registers are 8 KiB of state per thread, which Linux (since 5.16) only saves for processes that have asked. It
// refuses if a thread has too small a stack for signals, and a container may forbid the call.
static bool requestMatrixRegisters() {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

static bool hasFeature(const Feature &feature) {
  uint32_t r[4];
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &r[0], &r[1], &r[2], &r[3]) ||
      !(r[feature.reg] >> feature.bit & 1))
    return false;
  constexpr uint64_t needs[] = {0, 0x6, 0xe6, 0x600e6};
  uint64_t needed = needs[feature.saved];
  return (savedStates() & needed) == needed;
}

static const Feature *findFeature(const std::string &name) {
  for (const Feature &feature : kFeatures)
    if (name == feature.name)
      return &feature;
  return nullptr;
}

Status checkFeatures(const char *features) {
  std::string missing;
  for (const char *p = features; *p;) {
    size_t length = std::strcspn(p, ",");
    std::string name(p, length);
    p += length + (p[length] == ',');
    if (name.empty())
      continue;
    const Feature *feature = findFeature(name);
    if (!feature)
      return failure(kUnsupported, "the program uses '%s', an instruction set that this runtime cannot check for",
                     name.c_str());
    if (!hasFeature(*feature))
      missing += (missing.empty() ? "" : ", ") + name;
    else if (feature->saved == kAmx && !requestMatrixRegisters())
      return failure(kUnsupported,
                     "the system does not let this process use %s, which the program was compiled for: %s (recompile "
                     "with another --target-cpu, such as x86-64-v4)",
                     name.c_str(), std::strerror(errno));
  }
  if (missing.empty())
    return {};
  return failure(kUnsupported,
                 "this CPU lacks %s, which the program was compiled for (recompile with another --target-cpu)",
                 missing.c_str());
}

} // namespace moert
