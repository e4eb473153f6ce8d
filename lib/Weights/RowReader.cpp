//===- RowReader.cpp - runs of a view's elements along its last dimension -----------------------------------------===//

#include "RowReader.h"
#include "moe-mlir/Weights/Dtype.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

using namespace llvm;
using namespace moe_mlir;

RowReader::RowReader(const View &view) : view(view) {}

static bool contains(const View::Box &box, ArrayRef<int64_t> leading, int64_t position) {
  for (auto [index, origin, size] : zip(leading, box.origin, box.sizes))
    if (index < origin || index >= origin + size)
      return false;
  return box.sizes.empty() || (position >= box.origin.back() && position < box.origin.back() + box.sizes.back());
}

const View::Box &RowReader::boxAt(ArrayRef<int64_t> leading, int64_t position) {
  // The boxes cover the view, so the search ends.
  while (!contains(view.boxes[last], leading, position))
    last = (last + 1) % view.boxes.size();
  return view.boxes[last];
}

template <typename T> static void gather(const char *from, int64_t stride, int64_t count, char *to) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * sizeof(T), from + i * stride * static_cast<int64_t>(sizeof(T)), sizeof(T));
}

static void copyStrided(const char *from, int64_t stride, int64_t count, uint64_t size, char *to) {
  if (stride == 1) {
    std::memcpy(to, from, count * size);
    return;
  }
  switch (size) {
  case 1:
    return gather<uint8_t>(from, stride, count, to);
  case 2:
    return gather<uint16_t>(from, stride, count, to);
  case 4:
    return gather<uint32_t>(from, stride, count, to);
  default:
    return gather<uint64_t>(from, stride, count, to);
  }
}

void RowReader::readRaw(ArrayRef<int64_t> leading, int64_t first, int64_t count, char *out) {
  const uint64_t size = moert::dtypeSize(view.dtype);
  while (count > 0) {
    const View::Box &box = boxAt(leading, first);
    int64_t run = count, stride = 1, element = 0;
    for (auto [index, origin, step] : zip(leading, box.origin, box.strides))
      element += (index - origin) * step;
    if (!box.sizes.empty()) {
      stride = box.strides.back();
      element += (first - box.origin.back()) * stride;
      run = std::min(count, box.origin.back() + box.sizes.back() - first);
    }
    copyStrided(box.data + element * static_cast<int64_t>(size), stride, run, size, out);
    // Programs rely on bools being 0 or 1, and compute indices from them; files may hold any byte for true.
    if (view.dtype == MOERT_BOOL)
      std::transform(out, out + run, out, [](char byte) { return byte != 0; });
    out += run * size;
    first += run;
    count -= run;
  }
}

void RowReader::read(ArrayRef<int64_t> leading, int64_t first, int64_t count, char *out) {
  if (view.casts.empty())
    return readRaw(leading, first, count, out);
  moert_dtype type = view.dtype;
  scratch[0].resize_for_overwrite(count * moert::dtypeSize(type));
  char *current = scratch[0].data();
  readRaw(leading, first, count, current);
  for (auto [index, to] : enumerate(view.casts)) {
    char *next = out;
    if (index + 1 < view.casts.size()) {
      scratch[(index + 1) % 2].resize_for_overwrite(count * moert::dtypeSize(to));
      next = scratch[(index + 1) % 2].data();
    }
    convertElements(type, current, to, next, count);
    type = to;
    current = next;
  }
}
