//===- CudaLaunch.cpp - how a CUDA kernel is launched ------------------------------------------------------------===//

#include "moe-mlir/Dialect/Cuda/IR/CudaLaunch.h"
#include "moe-mlir/Dialect/Cuda/IR/Block.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mlir::cuda;

static constexpr int64_t kBox = 256, kRegisters = 255;

void CudaLaunch::setOn(Operation *function) const {
  Builder b(function->getContext());
  function->setAttr("cuda.threads", b.getI64IntegerAttr(threads));
  function->setAttr("cuda.shared", b.getI64IntegerAttr(sharedBytes));
  function->setAttr("cuda.blocks_per_sm", b.getI64IntegerAttr(blocksPerSm));
  if (stages || !roles.empty()) {
    NamedAttrList pipeline;
    pipeline.set("stages", b.getI64IntegerAttr(stages));
    SmallVector<Attribute> entries;
    for (const CudaRole &role : roles) {
      NamedAttrList entry;
      entry.set("name", b.getStringAttr(role.name));
      entry.set("threads", b.getI64IntegerAttr(role.threads));
      entry.set("registers", b.getI64IntegerAttr(role.registers));
      entries.push_back(entry.getDictionary(b.getContext()));
    }
    pipeline.set("roles", b.getArrayAttr(entries));
    function->setAttr("cuda.pipeline", pipeline.getDictionary(b.getContext()));
  }
  if (maps.empty())
    return;
  SmallVector<Attribute> entries;
  for (const CudaMap &map : maps) {
    NamedAttrList entry;
    entry.set("slot", b.getI64IntegerAttr(map.slot));
    entry.set("element", TypeAttr::get(map.element));
    entry.set("rows", b.getI64IntegerAttr(map.rows));
    entry.set("columns", b.getI64IntegerAttr(map.columns));
    entry.set("box", b.getI64ArrayAttr({map.boxRows, map.boxColumns}));
    entry.set("swizzle", b.getI64IntegerAttr(map.swizzle));
    entries.push_back(entry.getDictionary(b.getContext()));
  }
  function->setAttr("cuda.maps", b.getArrayAttr(entries));
}

static LogicalResult read(Operation *function, Attribute attr, StringRef name, int64_t least, int64_t most,
                          int64_t &value) {
  auto integer = dyn_cast_or_null<IntegerAttr>(attr);
  if (!integer || integer.getInt() < least || integer.getInt() > most)
    return function->emitOpError() << "needs '" << name << "' in " << least << ".." << most;
  value = integer.getInt();
  return success();
}

static LogicalResult readMap(Operation *function, DictionaryAttr dict, CudaMap &map) {
  constexpr int64_t large = std::numeric_limits<int32_t>::max(); // TMA counts rows in 32 bits
  auto box = dict.getAs<ArrayAttr>("box");
  auto element = dict.getAs<TypeAttr>("element");
  if (!box || box.size() != 2 || !element || !element.getValue().isIntOrFloat())
    return function->emitOpError("has a map without 'box' of two sizes or without 'element'");
  map.element = element.getValue();
  if (failed(read(function, dict.get("slot"), "slot", 0, large, map.slot)) ||
      failed(read(function, dict.get("rows"), "rows", -large, large, map.rows)) ||
      failed(read(function, dict.get("columns"), "columns", 1, large, map.columns)) ||
      failed(read(function, box[0], "box", 1, kBox, map.boxRows)) ||
      failed(read(function, box[1], "box", 1, kBox, map.boxColumns)) ||
      failed(read(function, dict.get("swizzle"), "swizzle", 0, 128, map.swizzle)))
    return failure();
  return success();
}

static LogicalResult readPipeline(Operation *function, CudaLaunch &launch) {
  auto pipeline = function->getAttrOfType<DictionaryAttr>("cuda.pipeline");
  if (!pipeline)
    return success();
  if (failed(read(function, pipeline.get("stages"), "stages", 0, sharedBytes, launch.stages)))
    return failure();
  auto roles = pipeline.getAs<ArrayAttr>("roles");
  for (Attribute attr : roles ? roles.getValue() : ArrayRef<Attribute>()) {
    auto dict = dyn_cast<DictionaryAttr>(attr);
    auto name = dict ? dict.getAs<StringAttr>("name") : StringAttr();
    if (!name)
      return function->emitOpError("has a role without 'name'");
    CudaRole &role = launch.roles.emplace_back();
    role.name = name.str();
    if (failed(read(function, dict.get("threads"), "threads", 1, threadsOfBlock, role.threads)) ||
        failed(read(function, dict.get("registers"), "registers", 1, kRegisters, role.registers)))
      return failure();
  }
  return success();
}

FailureOr<CudaLaunch> CudaLaunch::get(Operation *function) {
  CudaLaunch launch;
  if (failed(read(function, function->getAttr("cuda.threads"), "cuda.threads", 32, threadsOfBlock, launch.threads)) ||
      failed(read(function, function->getAttr("cuda.shared"), "cuda.shared", 0, cuda::sharedBytes,
                  launch.sharedBytes)) ||
      failed(read(function, function->getAttr("cuda.blocks_per_sm"), "cuda.blocks_per_sm", 1, blocksOfSm,
                  launch.blocksPerSm)) ||
      failed(readPipeline(function, launch)))
    return failure();
  if (auto maps = function->getAttrOfType<ArrayAttr>("cuda.maps"))
    for (Attribute attr : maps) {
      auto dict = dyn_cast<DictionaryAttr>(attr);
      if (!dict || failed(readMap(function, dict, launch.maps.emplace_back())))
        return dict ? failure() : function->emitOpError("has a map that is no dictionary");
    }
  return launch;
}
