//===- WgmmaOperands.cpp - descriptors, fragments and the product itself ------------------------------------------===//

#include "Convert.h"
#include "State.h"

#include <cstring>

namespace moe::emulation {

constexpr uint64_t kReservedBits = 3ull << 14 | 3ull << 30 | 7ull << 46 | 0x3ffull << 52;

MatrixDescriptor::MatrixDescriptor(uint64_t bits)
    : bits(bits), start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4), stride((bits >> 32 & 0x3fff) << 4),
      baseOffset(bits >> 49 & 7), mode(uint32_t(bits >> 62)) {
  const uint32_t widths[] = {16, 128, 64, 32};
  width = widths[mode];
}

uint32_t MatrixDescriptor::address(int row, int chunk) const {
  const uint32_t a = start + uint32_t(row % 8) * width + uint32_t(row / 8) * stride + chunk * (mode ? 16 : leading);
  return a ^ ((a >> 7 & (width / 16 - 1)) << 4);
}

void MatrixDescriptor::check(const char *operand, Where where) const {
  const std::string name = std::string(operand) + " descriptor: ";
  if (bits & kReservedBits)
    fail(name + "reserved bits are set", where);
  if (baseOffset)
    fail(name + "a base offset is not modelled", where);
  if (mode && start >> 7 & (width / 16 - 1))
    fail(name + "start " + hex(start) + " is not in the first row of a swizzle repeat, which needs a base offset",
         where);
}

int accumulatorRow(int lane, int i) { return lane / 32 * 16 + lane % 32 / 4 + i / 2 % 2 * 8; }
int accumulatorColumn(int lane, int i) { return i / 4 * 8 + lane % 4 * 2 + i % 2; }

static void addNeed(Product &product, const SharedWord &write, uint32_t address) {
  for (Need &need : product.needs)
    if (need.write.slot == write.slot && need.write.kind == write.kind) {
      if (need.write.epoch < write.epoch)
        need = {write, address};
      return;
    }
  product.needs.push_back({write, address});
}

void readOperand(Product &product, const MatrixDescriptor &operand, int rows, const char *name, Warpgroup &warpgroup) {
  SharedMemory &shared = self().block->shared;
  const std::string reader = std::string(name) + " of wgmma";
  SharedWord last;
  for (int row = 0; row < rows; ++row)
    for (int chunk = 0; chunk < 2; ++chunk) {
      const uint32_t a = operand.address(row, chunk);
      requireShared(a, 16, reader.c_str(), product.where);
      Granule &granule = shared.granule(a);
      if (granule.barrier)
        fail(reader + " overlaps the mbarrier at " + hex(a), product.where);
      if (granule.inFlight())
        fail(reader + " reads shared memory " + hex(a) + " that " + granule.inFlight() + " writes", product.where);
      granule.wgmma[warpgroup.index] = product.group + 1;
      for (const SharedWord &word : granule.words) {
        if (word.kind == SharedWord::Never || word.kind == SharedWord::Atomic)
          fail(reader + " reads shared memory " + hex(a) +
                   (word.kind == SharedWord::Never ? " that was never written" : " that atomic adds wrote"),
               product.where);
        if (!(word == last))
          addNeed(product, word, a);
        last = word;
      }
    }
}

/// c[64][columns] += a[64][16] * b[16][columns]. The product of two bf16 or f16 is exact in f32.
static void multiplyTile(float *__restrict c, const float *__restrict a, const float *__restrict b, int columns) {
  for (int r = 0; r < 64; ++r)
    for (int j = 0; j < columns; j += 8) {
      float sum[8];
      for (int i = 0; i < 8; ++i)
        sum[i] = c[r * columns + j + i];
      for (int k = 0; k < 16; ++k)
        for (int i = 0; i < 8; ++i)
          sum[i] += a[r * 16 + k] * b[k * columns + j + i];
      for (int i = 0; i < 8; ++i)
        c[r * columns + j + i] = sum[i];
    }
}

/// 16 elements of `rows` rows; stepRow and stepElement say where they go.
static void fetch(float *to, int stepRow, int stepElement, const MatrixDescriptor &operand, int rows, Element element,
                  SharedMemory &shared) {
  for (int row = 0; row < rows; ++row)
    for (int chunk = 0; chunk < 2; ++chunk) {
      uint16_t bits[8];
      memcpy(bits, shared.at(operand.address(row, chunk)), 16);
      for (int i = 0; i < 8; ++i)
        to[row * stepRow + (chunk * 8 + i) * stepElement] =
            element == Element::Bf16 ? fromBf16Bits(bits[i]) : fromF16Bits(bits[i]);
    }
}

void multiply(Product &product, SharedMemory &shared) {
  float a[64 * 16];
  float b[16 * 256];
  fetch(a, 16, 1, product.a, 64, product.element, shared);
  fetch(b, 1, product.columns, product.b, product.columns, product.element, shared);
  std::vector<float> &tile = product.chain->tile;
  if (!product.accumulate)
    std::fill(tile.begin(), tile.end(), 0.f);
  multiplyTile(tile.data(), a, b, product.columns);
}

} // namespace moe::emulation
