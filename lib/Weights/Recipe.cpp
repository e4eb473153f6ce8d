//===- Recipe.cpp - checks a recipe and computes plain (unpacked) tensors -----------------------------------------===//

#include "moe-mlir/Weights/Recipe.h"
#include "RowReader.h"
#include "moe-mlir/Weights/Dtype.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace moe_mlir;
namespace moe = mlir::moe;

/// The sources as one view: a join if the recipe starts with one, which is then dropped from `steps`.
static Expected<View> joinSources(ArrayRef<Blob> sources, ArrayRef<mlir::Attribute> &steps) {
  std::vector<View> parts;
  for (const Blob &source : sources) {
    Expected<View> part = View::of(source);
    if (!part)
      return part.takeError();
    parts.push_back(std::move(*part));
  }
  if (parts.empty())
    return createStringError("a parameter needs a source");
  if (!steps.empty()) {
    mlir::Attribute first = steps.front();
    if (isa<moe::StackAttr, moe::ConcatAttr>(first)) {
      steps = steps.drop_front();
      if (auto concat = dyn_cast<moe::ConcatAttr>(first))
        return View::concat(parts, concat.getDim());
      return View::stack(parts);
    }
  }
  if (parts.size() > 1)
    return createStringError("%zu sources need #moe.stack or #moe.concat as the first step", parts.size());
  return parts.front();
}

static Error applyStep(View &view, mlir::Attribute step) {
  return TypeSwitch<mlir::Attribute, Error>(step)
      .Case([&](moe::SliceAttr slice) { return view.slice(slice.getDim(), slice.getOffset(), slice.getSize()); })
      .Case([&](moe::TransposeAttr transpose) { return view.transpose(transpose.getPermutation()); })
      .Case([&](moe::OrderAttr order) { return view.reorder(order.getExperts()); })
      .Case([&](moe::CastAttr cast) -> Error {
        std::optional<moert_dtype> dtype = dtypeOf(cast.getElement());
        if (!dtype)
          return createStringError("the runtime has no such element type");
        return view.cast(*dtype);
      })
      .Case([&](moe::CutAttr cut) { return view.cut(cut.getDim(), cut.getParts(), cut.getHalves()); })
      .Case([&](moe::FirstAttr first) { return view.first(first.getParts()); })
      .Case<moe::StackAttr, moe::ConcatAttr>(
          [](mlir::Attribute) { return createStringError("stack and concat join the sources, so they come first"); })
      .Case([](moe::PackAttr) { return createStringError("nothing can follow a pack"); })
      .Default([](mlir::Attribute) { return createStringError("not a step of a recipe"); });
}

/// Sizes of the packed form of `[..., N, K]`.
static Expected<SmallVector<int64_t, 6>> packSizes(ArrayRef<int64_t> sizes, moe::PackAttr pack) {
  if (sizes.size() < 2)
    return createStringError("a pack needs at least two dimensions, got %zu", sizes.size());
  if (pack.getColumns() < 1 || pack.getColumns() > 4096 || pack.getPairs() < 1 || pack.getPairs() > 128)
    return createStringError("columns must be in [1, 4096] and pairs in [1, 128]");
  int64_t n = sizes[sizes.size() - 2];
  if (pack.getHalves() && (n % 2 || pack.getColumns() % 2))
    return createStringError("halves need an even number of rows and columns");
  if (pack.getInterleaved() && !pack.getHalves())
    return createStringError("interleaved says how the source's halves lie: it needs halves");
  SmallVector<int64_t, 6> result(sizes.drop_back(2));
  result.push_back(divideCeil(n, pack.getColumns()));
  result.push_back(divideCeil(sizes.back(), pack.getPairs()));
  result.push_back(pack.getColumns());
  if (pack.getPairs() > 1)
    result.push_back(pack.getPairs());
  return result;
}

Expected<PackedTensor> PackedTensor::create(ArrayRef<Blob> sources, mlir::ArrayAttr recipe,
                                            std::optional<ArrayRef<int64_t>> own) {
  ArrayRef<mlir::Attribute> steps = recipe ? recipe.getValue() : ArrayRef<mlir::Attribute>();
  Expected<View> view = joinSources(sources, steps);
  if (!view)
    return view.takeError();
  PackedTensor result;
  if (!steps.empty())
    if (auto pack = dyn_cast<moe::PackAttr>(steps.back())) {
      result.pack = pack;
      steps = steps.drop_back();
    }
  for (mlir::Attribute step : steps)
    if (Error error = applyStep(*view, step)) {
      std::string text;
      raw_string_ostream(text) << step << ": " << toString(std::move(error));
      return createStringError(text);
    }
  result.packedSizes.assign(view->sizes.begin(), view->sizes.end());
  if (result.pack && (!own || *own == ArrayRef<int64_t>(view->sizes))) {
    Expected<SmallVector<int64_t, 6>> packed = packSizes(view->sizes, result.pack);
    if (!packed)
      return packed.takeError();
    result.packedSizes = *packed;
  }
  result.view = std::move(*view);
  if (!moert::tensorBytes(result.dtype(), static_cast<int32_t>(result.packedSizes.size()), result.packedSizes.data(),
                          result.totalBytes))
    return createStringError("the result is too large or has more than %d dimensions", MOERT_MAX_RANK);
  return result;
}

