//===- Exchange.h - rows that travel between ranks ------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_EXCHANGE_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_EXCHANGE_H

#include "Layout.h"

#include "moe-mlir/Dialect/Moe/IR/LayerName.h"

namespace mlir::kernel {

using moe::layerName;
struct PassLoop;

/// The ranks of a grid, as the host program sees them.
struct Ranks {
  Ranks(OpBuilder &host, Location loc, ModuleOp module, StringRef grid);

  /// Memory of one shape and place on every rank; `sizes` has an entry for each dimension.
  Value window(OpBuilder &host, Location loc, const Twine &name, Type element, ArrayRef<OpFoldResult> sizes) const;
  /// A flag for each rank.
  Value flags(OpBuilder &host, Location loc, const Twine &name) const;
  /// The largest of all ranks' values.
  Value largest(OpBuilder &host, Location loc, OpFoldResult value) const;

  FlatSymbolRefAttr grid;
  int64_t count; ///< W
  Value own;     ///< this rank's number
};

/// An exchange of rows on its way: what its return has to know.
struct RowExchange {
  /// The tokens that it may send: from which one on, and how many at most.
  OpFoldResult tokensOf(OpBuilder &host, Location loc, Value tokens) const;
  /// In a kernel: number `token` of those, as a row of all tokens.
  Value tokenAt(KernelBuilder &b, Value token) const;

  Ranks ranks;
  std::string layer;
  SmallVector<Value> layout; ///< of the dispatch to the ranks
  Value room;                ///< the largest number of tokens of a rank
  Value came;                ///< window of flags
  Value arrived;             ///< [W + 1] i32: rows that came from the ranks before each; the last is their number
  Value firsts;              ///< [W] i32: where each rank wants the sums of its rows
  unsigned number = 0;       ///< among those that are on their way at the same time
  unsigned returns = 0;      ///< that were emitted
  StringRef rowsAre = "rows to experts", sumsAre = "sums to tokens"; ///< in traces and errors

  Value firstToken = {};     ///< of a pass, null without passes

  // Of one that overlaps with products (Overlap.h):
  bool isByPart = false;                ///< rows that came stand in parts of a chunk of every source
  Value chunkRows = {}, chunks = {};    ///< rows of a chunk, and chunks of `room` rows
  Value tokens = {}, rows = {};         ///< what the first product's group sends, and the window that it goes to
  DenseMap<Value, Value> received = DenseMap<Value, Value>(); ///< companions: result -> buffer
  Value sums = {}, sumsCame = {};       ///< windows: slices of sums that return, a flag for each chunk of each
  Value sumFlags = {};                  ///< how many flags each rank raises
  int64_t slices = 1;                   ///< of sums
};

/// "rows"; "rows 1" of the second exchange at a time.
std::string nameOf(const RowExchange &exchange, const Twine &name);
/// A window with `room` rows of each rank, like those of `rows`.
Value windowFor(OpBuilder &host, Location loc, const RowExchange &exchange, const Twine &name, Value rows);
/// In a kernel: which row of which source stands where among those that came.
class ReceivedRows {
public:
  ReceivedRows(KernelBuilder &b, const RowExchange &exchange);

  /// The place of row `index` of the source that stands `distance` places behind.
  Value place(Value distance, Value index);
  /// The other way round.
  Value distance(Value place);
  Value index(Value place);

