//===- SlotSums.cpp - the weighted sum of a token's rows ----------------------------------------------------------===//

#include "SlotSums.h"

using namespace mlir;
using namespace mlir::kernel;

/// Up to this many slots the sum is unrolled over them, inside a loop over columns that vectorises.
static constexpr int64_t maxUnrolledSlots = 16;

/// A layout over ranks has a slot for each of them.
static int64_t slotsOf(moe::CombineOp op) {
  Operation *source = op.getLayout().getDefiningOp();
  auto dispatch = dyn_cast_if_present<moe::DispatchOp>(source);
  bool isOfRanks = dispatch ? dispatch.getTo().has_value() : isa_and_present<moe::AllToAllOp>(source);
  return isOfRanks ? op.getLayout().getType().getExperts() : ShapedType::kDynamic;
}

SlotSums::SlotSums(KernelBuilder &b, moe::CombineOp op, const LayoutBuffers &layout, Value rows, Value weights)
    : b(b), rows(b.arg(rows)), places(b.arg(layout.places)), weights(weights ? b.arg(weights) : Value()),
      choices(weights ? cast<MemRefType>(weights.getType()).getDimSize(1) : slotsOf(op)) {
  int64_t count = op.getSum() ? op.getSum()->getGroups() : 1;
  if (count == 1) {
    ranges.emplace_back();
    return;
  }
  Value offsets = b.arg(layout.offsets);
  int64_t each = op.getLayout().getType().getExperts() / count;
  SmallVector<Value> bounds;
  for (int64_t i = 0; i <= count; ++i)
    bounds.push_back(b.toIndex(b.load(offsets, b.idx(i * each))));
  for (int64_t i = 0; i < count; ++i)
    ranges.push_back({bounds[i], bounds[i + 1]});
}

void SlotSums::forColumns(Value token, Value first, Value end, llvm::function_ref<void(Value, Value)> store) {
  if (choices != ShapedType::kDynamic && choices <= maxUnrolledSlots) {
    SmallVector<Slot> slots;
    for (int64_t j = 0; j < choices; ++j)
      slots.push_back(slot(token, b.idx(j)));
    b.loop(first, end, 1, [&](Value h) {
      SmallVector<Value> sums = zeros();
      for (const Slot &each : slots)
        sums = accumulate(sums, each, h);
      store(addPairwise(b, sums), h);
    });
    return;
  }
  b.loop(first, end, 1, [&](Value h) {
    SmallVector<Value> sums =
        b.loop(b.idx(0), b.dim(places, 1), 1, zeros(), [&](Value j, ValueRange before) {
          return accumulate(before, slot(token, j), h);
        });
    store(addPairwise(b, sums), h);
  });
}

std::string SlotSums::name() const {
  std::string name;
  if (choices != ShapedType::kDynamic)
    name += "_top" + std::to_string(choices);
  if (ranges.size() > 1)
    name += "_tree" + std::to_string(ranges.size());
  return name;
}

SlotSums::Slot SlotSums::slot(Value token, Value j) {
  Value row = b.toIndex(b.load(places, {token, j}));
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, row, b.idx(0));
  Slot result{b.max(row, b.idx(0)), weights ? b.toF32(b.load(weights, {token, j})) : Value(), {}};
  for (const Range &range : ranges)
    result.counts.push_back(range.begin ? isInside(row, range) : exists);
  return result;
}

/// A row of -1 is in no range.
Value SlotSums::isInside(Value row, const Range &range) {
  Value from = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, row, range.begin);
  return arith::AndIOp::create(b, from, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, range.end));
}

SmallVector<Value> SlotSums::zeros() {
  SmallVector<Value> values;
  for (size_t i = 0; i < ranges.size(); ++i)
    values.push_back(b.f32(0.0));
  return values;
}

/// Slots without a row read row 0 and add nothing, whatever stands there.
SmallVector<Value> SlotSums::accumulate(ValueRange sums, const Slot &slot, Value column) {
  Value v = b.toF32(b.load(rows, {slot.row, column}));
  if (slot.weight)
    v = arith::MulFOp::create(b, v, slot.weight);
  SmallVector<Value> results;
  for (auto [sum, counts] : llvm::zip_equal(sums, slot.counts))
    results.push_back(arith::AddFOp::create(b, sum, arith::SelectOp::create(b, counts, v, b.f32(0.0))));
  return results;
}
