//===- Target.cpp - x86 processors as targets ---------------------------------------------------------------------===//

#include "moe-mlir/Dialect/X86/IR/X86.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace mlir;
using namespace mlir::x86;

/// LLVM's names of the features that `cpu` has, with the changes of `features`.
static llvm::StringSet<> featuresOf(StringRef cpu, StringRef features) {
  llvm::StringMap<bool> enabled;
  auto enable = [&](StringRef feature, bool value) {
    enabled[feature] = value;
    llvm::X86::updateImpliedFeatures(feature, value, enabled);
  };
  SmallVector<StringRef> ofCpu, changes;
  llvm::X86::getFeaturesForCPU(cpu, ofCpu);
  for (StringRef feature : ofCpu)
    enable(feature, true);
  features.split(changes, ',', -1, /*KeepEmpty=*/false);
  for (StringRef change : changes)
    if (change.size() > 1)
      enable(change.drop_front(), change[0] == '+');
  llvm::StringSet<> result;
  for (auto &entry : enabled)
    if (entry.second)
      result.insert(entry.getKey());
  return result;
}

llvm::StringSet<> TargetAttr::featureSet() const { return featuresOf(getCpu(), getFeatures()); }

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef cpu, StringRef features,
                                 int64_t rows, int64_t columns, int64_t vector, bool dotBf16, int64_t matrixRows,
                                 int64_t streamAhead) {
  for (auto [name, value, least, limit] : {std::tuple<StringRef, int64_t, int64_t, int64_t>{"rows", rows, 1, 32},
                                           {"columns", columns, 2, blockColumns},
                                           {"vector", vector, 4, 64},
                                           {"matrix_rows", matrixRows, 0, maxMatrixRows},
                                           {"stream_ahead", streamAhead, 0, 1 << 20}})
    if (value < least || value > limit)
      return emitError() << "'" << name << "' is " << value << "; it must be in " << least << ".." << limit;
  // Gate and up have half of them each.
  if (blockColumns % columns)
    return emitError() << "'columns' is " << columns << "; those of a tile divide the " << blockColumns
                       << " of a weight block";
  // LLVM does not check the name that it is asked for, and gives the features of some other CPU.
  if (!cpu.empty() && (!isKnown(cpu) || cpu == "native"))
    return emitError() << "unknown CPU '" << cpu << "'";
  if (cpu.empty() || !(dotBf16 || matrixRows))
    return success();
  llvm::StringSet<> has = featuresOf(cpu, features);
  for (auto [used, field, feature] : {std::tuple(dotBf16, "dot_bf16", "avx512bf16"),
                                      {matrixRows > 0, "matrix_rows", "amx-tile"},
                                      {matrixRows > 0, "matrix_rows", "amx-bf16"}})
    if (used && !has.contains(feature))
      return emitError() << "'" << field << "' is set, but CPU '" << cpu << "' has no " << feature;
  return success();
}

FailureOr<TargetAttr> TargetAttr::get(ModuleOp module) {
  return kernel::requireTarget<TargetAttr>(module, "run kernel-set-target first");
}

kernel::ProductTiles TargetAttr::getTiles(Type element) const {
  kernel::ProductTiles tiles = kernel::plainTiles(element);
  tiles.matrix = getMatrixRows() > 0 && element.isBF16();
  tiles.rows = tiles.matrix ? getMatrixRows() : getRows();
  tiles.columns = getColumns();
  tiles.blockColumns = blockColumns;
  tiles.chunkRows = llvm::alignTo(tiles.chunkRows, tiles.rows);
  return tiles;
}