  // Of an exchange that overlaps. Flags stand as rows do, so that rows behind each other have flags behind each other.
  Value flag(Value distance, Value chunk);
  Value flagOf(Value place);
  /// Places below this one have the rows of the first `sources` sources, or parts.
  Value end(int64_t sources);

private:
  KernelBuilder &b;
  const RowExchange &exchange;
  Value unit; ///< rows that stand together: of a source, or of a chunk
};

/// In a kernel: how far behind the source of the rows of a flag stands.
Value distanceOfFlag(KernelBuilder &b, const RowExchange &exchange, Value flag);
/// In a kernel: how many rows of `peer` have come.
Value rowsOf(KernelBuilder &b, Value arrived, Value peer);
/// Whether ids that an exchange received go to nothing but experts, which tell themselves what rows exist.
bool goToExperts(Value received);
/// In a kernel: whether row `row` of those that were received exists.
Value rowExists(KernelBuilder &b, const RowExchange &exchange, Value row);

/// This rank's part of a window, for launches as any buffer.
Value ownPart(OpBuilder &host, Location loc, Value window);
/// In a kernel: the part of rank `peer`, which may be stored to.
Value partOf(KernelBuilder &b, Value window, Value peer);
/// In a kernel: the rank that stands `distance` (at most W) behind `rank`.
Value rankBehind(KernelBuilder &b, const Ranks &ranks, Value rank, Value distance);
/// In a kernel: how many places `rank` stands behind `from`.
Value distanceBetween(KernelBuilder &b, const Ranks &ranks, Value from, Value rank);

/// A launch that lets the number of the exchange grow by one.
void emitAdvance(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks, Value flags);

using PeerProgram = llvm::function_ref<void(KernelBuilder &, Value peer, Value distance)>;

/// A launch of one block that raises this rank's flag at each rank, which tells of all that earlier launches have put.
/// `before` runs in front of each flag.
LaunchOp emitSignal(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks, Value flags,
                    StringRef name = "signal_ranks", PeerProgram before = nullptr);
/// A launch of one block that waits for the flags of all ranks: behind it is all that they have told of. `after` runs
/// once behind the waits. Launches that need nothing of it come to stand before it (kernel-delay-waits).
LaunchOp emitAwait(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks, Value flags,
                   StringRef name = "await_ranks", llvm::function_ref<void(KernelBuilder &)> after = nullptr);

/// The experts of a layer: how many, and the table that orders them (null: by number).
struct Experts {
  explicit Experts(moe::DispatchOp op) : count(op.getNumExperts()), order(op.getOrderAttr()) {}

  int64_t count;
  moe::OrderAttr order;
};

/// [T, W] i32: r where rank r owns one of the token's experts [T, k], else -1. The ranks may be those of a node; its
/// number is `node`, null if they are all.
/// Of the tokens of a pass, if there are passes: -1 for those that do not exist.
Value emitOwners(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks, Value ids,
                 const Experts &experts, const PassLoop *pass = nullptr, const Ranks *node = nullptr);
/// [T, k] i32: the experts at `each` places from `rank * each` on, numbered from 0; -1 for others. Ids that an exchange
/// received may be without those of rows that do not exist: `exchange` says which do.
Value emitOwnExperts(GraphLowering &lowering, OpBuilder &host, Location loc, Value rank, int64_t each, Value ids,
                     const Experts &experts, const RowExchange *exchange = nullptr);

/// What a launch is for, in errors and traces: "model.layers.0.mlp: rows to experts".
void setPhase(LaunchOp launch, StringRef layer, StringRef phase);
/// What a launch sends to each other rank. Rows: as the operand `offsets` (W + 1 numbers) says, or `rows` for each.
struct Traffic {
  Value offsets, rows;
  int64_t rowBytes = 0, fixedBytes = 0;
};
inline constexpr int64_t flagBytes = 4;
void setTraffic(LaunchOp launch, const Ranks &ranks, const Traffic &traffic);
/// What the flags count for which a launch waits: each source has as many as the operand `each` says, `slices` times
/// those of its chunks if they are of sums (0: of rows), and they stand `stride` apart.
void setFlags(LaunchOp launch, Value each, int64_t slices, int64_t stride);
/// Bytes of a row of `memref`.
int64_t rowBytes(Value memref);

/// Adds `values` pairwise, neighbours first, the last one alone if it has none: the order of sums that does not depend on how many ranks share them.
Value addPairwise(KernelBuilder &b, SmallVector<Value> values);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_EXCHANGE_H
