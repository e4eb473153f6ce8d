//===- CudaTarget.cpp - traits of the GPU that kernels are made for -----------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/CudaTarget.h"
#include "moe-mlir/Dialect/Kernel/IR/CpuTarget.h"
#include "moe-mlir/Dialect/Kernel/IR/TileTarget.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::kernel;

DictionaryAttr CudaTarget::toAttr(MLIRContext *context) const {
  Builder b(context);
  NamedAttrList attrs;
  attrs.set("cuda", b.getStringAttr(arch));
  attrs.set("rows", b.getI64IntegerAttr(rows));
  attrs.set("columns", b.getI64IntegerAttr(columns));
  attrs.set("depth", b.getI64IntegerAttr(depth));
  attrs.set("stages", b.getI64IntegerAttr(stages));
  return attrs.getDictionary(context);
}

bool CudaTarget::isCuda(Attribute attr) {
  auto dict = dyn_cast_or_null<DictionaryAttr>(attr);
  return dict && dict.getAs<StringAttr>("cuda");
}

FailureOr<CudaTarget> CudaTarget::fromAttr(Location loc, Attribute attr) {
  if (!isCuda(attr))
    return emitError(loc) << "'" << CpuTarget::attrName << "' is not that of a GPU; run kernel-set-target{cuda=sm_90a}";
  auto dict = cast<DictionaryAttr>(attr);
  CudaTarget target;
  target.arch = dict.getAs<StringAttr>("cuda").str();
  for (auto [name, field, least, limit, unit] :
       {std::tuple<StringRef, int64_t *, int64_t, int64_t, int64_t>{"rows", &target.rows, 128, 128, 64},
        {"columns", &target.columns, 16, 256, 16},
        {"depth", &target.depth, 64, 64, 64},
        {"stages", &target.stages, 2, 8, 1}}) {
    auto value = dict.getAs<IntegerAttr>(name);
    if (!value || value.getInt() < least || value.getInt() > limit || value.getInt() % unit)
      return emitError(loc) << "'" << CpuTarget::attrName << "' needs a multiple of " << unit << " as '" << name
                            << "' in " << least << ".." << limit;
    *field = value.getInt();
  }
  return target;
}

FailureOr<CudaTarget> CudaTarget::forArch(StringRef arch, std::string &error) {
  if (arch != "sm_90a") {
    error = "unknown GPU '" + arch.str() + "'; kernels are written for 'sm_90a' (H100, H200)";
    return failure();
  }
  CudaTarget target;
  target.arch = arch.str();
  return target;
}

FailureOr<TileTarget> TileTarget::get(ModuleOp module) {
  Attribute attr = module->getAttr(CpuTarget::attrName);
  TileTarget tiles;
  if (!attr)
    return tiles;
  if (CudaTarget::isCuda(attr)) {
    FailureOr<CudaTarget> cuda = CudaTarget::fromAttr(module.getLoc(), attr);
    if (failed(cuda))
      return failure();
    tiles = TileTarget{cuda->rows, cuda->rows, false, cuda->columns, cuda->columns, cuda->depth};
    tiles.chunkRows = 8 * cuda->rows;
    // About a chunk for each multiprocessor, a token for each warp of a block, an expert for each lane.
    tiles.chunks = 128;
    tiles.chunkTokens = 8;
    tiles.countedExperts = 32;
    return tiles;
  }
  FailureOr<CpuTarget> cpu = CpuTarget::fromAttr(module.getLoc(), attr);
  if (failed(cpu))
    return failure();
  tiles.rows = cpu->rows;
  tiles.pairRows = cpu->matrixRows ? cpu->matrixRows : cpu->rows;
  tiles.matrix = cpu->matrixRows > 0;
  tiles.columns = cpu->columns;
  return tiles;
}
