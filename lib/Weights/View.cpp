//===- View.cpp - joins, slices, transposes and orders of weights, on indices -------------------------------------===//

#include "moe-mlir/Weights/Dtype.h"
#include "moe-mlir/Weights/Recipe.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace moe_mlir;

static std::string shape(ArrayRef<int64_t> sizes) {
  return "[" + join(map_range(sizes, [](int64_t s) { return std::to_string(s); }), ", ") + "]";
}

template <typename... Args> static Error error(const char *format, Args &&...args) {
  return createStringError(formatv(format, std::forward<Args>(args)...).str());
}

Blob Blob::contiguous(moert_dtype dtype, ArrayRef<int64_t> sizes, ArrayRef<char> data) {
  Blob blob;
  blob.dtype = dtype;
  blob.sizes.assign(sizes.begin(), sizes.end());
  blob.strides.resize(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i])
    blob.strides[i] = stride;
  blob.data = data;
  return blob;
}

/// Bytes from the first element of a strided tensor to the end of its last one; none if that overflows.
static std::optional<uint64_t> extent(const Blob &blob) {
  uint64_t last = 0;
  for (auto [size, stride] : zip_equal(blob.sizes, blob.strides)) {
    uint64_t step;
    if (size < 0 || stride < 0)
      return std::nullopt;
    if (size == 0)
      return 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(size - 1), static_cast<uint64_t>(stride), &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  uint64_t bytes;
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, moert::dtypeSize(blob.dtype), &bytes))
    return std::nullopt;
  return bytes;
}

Expected<View> View::of(const Blob &blob) {
  uint64_t bytes;
  if (blob.sizes.size() != blob.strides.size() ||
      !moert::tensorBytes(blob.dtype, static_cast<int32_t>(blob.sizes.size()), blob.sizes.data(), bytes))
    return error("{0} of {1} is not a valid tensor", shape(blob.sizes), dtypeName(blob.dtype));
  std::optional<uint64_t> needed = extent(blob);
  if (!needed || *needed > blob.data.size())
    return error("{0} of {1} does not fit into its {2} bytes", shape(blob.sizes), dtypeName(blob.dtype),
                 blob.data.size());
  View view;
  view.sizes = blob.sizes;
  view.dtype = blob.dtype;
  Box box;
  box.origin.assign(blob.sizes.size(), 0);
  box.sizes = blob.sizes;
  box.strides = blob.strides;
  box.data = blob.data.data();
  view.boxes.push_back(std::move(box));
  return view;
}

Expected<View> View::stack(ArrayRef<View> parts) {
  View result = parts.front();
  result.sizes.insert(result.sizes.begin(), parts.size());
  result.boxes.clear();
  if (result.sizes.size() > MOERT_MAX_RANK)
    return error("a stack of tensors of rank {0} has too many dimensions (at most {1})", parts.front().sizes.size(),
                 MOERT_MAX_RANK);
  for (auto [index, part] : enumerate(parts)) {
    if (part.sizes != parts.front().sizes || part.dtype != parts.front().dtype)
      return error("cannot stack source {0}, {1} of {2}, with source 0, {3} of {4}", index, shape(part.sizes),
                   dtypeName(part.dtype), shape(parts.front().sizes), dtypeName(parts.front().dtype));
    for (Box box : part.boxes) {
      box.origin.insert(box.origin.begin(), index);
      box.sizes.insert(box.sizes.begin(), 1);
      box.strides.insert(box.strides.begin(), 0);
      result.boxes.push_back(std::move(box));
    }
  }
  return result;
}

Expected<View> View::concat(ArrayRef<View> parts, int64_t dim) {
  View result = parts.front();
  if (dim < 0 || dim >= static_cast<int64_t>(result.sizes.size()))
    return error("concat along dimension {0} of a tensor of rank {1}", dim, result.sizes.size());
  result.sizes[dim] = 0;
  result.boxes.clear();
  for (auto [index, part] : enumerate(parts)) {
    SmallVector<int64_t, 4> expected = parts.front().sizes;
    if (part.sizes.size() == expected.size())
      expected[dim] = part.sizes[dim];
    if (ArrayRef<int64_t>(part.sizes) != ArrayRef<int64_t>(expected) || part.dtype != result.dtype)
      return error("cannot concat source {0}, {1} of {2}, to source 0, {3} of {4}, along dimension {5}", index,
                   shape(part.sizes), dtypeName(part.dtype), shape(parts.front().sizes), dtypeName(result.dtype), dim);
    for (Box box : part.boxes) {
      box.origin[dim] += result.sizes[dim];
      result.boxes.push_back(std::move(box));
    }
    result.sizes[dim] += part.sizes[dim];
  }
  return result;
}