bool PackedTensor::produce(function_ref<bool(ArrayRef<char>)> take) const {
  if (totalBytes == 0)
    return true;
  return pack ? producePacked(take) : producePlain(take);
}

/// Moves to the next index in row-major order; false behind the last one.
static bool advance(MutableArrayRef<int64_t> index, ArrayRef<int64_t> sizes) {
  for (size_t i = index.size(); i-- > 0;) {
    if (++index[i] < sizes[i])
      return true;
    index[i] = 0;
  }
  return false;
}

bool PackedTensor::producePlain(function_ref<bool(ArrayRef<char>)> take) const {
  constexpr int64_t kPiece = 1 << 20;
  const int64_t size = moert::dtypeSize(dtype());
  const int64_t perPiece = kPiece / size;
  std::vector<char> piece(std::min<uint64_t>(totalBytes, kPiece));
  ArrayRef<int64_t> sizes = view.sizes;
  const int64_t rowSize = sizes.empty() ? 1 : sizes.back();
  ArrayRef<int64_t> leadingSizes = sizes.empty() ? sizes : sizes.drop_back();
  SmallVector<int64_t> leading(leadingSizes.size(), 0);
  RowReader reader(view);
  int64_t filled = 0;
  do {
    for (int64_t first = 0; first < rowSize;) {
      int64_t count = std::min(rowSize - first, perPiece - filled);
      reader.read(leading, first, count, piece.data() + filled * size);
      first += count;
      filled += count;
      if (filled == perPiece) {
        if (!take(ArrayRef(piece.data(), filled * size)))
          return false;
        filled = 0;
      }
    }
  } while (advance(leading, leadingSizes));
  return filled == 0 || take(ArrayRef(piece.data(), filled * size));
}

namespace {
/// Which row of the source stands in column `column` of block `block`; -1 in the padding.
struct ColumnMap {
  moe::PackAttr pack;
  int64_t rows;

  int64_t operator()(int64_t block, int64_t column) const {
    int64_t width = pack.getColumns(), n;
    if (!pack.getHalves()) {
      n = block * width + column;
      return n < rows ? n : -1;
    }
    bool up = column >= width / 2;
    n = block * (width / 2) + (up ? column - width / 2 : column);
    if (n >= rows / 2)
      return -1;
    return pack.getInterleaved() ? 2 * n + up : n + up * (rows / 2);
  }
};
} // namespace

/// Transposes rows of `count` elements into steps: result[k / pairs][column][k % pairs] = rows[column][k].
template <typename T> static void interleave(const T *rows, int64_t columns, int64_t count, int64_t pairs, T *result) {
  for (int64_t k = 0; k < count; ++k) {
    T *step = result + k / pairs * columns * pairs + k % pairs;
    for (int64_t c = 0; c < columns; ++c)
      step[c * pairs] = rows[c * count + k];
  }
}

bool PackedTensor::producePacked(function_ref<bool(ArrayRef<char>)> take) const {
  const int64_t size = moert::dtypeSize(dtype()), columns = pack.getColumns(), pairs = pack.getPairs();
  const int64_t depth = view.sizes.back();
  const int64_t blocks = packedSizes[view.sizes.size() - 2];
  // Pieces of the K dimension such that rows and result stay within the second-level cache.
  const int64_t perPiece = std::max<int64_t>(1, 256 / pairs) * pairs;
  const ColumnMap rowOf{pack, view.sizes[view.sizes.size() - 2]};

  ArrayRef<int64_t> outerSizes = ArrayRef<int64_t>(view.sizes).drop_back(2);
  SmallVector<int64_t> leading(outerSizes.size() + 1, 0);
  RowReader reader(view);
  std::vector<char> rows(columns * perPiece * size), piece(columns * perPiece * size);
  do {
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t first = 0; first < depth; first += perPiece) {
        const int64_t count = std::min(perPiece, depth - first);
        const int64_t padded = alignTo(count, pairs);
        for (int64_t c = 0; c < columns; ++c) {
          char *row = rows.data() + c * padded * size;
          leading.back() = rowOf(block, c);
          int64_t valid = leading.back() < 0 ? 0 : count;
          if (valid)
            reader.read(leading, first, valid, row);
          std::memset(row + valid * size, 0, (padded - valid) * size);
        }
        if (size == 2)
          interleave(reinterpret_cast<const uint16_t *>(rows.data()), columns, padded, pairs,
                     reinterpret_cast<uint16_t *>(piece.data()));
        else if (size == 4)
          interleave(reinterpret_cast<const uint32_t *>(rows.data()), columns, padded, pairs,
                     reinterpret_cast<uint32_t *>(piece.data()));
        else if (size == 8)
          interleave(reinterpret_cast<const uint64_t *>(rows.data()), columns, padded, pairs,
                     reinterpret_cast<uint64_t *>(piece.data()));
        else
          interleave(reinterpret_cast<const uint8_t *>(rows.data()), columns, padded, pairs,
                     reinterpret_cast<uint8_t *>(piece.data()));
        if (!take(ArrayRef(piece.data(), columns * padded * size)))
          return false;
      }
    }
    leading.back() = 0;
  } while (advance(MutableArrayRef<int64_t>(leading).drop_back(), outerSizes));
  return true;
}
