//===- CpuTarget.cpp - traits of the CPU that kernels are made for ------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/CpuTarget.h"

#include "mlir/IR/Builders.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace mlir;
using namespace mlir::kernel;

llvm::StringSet<> CpuTarget::featureSet() const {
  llvm::StringMap<bool> enabled;
  auto enable = [&](StringRef feature, bool value) {
    enabled[feature] = value;
    llvm::X86::updateImpliedFeatures(feature, value, enabled);
  };
  SmallVector<StringRef> ofCpu, changes;
  llvm::X86::getFeaturesForCPU(cpu, ofCpu);
  for (StringRef feature : ofCpu)
    enable(feature, true);
  StringRef(features).split(changes, ',', -1, /*KeepEmpty=*/false);
  for (StringRef change : changes)
    if (change.size() > 1)
      enable(change.drop_front(), change[0] == '+');
  llvm::StringSet<> result;
  for (auto &entry : enabled)
    if (entry.second)
      result.insert(entry.getKey());
  return result;
}

DictionaryAttr CpuTarget::toAttr(MLIRContext *context) const {
  Builder b(context);
  NamedAttrList attrs;
  attrs.set("rows", b.getI64IntegerAttr(rows));
  attrs.set("columns", b.getI64IntegerAttr(columns));
  attrs.set("vector", b.getI64IntegerAttr(vector));
  if (dotBf16)
    attrs.set("dot_bf16", b.getUnitAttr());
  if (matrixRows)
    attrs.set("matrix_rows", b.getI64IntegerAttr(matrixRows));
  if (streamAhead)
    attrs.set("stream_ahead", b.getI64IntegerAttr(streamAhead));
  attrs.set("cpu", b.getStringAttr(cpu));
  attrs.set("features", b.getStringAttr(features));
  return attrs.getDictionary(context);
}

FailureOr<CpuTarget> CpuTarget::fromAttr(Location loc, Attribute attr) {
  auto dict = dyn_cast_or_null<DictionaryAttr>(attr);
  if (!dict)
    return emitError(loc) << "module has no '" << attrName << "' attribute; run kernel-set-target first";
  CpuTarget target;
  for (auto [name, field, limit] : {std::tuple<StringRef, int64_t *, int64_t>{"rows", &target.rows, 32},
                                    {"columns", &target.columns, 256},
                                    {"vector", &target.vector, 64}}) {
    auto value = dict.getAs<IntegerAttr>(name);
    if (!value || value.getInt() < 1 || value.getInt() > limit)
      return emitError(loc) << "'" << attrName << "' needs an integer '" << name << "' in 1.." << limit;
    *field = value.getInt();
  }
  target.dotBf16 = dict.contains("dot_bf16");
  for (auto [name, field, limit] :
       {std::tuple<StringRef, int64_t *, int64_t>{"matrix_rows", &target.matrixRows, maxMatrixRows},
        {"stream_ahead", &target.streamAhead, 1 << 20}}) {
    Attribute attr = dict.get(name);
    if (!attr)
      continue;
    auto value = dyn_cast<IntegerAttr>(attr);
    if (!value || value.getInt() < 1 || value.getInt() > limit)
      return emitError(loc) << "'" << attrName << "' needs an integer '" << name << "' in 1.." << limit;
    *field = value.getInt();
  }
  if (auto cpu = dict.getAs<StringAttr>("cpu"))
    target.cpu = cpu.str();
  if (auto features = dict.getAs<StringAttr>("features"))
    target.features = features.str();
  if (target.cpu.empty() || !(target.dotBf16 || target.matrixRows))
    return target;
  llvm::StringSet<> has = target.featureSet();
  for (auto [used, field, feature] : {std::tuple(target.dotBf16, "dot_bf16", "avx512bf16"),
                                      {target.matrixRows > 0, "matrix_rows", "amx-tile"},
                                      {target.matrixRows > 0, "matrix_rows", "amx-bf16"}})
    if (used && !has.contains(feature))
      return emitError(loc) << "'" << attrName << "' has '" << field << "', but CPU '" << target.cpu << "' has no "
                            << feature;
  return target;
}

FailureOr<CpuTarget> CpuTarget::get(ModuleOp module) { return fromAttr(module.getLoc(), module->getAttr(attrName)); }

bool CpuTarget::isKnown(StringRef name) {
  return name == "native" || llvm::X86::parseArchX86(name, /*Only64Bit=*/true) != llvm::X86::CK_None;
}

/// Whether the system lets processes use the matrix registers of this machine (a container may forbid it). The runtime
/// asks the same before a program starts.
static bool allowsMatrixRegisters() {
#ifdef __linux__
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

FailureOr<CpuTarget> CpuTarget::forCpu(StringRef name, std::string &error) {
  if (!isKnown(name)) {
    error = "unknown CPU '" + name.str() + "'; use 'native', 'x86-64-v3', 'x86-64-v4' or a name such as 'znver4'";
    return failure();
  }
  CpuTarget target;
  if (name == "native") {
    target.cpu = llvm::sys::getHostCPUName().str();
    // A virtual machine may hide instructions that the CPU's name implies: what differs is recorded.
    llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    llvm::StringSet<> implied = target.featureSet();
    SmallVector<StringRef> names;
    for (auto &entry : host)
      if (entry.second != implied.contains(entry.getKey()))
        names.push_back(entry.getKey());
    llvm::sort(names); // the map's order is not deterministic
    for (StringRef feature : names)
      target.features += (target.features.empty() ? "" : ",") + std::string(host[feature] ? "+" : "-") + feature.str();
  } else {
    target.cpu = name.str();
  }
  llvm::StringSet<> has = target.featureSet();
  for (StringRef needed : {"avx2", "fma"})
    if (!has.contains(needed)) {
      error = "CPU '" + target.cpu + "' has no " + needed.str() + "; the least that is supported is 'x86-64-v3'";
      return failure();
    }
  bool avx512 = llvm::all_of(ArrayRef<StringRef>{"avx512f", "avx512bw", "avx512dq", "avx512vl"},
                             [&](StringRef f) { return has.contains(f); });
  if (avx512) {
    target.columns = 64;
    target.vector = 16;
    target.dotBf16 = has.contains("avx512bf16");
    if (has.contains("amx-tile") && has.contains("amx-bf16") && (name != "native" || allowsMatrixRegisters()))
      target.matrixRows = maxMatrixRows;
    // Intel since Sapphire Rapids, half a page: without, streams had 0.7 to 0.8 of the speed (weight-stream.md).
    if (has.contains("amx-tile"))
      target.streamAhead = 2048;
  }
  return target;
}
