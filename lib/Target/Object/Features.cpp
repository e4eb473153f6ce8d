//===- Features.cpp - the instruction sets of a CPU by their names in /proc/cpuinfo -------------------------------===//

#include "Descriptor.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

std::string moe_mlir::cpuinfoFeatures(x86::TargetAttr target) {
  llvm::StringSet<> has = target.featureSet();
  // LLVM's name, the kernel's name. Only what the code generator may use without being asked to.
  static constexpr std::pair<StringLiteral, StringLiteral> names[] = {{"sse4.2", "sse4_2"},
                                                                      {"popcnt", "popcnt"},
                                                                      {"movbe", "movbe"},
                                                                      {"avx", "avx"},
                                                                      {"avx2", "avx2"},
                                                                      {"f16c", "f16c"},
                                                                      {"fma", "fma"},
                                                                      {"bmi", "bmi1"},
                                                                      {"bmi2", "bmi2"},
                                                                      {"lzcnt", "abm"},
                                                                      {"adx", "adx"},
                                                                      {"gfni", "gfni"},
                                                                      {"avxvnni", "avx_vnni"},
                                                                      {"avx512f", "avx512f"},
                                                                      {"avx512bw", "avx512bw"},
                                                                      {"avx512cd", "avx512cd"},
                                                                      {"avx512dq", "avx512dq"},
                                                                      {"avx512vl", "avx512vl"},
                                                                      {"avx512vnni", "avx512_vnni"},
                                                                      {"avx512bf16", "avx512_bf16"},
                                                                      {"avx512ifma", "avx512ifma"},
                                                                      {"avx512vbmi", "avx512vbmi"},
                                                                      {"avx512vbmi2", "avx512_vbmi2"},
                                                                      {"avx512bitalg", "avx512_bitalg"},
                                                                      {"avx512vpopcntdq", "avx512_vpopcntdq"},
                                                                      {"avx512fp16", "avx512_fp16"},
                                                                      {"avx512vp2intersect", "avx512_vp2intersect"},
                                                                      {"amx-tile", "amx_tile"},
                                                                      {"amx-bf16", "amx_bf16"}};
  SmallVector<StringRef> found;
  for (auto [llvmName, linuxName] : names)
    if (has.contains(llvmName) && (target.getMatrixRows() || !llvmName.starts_with("amx-")))
      found.push_back(linuxName);
  return llvm::join(found, ",");
}
