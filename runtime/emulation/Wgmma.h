//===- Wgmma.h - products in flight -------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_WGMMA_H
#define MOE_EMULATION_WGMMA_H

#include "Machine.h"
#include "SharedMemory.h"

#include <deque>
#include <memory>
#include <vector>

namespace moe::emulation {

/// A shared-memory matrix descriptor of sm_90: rows of 16 elements along K, in two chunks of 16 bytes.
struct MatrixDescriptor {
  explicit MatrixDescriptor(uint64_t bits);
  uint32_t address(int row, int chunk) const;
  /// Fails on bits that the hardware reserves or that are not modelled.
  void check(const char *operand, Where where) const;

  uint64_t bits;
  uint32_t start, leading, stride, baseOffset, mode;
  uint32_t width; // bytes of the swizzle
};

/// Where an accumulator lies in the tile of its warpgroup.
int accumulatorRow(int lane, int i);
int accumulatorColumn(int lane, int i);

/// The accumulators of a warpgroup from the first wgmma on them until all threads have waited.
struct Chain {
  int columns = 0, users = 0;
  std::vector<float> tile; // 64 x columns
};

/// What a thread must know before it may issue a product: the last write, by each writer, to what the product reads.
struct Need {
  SharedWord write;
  uint32_t address;
};

struct Product {
  MatrixDescriptor a, b;
  int columns;
  Element element;
  bool accumulate;
  Chain *chain;
  bool opensChain;
  uint32_t group;
  Where where;
  int issued = 0; // by so many of the 128 threads
  std::vector<Need> needs;
};

struct ProductGroup {
  uint32_t endProduct;
  uint32_t retired[128] = {}; // by thread: its epoch when it had waited for the group
};

/// Its products happen in order, each some time between its issue by the last thread and the wait.
struct Warpgroup {
  enum ReaderState { Harmless, Uncommitted, Running, Unordered };

  int index = 0;
  std::deque<Product> products;
  uint32_t firstProduct = 0, executed = 0; // numbers
  std::deque<ProductGroup> groups;
  uint32_t firstGroup = 0;
  std::vector<std::unique_ptr<Chain>> chains;
  std::vector<Thread *> waiters;

  /// May memory that group `number` reads be overwritten by `writer`?
  ReaderState stateOf(uint32_t number, const Thread &writer) const;
  Product &product(uint32_t number) { return products[number - firstProduct]; }
  ProductGroup &group(uint32_t number) { return groups[number - firstGroup]; }
};

/// Marks what the operand reads, and adds to the product's needs.
void readOperand(Product &product, const MatrixDescriptor &operand, int rows, const char *name, Warpgroup &warpgroup);
/// tile += A * B.
void multiply(Product &product, SharedMemory &shared);

} // namespace moe::emulation

#endif