std::string TargetAttr::whyNotTiles(const kernel::ProductTiles &tiles, Type element, bool) const {
  auto number = [](int64_t value) { return std::to_string(value); };
  if (tiles.blockColumns != blockColumns)
    return "has blocks of " + number(tiles.blockColumns) + " columns; weights for a CPU have " + number(blockColumns);
  if (tiles.depth != 1 && !(tiles.depth == 2 && element.isBF16()))
    return "has steps of " + number(tiles.depth) + " elements; on a CPU they are of 1, or of 2 of bf16";
  if (tiles.columns < 2)
    return "has tiles of one column; on a CPU they have 2.." + number(blockColumns);
  if (tiles.rows > maxMatrixRows)
    return "has tiles of " + number(tiles.rows) + " rows; on a CPU they have 1.." + number(maxMatrixRows);
  // Kernels show by the rows of a tile on which registers its product runs.
  const bool canUseMatrix = getMatrixRows() > 0 && tiles.depth == 2;
  const bool isTall = tiles.rows > getRows();
  if (tiles.matrix && !canUseMatrix)
    return "is for matrix registers, which " + describe() + " has not for steps of " + number(tiles.depth) +
           " elements";
  if (canUseMatrix && tiles.matrix != isTall)
    return "has tiles of " + number(tiles.rows) + " rows" + (isTall ? "" : " with 'matrix'") +
           "; matrix registers compute those of more than " + number(getRows());
  return "";
}

bool TargetAttr::isHost() const { return true; }

StringRef TargetAttr::getKind() const { return "cpu"; }

std::string TargetAttr::describe() const {
  if (getCpu().empty())
    return "a CPU";
  return ("CPU '" + getCpu() + "'" + (getFeatures().empty() ? "" : " with '" + getFeatures() + "'")).str();
}

bool TargetAttr::isCalled(StringRef name) const {
  std::string error;
  if (getCpu().empty())
    return true;
  TargetAttr wanted = forCpu(getContext(), name, error);
  return wanted && wanted.getCpu() == getCpu() && wanted.getFeatures() == getFeatures();
}

bool TargetAttr::isKnown(StringRef name) {
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


/// What of the machine that this runs on its CPU's name does not imply: a virtual machine may hide instructions.
static std::string hostChanges(StringRef cpu) {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  llvm::StringSet<> implied = featuresOf(cpu, "");
  SmallVector<StringRef> names;
  for (auto &entry : host)
    if (entry.second != implied.contains(entry.getKey()))
      names.push_back(entry.getKey());
  llvm::sort(names); // the map's order is not deterministic
  std::string changes;
  for (StringRef feature : names)
    changes += (changes.empty() ? "" : ",") + std::string(host[feature] ? "+" : "-") + feature.str();
  return changes;
}

TargetAttr TargetAttr::forCpu(MLIRContext *context, StringRef name, std::string &error) {
  context->getOrLoadDialect<X86Dialect>();
  if (!isKnown(name)) {
    error = "unknown CPU '" + name.str() + "'; use 'native', 'x86-64-v3', 'x86-64-v4' or a name such as 'znver4'";
    return {};
  }
  const bool isNative = name == "native";
  std::string cpu = isNative ? llvm::sys::getHostCPUName().str() : name.str();
  std::string features = isNative ? hostChanges(cpu) : "";
  llvm::StringSet<> has = featuresOf(cpu, features);
  for (StringRef needed : {"avx2", "fma"})
    if (!has.contains(needed)) {
      error = "CPU '" + cpu + "' has no " + needed.str() + "; the least that is supported is 'x86-64-v3'";
      return {};
    }
  const bool avx512 = llvm::all_of(ArrayRef<StringRef>{"avx512f", "avx512bw", "avx512dq", "avx512vl"},
                                   [&](StringRef feature) { return has.contains(feature); });
  if (!avx512)
    return get(context, cpu, features, /*rows=*/6, /*columns=*/16, /*vector=*/8, false, 0, 0);
  const bool hasMatrix =
      has.contains("amx-tile") && has.contains("amx-bf16") && (!isNative || allowsMatrixRegisters());
  // Intel since Sapphire Rapids, half a page: without, streams had 0.7 to 0.8 of the speed (weight-stream.md).
  const int64_t streamAhead = has.contains("amx-tile") ? 2048 : 0;
  return get(context, cpu, features, /*rows=*/6, /*columns=*/64, /*vector=*/16, has.contains("avx512bf16"),
             hasMatrix ? maxMatrixRows : 0, streamAhead);
}