Error View::slice(int64_t dim, int64_t offset, int64_t size) {
  if (dim < 0 || dim >= static_cast<int64_t>(sizes.size()))
    return error("slice of dimension {0} of a tensor of rank {1}", dim, sizes.size());
  if (offset < 0 || size < 0 || offset > sizes[dim] || size > sizes[dim] - offset)
    return error("slice of {1} at {0} in dimension {2}, which has size {3}", offset, size, dim, sizes[dim]);
  std::vector<Box> kept;
  for (Box &box : boxes) {
    int64_t first = std::max(box.origin[dim], offset);
    int64_t end = std::min(box.origin[dim] + box.sizes[dim], offset + size);
    if (first >= end)
      continue;
    box.data += (first - box.origin[dim]) * box.strides[dim] * static_cast<int64_t>(moert::dtypeSize(dtype));
    box.origin[dim] = first - offset;
    box.sizes[dim] = end - first;
    kept.push_back(std::move(box));
  }
  boxes = std::move(kept);
  sizes[dim] = size;
  return Error::success();
}

Error View::transpose(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!equal(sorted, seq<int64_t>(0, sizes.size())))
    return error("{0} is not a permutation of the {1} dimensions", shape(permutation), sizes.size());
  auto apply = [&](SmallVectorImpl<int64_t> &values) {
    SmallVector<int64_t, 4> old(values.begin(), values.end());
    for (auto [to, from] : enumerate(permutation))
      values[to] = old[from];
  };
  apply(sizes);
  for (Box &box : boxes) {
    apply(box.origin);
    apply(box.sizes);
    apply(box.strides);
  }
  return Error::success();
}

Error View::reorder(ArrayRef<int32_t> order) {
  if (sizes.empty() || sizes.front() != static_cast<int64_t>(order.size()))
    return error("an order of {0} entries for dimension 0 of {1}", order.size(), shape(sizes));
  SmallVector<int64_t> places(order.size());
  for (auto [place, entry] : enumerate(order))
    places[entry] = place;
  std::vector<Box> entries;
  for (const Box &box : boxes)
    for (int64_t i = 0; i < box.sizes[0]; ++i) {
      Box &entry = entries.emplace_back(box);
      entry.origin[0] = places[box.origin[0] + i];
      entry.sizes[0] = 1;
      entry.data += i * box.strides[0] * static_cast<int64_t>(moert::dtypeSize(dtype));
    }
  // Readers go through the boxes in this order.
  llvm::sort(entries, [](const Box &a, const Box &b) { return a.origin[0] < b.origin[0]; });
  boxes = std::move(entries);
  return Error::success();
}

Error View::cast(moert_dtype to) {
  if (!isConvertible(resultType(), to))
    return error("no cast from {0} to {1}", dtypeName(resultType()), dtypeName(to));
  if (to != resultType())
    casts.push_back(to);
  return Error::success();
}

/// As many as there can be ranks.
static Error checkParts(int64_t parts) {
  constexpr int64_t most = 1 << 16;
  if (parts < 1 || parts > most)
    return error("{0} parts; there can be 1 to {1}", parts, most);
  return Error::success();
}

Error View::cut(int64_t dim, int64_t parts, bool halves) {
  const int64_t runs = halves ? 2 : 1;
  if (Error failure = checkParts(parts))
    return failure;
  if (dim < 0 || dim >= static_cast<int64_t>(sizes.size()))
    return error("cut of dimension {0} of a tensor of rank {1}", dim, sizes.size());
  if (sizes[dim] % (runs * parts))
    return error("{0} parts of {1}dimension {2} of {3}, which are not equal", parts, halves ? "both halves of " : "",
                 dim, shape(sizes));
  const int64_t size = sizes[dim] / (runs * parts);
  std::vector<View> all;
  for (int64_t part = 0; part < parts; ++part) {
    std::vector<View> pieces;
    for (int64_t run = 0; run < runs; ++run) {
      pieces.push_back(*this);
      if (Error failure = pieces.back().slice(dim, (run * parts + part) * size, size))
        return failure;
    }
    Expected<View> joined = concat(pieces, dim);
    if (!joined)
      return joined.takeError();
    all.push_back(std::move(*joined));
  }
  Expected<View> whole = stack(all);
  if (!whole)
    return whole.takeError();
  *this = std::move(*whole);
  return Error::success();
}

Error View::first(int64_t parts) {
  alignas(8) static constexpr char zeros[8] = {}; // of any type, and so are its casts
  if (Error failure = checkParts(parts))
    return failure;
  View none = *this;
  Box box;
  box.origin.assign(sizes.size(), 0);
  box.sizes = sizes;
  box.strides.assign(sizes.size(), 0);
  box.data = zeros;
  none.boxes.assign(1, box);
  std::vector<View> all(parts, none);
  all.front() = *this;
  Expected<View> whole = stack(all);
  if (!whole)
    return whole.takeError();
  *this = std::move(*whole);
  return Error::success();
}
