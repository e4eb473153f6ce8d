//===- Wgmma.cpp - products of a warpgroup ------------------------------------------------------------------------===//

#include "Wgmma.h"

#include "State.h"

#include <cmath>

namespace moe::emulation {

constexpr size_t kGroupsKept = 64;

//===--------------------------------------------------------------------------------------------------------------===//
// Accumulators
//===--------------------------------------------------------------------------------------------------------------===//

void touch(Registers &registers, Where where) {
  if (registers.chain)
    fail("accumulator accessed while a wgmma on it is in flight", where);
  registers.touchedAt = self().fences;
}

void drop(Registers &registers) {
  if (!registers.chain)
    return;
  std::erase(self().inFlight, &registers);
  registers.chain = nullptr;
  fault("accumulator goes out of scope while a wgmma on it is in flight", &self(), nullptr);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Issue
//===--------------------------------------------------------------------------------------------------------------===//

static Warpgroup &warpgroupOf(Thread &t, Where where) {
  Warpgroup &warpgroup = t.block->warpgroups[t.slot / 128];
  if (t.block->threads.size() < size_t(warpgroup.index + 1) * 128)
    fail("wgmma outside a complete warpgroup", where);
  return warpgroup;
}

void wgmmaFence() { ++self().fences; }

/// The first of 128 threads.
static void openProduct(Warpgroup &warpgroup, Product product) {
  if (!product.chain) {
    warpgroup.chains.push_back(std::make_unique<Chain>());
    product.chain = warpgroup.chains.back().get();
    product.chain->columns = product.columns;
    product.chain->tile.assign(64 * product.columns, NAN);
  }
  product.a.check("A", product.where);
  product.b.check("B", product.where);
  readOperand(product, product.a, 64, "A", warpgroup);
  readOperand(product, product.b, product.columns, "B", warpgroup);
  warpgroup.products.push_back(std::move(product));
}

static void checkNeeds(const Product &product, Where where) {
  const Thread &t = self();
  for (const Need &need : product.needs) {
    const SharedWord &write = need.write;
    const bool known = t.knows(write.slot, write.epoch);
    if (write.kind == SharedWord::Async ? known : t.asyncKnows(write.slot, write.epoch))
      continue;
    const char *why = known ? ": ordinary store without fence.proxy.async in between" : ": not ordered after its store";
    if (write.kind == SharedWord::Async)
      why = ": this thread has not waited for the mbarrier of its TMA load";
    else if (write.kind == SharedWord::Copied)
      why = known ? ": asynchronous copy without fence.proxy.async in between"
                  : ": this thread has not waited for the mbarrier of its asynchronous copy";
    fail("wgmma reads shared memory " + hex(need.address) + why, where);
  }
}

/// The registers of the calling thread join the chain, which holds their values from now on.
static void joinChain(Registers &d, Chain &chain, bool accumulate) {
  Thread &t = self();
  const int lane = t.slot % 128;
  for (int i = 0; i < d.columns / 2; ++i) {
    if (accumulate)
      chain.tile[accumulatorRow(lane, i) * d.columns + accumulatorColumn(lane, i)] = d.values[i];
    d.values[i] = NAN;
  }
  d.chain = &chain;
  ++chain.users;
  t.inFlight.push_back(&d);
}

static void executeNext(Block &block, Warpgroup &warpgroup) {
  ++machine->report.wgmmas;
  multiply(warpgroup.product(warpgroup.executed), block.shared);
  ++warpgroup.executed;
  machine->wakeAll(warpgroup.waiters);
}

void wgmma(Registers &d, uint64_t a, uint64_t b, Element element, bool accumulate, Where where) {
  Thread &t = self();
  Warpgroup &warpgroup = warpgroupOf(t, where);
  const std::string name = "the threads of warpgroup " + std::to_string(warpgroup.index);
  if (t.fences == 0)
    fail("wgmma before the first wgmma.fence", where);
  if (!d.chain && d.touchedAt == t.fences)
    fail("wgmma on accumulators that were accessed after the last wgmma.fence", where);
  const uint32_t number = t.productsIssued++;
  if (number == warpgroup.firstProduct + warpgroup.products.size())
    openProduct(warpgroup, {MatrixDescriptor(a),
                            MatrixDescriptor(b),
                            d.columns,
                            element,
                            accumulate,
                            d.chain,
                            d.chain == nullptr,
                            t.groupsCommitted,
                            where,
                            0,
                            {}});
  Product &product = warpgroup.product(number);
  if (product.a.bits != a || product.b.bits != b || product.columns != d.columns || product.element != element ||
      product.accumulate != accumulate || product.group != t.groupsCommitted)
    fail(name + " disagree about a wgmma (descriptors, shape, type, scale or group)", where);
  checkNeeds(product, where);
  if (product.opensChain && !d.chain)
    joinChain(d, *product.chain, accumulate);
  else if (d.chain != product.chain)
    fail(name + " use different accumulators", where);
  if (product.chain->columns != d.columns)
    fail("wgmma of another shape on accumulators in flight", where);
  d.lastProduct = number;
  if (++product.issued == 128) {
    Block &block = *t.block;
    machine->later([&block, &warpgroup] { executeNext(block, warpgroup); });
  }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Groups
//===--------------------------------------------------------------------------------------------------------------===//

void wgmmaCommit(Where where) {
  Thread &t = self();
  Warpgroup &warpgroup = warpgroupOf(t, where);
  const uint32_t number = t.groupsCommitted++;
  if (number == warpgroup.firstGroup + warpgroup.groups.size())
    warpgroup.groups.push_back({t.productsIssued, {}});
  else if (warpgroup.group(number).endProduct != t.productsIssued)
    fail("the threads of a warpgroup disagree about a wgmma group", where);
  maybeSwitch();
}

/// The values return to the registers whose last product is done.
static void leaveChains(Warpgroup &warpgroup, uint32_t endProduct) {
  Thread &t = self();
  const int lane = t.slot % 128;
  std::erase_if(t.inFlight, [&](Registers *d) {
    if (d->lastProduct >= endProduct)
      return false;
    Chain *chain = d->chain;
    for (int i = 0; i < d->columns / 2; ++i)
      d->values[i] = chain->tile[accumulatorRow(lane, i) * d->columns + accumulatorColumn(lane, i)];
    if (--chain->users == 0)
      std::erase_if(warpgroup.chains, [&](auto &owned) { return owned.get() == chain; });
    d->chain = nullptr;
    return true;
  });
}

/// Drops what all threads have left behind.
static void forget(const Block &block, Warpgroup &warpgroup) {
  if (warpgroup.groups.size() <= kGroupsKept)
    return;
  uint32_t retired = ~0u;
  for (int i = 0; i < 128; ++i)
    retired = std::min(retired, block.threads[warpgroup.index * 128 + i]->groupsRetired);
  while (warpgroup.firstGroup + kGroupsKept / 2 < retired) {
    const uint32_t endProduct = warpgroup.groups.front().endProduct;
    warpgroup.groups.pop_front();
    ++warpgroup.firstGroup;
    for (; warpgroup.firstProduct < endProduct; ++warpgroup.firstProduct)
      warpgroup.products.pop_front();
  }
}

void wgmmaWait(uint32_t pending, Where where) {
  maybeSwitch();
  Thread &t = self();
  Warpgroup &warpgroup = warpgroupOf(t, where);
  if (t.groupsCommitted <= t.groupsRetired + pending)
    return;
  const uint32_t target = t.groupsCommitted - pending;
  const uint32_t endProduct = warpgroup.group(target - 1).endProduct;
  while (warpgroup.executed < endProduct) {
    warpgroup.waiters.push_back(&t);
    suspend(Thread::Blocked,
            "wgmma number " + std::to_string(warpgroup.executed) + " of warpgroup " + std::to_string(warpgroup.index) +
                ", issued by " + std::to_string(warpgroup.product(warpgroup.executed).issued) + " of 128 threads",
            where);
  }
  for (; t.groupsRetired < target; ++t.groupsRetired)
    warpgroup.group(t.groupsRetired).retired[t.slot % 128] = t.epoch;
  leaveChains(warpgroup, endProduct);
  forget(*t.block, warpgroup);
}

/// "wait_group" speaks of groups of the executing threads. Whether the return of one warp says anything about the other
/// three is open: by default it does, under Options::strict every warp must have waited.
static bool isOrdered(const ProductGroup &group, int warpgroup, const Thread &writer) {
  int warps = 0;
  for (int first = 0; first < 128; first += 32)
    for (int i = first; i < first + 32; ++i)
      if (group.retired[i] && writer.knows(warpgroup * 128 + i, group.retired[i])) {
        ++warps;
        break;
      }
  return machine->options.strict ? warps == 4 : warps > 0;
}

Warpgroup::ReaderState Warpgroup::stateOf(uint32_t number, const Thread &writer) const {
  if (number < firstGroup)
    return Harmless;
  if (number >= firstGroup + groups.size())
    return Uncommitted;
  const ProductGroup &group = groups[number - firstGroup];
  if (executed < group.endProduct)
    return Running;
  return isOrdered(group, index, writer) ? Harmless : Unordered;
}

} // namespace moe::emulation
