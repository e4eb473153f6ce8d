//===- Target.cpp - NVIDIA GPUs as targets ------------------------------------------------------------------------===//

#include "moe-mlir/Analysis/CudaCost.h"
#include "moe-mlir/Dialect/Cuda/IR/Block.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mlir::cuda;

static constexpr int64_t rowElements = rowBytes / 2; ///< of 16 bits
// The simulation, which has no target, takes the largest tile for granted.
static_assert(moe_mlir::largestTile.rows == tileRows && moe_mlir::largestTile.fewRows == plannedFewRows);

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef device, int64_t rows,
                                 int64_t columns, int64_t depth, Activation) {
  const auto *numbers = moe_mlir::findCudaDevice(device);
  if (!numbers || numbers->key != device)
    return emitError() << "unknown GPU '" << device << "'; kernels are written for " << moe_mlir::cudaDeviceKeys();
  for (auto [name, value, least, limit, unit] :
       {std::tuple<StringRef, int64_t, int64_t, int64_t, int64_t>{"rows", rows, tileRows, tileRows, tileRows},
        {"columns", columns, 16, 256, 16},
        {"depth", depth, rowElements, rowElements, rowElements}}) {
    if (value >= least && value <= limit && value % unit == 0)
      continue;
    InFlightDiagnostic error = emitError();
    error << "'" << name << "' is " << value << "; kernels for " << numbers->arch << " are written for ";
    if (least == limit)
      return error << limit;
    if (unit > 1)
      error << "multiples of " << unit << " in ";
    return error << least << ".." << limit;
  }
  return success();
}

FailureOr<TargetAttr> TargetAttr::get(ModuleOp module) {
  // Decisions and kernels that are made already have the sizes of their target: it is too late to set another one.
  return kernel::requireTarget<TargetAttr>(
      module, "make the kernels from level spmd for a GPU (moe-spmd-to-scheduled=target=cuda:sm_90a)");
}

const moe_mlir::CudaDevice &TargetAttr::getNumbers() const { return *moe_mlir::findCudaDevice(getDevice()); }

StringRef TargetAttr::getArch() const { return getNumbers().arch; }

TargetAttr TargetAttr::forDevice(MLIRContext *context, StringRef name, std::string &error) {
  context->getOrLoadDialect<CudaDialect>();
  const auto *device = moe_mlir::findCudaDevice(name);
  if (device)
    return get(context, device->key, tileRows, moe_mlir::largestTile.columns, rowElements, Activation::Approximate);
  error = "unknown GPU '" + name.str() + "'; kernels are written for " + moe_mlir::cudaDeviceNames(/*prefix=*/"");
  return {};
}

/// A step takes as many bytes of each type.
kernel::ProductTiles TargetAttr::getTiles(Type element) const {
  kernel::ProductTiles tiles;
  tiles.rows = getRows();
  tiles.columns = tiles.blockColumns = getColumns();
  tiles.depth = getDepth() * 16 / element.getIntOrFloatBitWidth();
  tiles.chunkRows = 8 * getRows();
  return tiles;
}

/// Epilogues are not known yet: gate and up are taken to be a SiLU, results of experts are sums in f32.
static moe_mlir::CudaProduct productOf(RankedTensorType weight, bool halves) {
  ArrayRef<int64_t> shape = weight.getShape();
  moe_mlir::CudaProduct product{ShapedType::getNumElements(shape.drop_back(2)),
                                shape[shape.size() - 2],
                                shape.back(),
                                0,
                                weight.getElementTypeBitWidth() / 8,
                                {}};
  product.epilogue.resultBytes = product.groups > 1 && !halves ? 4 : product.elementBytes;
  if (halves)
    product.epilogue = {2, product.elementBytes, /*operations=*/10, /*specials=*/2};
  return product;
}

/// Wide tiles use the tensor cores best, narrow ones spread a narrow product over all multiprocessors.
kernel::ProductTiles TargetAttr::getTilesOf(RankedTensorType weight, bool halves) const {
  kernel::ProductTiles tiles = getTiles(weight.getElementType());
  if (!weight.hasStaticShape())
    return tiles;
  // A piece of weights for few rows has 64 columns of each half.
  const int64_t least = halves ? 128 : 64;
  tiles.columns = moe_mlir::chooseColumns(getNumbers(), productOf(weight, halves), least,
                                          {tiles.rows, tiles.blockColumns, plannedFewRows});
  tiles.blockColumns = tiles.columns;
  return tiles;
}

std::string TargetAttr::whyNotTiles(const kernel::ProductTiles &tiles, Type element, bool halves) const {
  auto number = [](int64_t value) { return std::to_string(value); };
  const kernel::ProductTiles known = getTiles(element);
  if (tiles.rows != known.rows || tiles.depth != known.depth || tiles.matrix)
    return "has tiles of " + number(tiles.rows) + " rows in steps of " + number(tiles.depth) +
           (tiles.matrix ? " with 'matrix'" : "") + "; kernels for " + getArch().str() + " have " + number(known.rows) +
           " in steps of " + number(known.depth);
  if (tiles.columns != tiles.blockColumns)
    return "has tiles of " + number(tiles.columns) + " columns in blocks of " + number(tiles.blockColumns) +
           "; on a GPU a tile has those of its block";
  const int64_t unit = halves ? 32 : 16;
  if (tiles.columns % unit || tiles.columns > getColumns())
    return "has tiles of " + number(tiles.columns) + " columns; kernels for " + getArch().str() +
           " have multiples of " + number(unit) + ", at most " + number(getColumns());
  return "";
}

SmallVector<kernel::TileEstimate> TargetAttr::estimateTiles(RankedTensorType weight, bool halves) const {
  SmallVector<kernel::TileEstimate> estimates;
  if (!weight.hasStaticShape())
    return estimates;
  const kernel::ProductTiles tiles = getTilesOf(weight, halves);
  for (bool few : {false, true}) {
    moe_mlir::CudaProduct product = productOf(weight, halves);
    product.rows = moe_mlir::nominalRows(product.groups, few);
    moe_mlir::CudaEstimate estimate =
        moe_mlir::estimateProduct(getNumbers(), product, {tiles.rows, tiles.blockColumns, plannedFewRows});
    estimates.push_back({product.rows, estimate.seconds, estimate.floor, getNumbers().name.str()});
  }
  return estimates;
}

/// About a chunk for each multiprocessor, a token for each warp of a block, an expert for each lane.
kernel::RoutingSizes TargetAttr::getRouting() const { return {/*chunks=*/128, /*chunkTokens=*/8, /*countedExperts=*/32}; }

bool TargetAttr::approximatesActivations() const { return getActivation() == Activation::Approximate; }

bool TargetAttr::attendsByRows() const { return true; }

bool TargetAttr::isHost() const { return false; }

StringRef TargetAttr::getKind() const { return "cuda"; }

std::string TargetAttr::describe() const { return ("GPU '" + getDevice() + "'").str(); }

bool TargetAttr::isCalled(StringRef name) const { return name == getDevice() || name == getArch(); }
