//===- Decisions.h - what level scheduled decides, and whether it can be done -------------------------*- C++ -*-===//
//
// Passes of this level write decisions; moe-verify-level and convert-graph-to-kernel ask whether those that stand there
// can be carried out. Both ask the same functions, so that a decision may be written by hand.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SCHEDULE_DECISIONS_H
#define MOE_MLIR_SCHEDULE_DECISIONS_H

#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::kernel {

/// Number of keys that a block of an encoded cache holds.
constexpr int64_t keysPerBlock = 64;

// Encodings of hidden key-value states, in the types of a state and of its updates.
constexpr StringLiteral keyEncoding = "key", valueEncoding = "value";

/// All values of the state `arg`: the argument and its updates, and by which encoding attention reads them. Empty if
/// anything else than updates, attention and the function's return sees them, or if the state's next value is none of
/// them, as that one has the plain form.
SmallVector<Value> stateChain(BlockArgument arg, StringRef &encoding);

/// Why `op`, an nn.cache_update or nn.scan, must not write into the buffer of the old cache or state; empty if it may: a
/// state that gets another value anyway, or the result of another update, of which nothing that runs later reads the
/// old elements.
std::string whyNotInPlace(Operation *op);
/// Whether `op` is one of these and writes there.
bool isInPlace(Operation *op);

/// Why the rows of `op` cannot be placed so; empty if they can.
std::string whyNotPlaced(moe::DispatchOp op, moe::Placement placement);
/// Where experts find the rows of `op`.
moe::Placement placementOf(moe::DispatchOp op);

/// Why exchanges cannot run under the products of a layer, whatever its schedule's numbers; empty if they can.
std::string whyNeverOverlapped(moe::ExpertOp op);
/// Why the schedule of an expert layer that overlaps cannot be carried out; empty if it can.
std::string whyNotOverlapped(moe::ExpertOp op);

/// A product that an op computes: its weight [.., N, K], and whether gate and up columns share a block.
struct Product {
  RankedTensorType weight;
  bool halves = false;
};
/// Those whose tiles `op` says: one of an nn.linear, nn.batch_linear or nn.attention, two of a moe.expert, none of another op.
SmallVector<Product> productsOf(Operation *op);
/// The tiles of that product of `op`, which has some.
ProductTiles tilesOf(Operation *op, unsigned product = 0);
/// Whether `op`, an attention, is made a query at a time: its `kernel.by_rows`.
bool isByRows(Operation *op);
/// Whether every product of `op` has its tiles.
bool hasTiles(Operation *op);

/// Reports the first decision of each kind of op that cannot be carried out, or that is missing.
LogicalResult verifyDecisions(ModuleOp module);

} // namespace mlir::kernel

#endif // MOE_MLIR_SCHEDULE_DECISIONS_H
