//===- Overlap.h - exchanges that run under the products of a layer -------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_OVERLAP_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_OVERLAP_H

#include "Exchange.h"

#include "moe-mlir/Dialect/Moe/IR/OverlapChain.h"

namespace mlir::kernel {

/// How a product walks over its tiles: records first ... first + count - 1, and column blocks first ... of the weight.
struct TileWalk {
  Value records, firstRecord, count;
  Value firstBlock, blocks;
  /// Runs in front of the tiles of a record, and behind them.
  std::function<void(Value record)> before;
  std::function<void()> after;
};

/// What the kernels of a layer share whose schedule overlaps: flags of chunks of rows, records by phase, counters.
class Overlap {
public:
  /// That of `op` with the layout `here`, if its schedule overlaps. Launches what orders the records, for tiles of
  /// `tileRows` rows. If the first product reads its rows in a buffer `gathered`, a third member of its group brings
  /// them there, phase by phase.
  static std::optional<Overlap> of(GraphLowering &lowering, OpBuilder &host, moe::ExpertOp op,
                                   const LayoutBuffers &here, int64_t tileRows, Value gathered);

  /// In the first product: the rows that it reads, and the records of its phase, each behind the flags of its rows, or
  /// behind what brings them to where it reads them.
  Value rowsOfUp(KernelBuilder &b);
  TileWalk walkUp(KernelBuilder &b, Value weight);
  /// In the second one: all records for the column blocks of its phase; each tile counts.
  TileWalk walkDown(KernelBuilder &b, Value weight);

  /// Makes a group of the first product and what sends its rows.
  void sendUnder(LaunchOp up, ConversionPatternRewriter &rewriter);
  /// Makes a group of the second product, whose result is `rows`, and what returns the sums.
  void returnUnder(LaunchOp down, Value rows, ConversionPatternRewriter &rewriter);

private:
  Overlap(GraphLowering &lowering, moe::OverlapChain chain, const LayoutBuffers &here)
      : lowering(lowering), chain(chain), here(here), schedule(chain.expert.getScheduleAttr()) {}

  void allocate(OpBuilder &host, int64_t tileRows);
  void emitOrder(OpBuilder &host, int64_t tileRows);
  LaunchOp emitSend(OpBuilder &host);
  LaunchOp emitGather(OpBuilder &host);
  LaunchOp emitReturn(OpBuilder &host, Value rows, Value pieces);
  void join(ArrayRef<LaunchOp> members, ConversionPatternRewriter &rewriter);
  /// `member` runs beside a product in so many blocks, if the schedule says it (not 0).
  void setBlocks(LaunchOp member, int64_t blocks);
  /// In a kernel of the first product's phases: the rows that came, the records of its phase, and before each the flags
  /// of its rows.
  Value receivedRows(KernelBuilder &b);
  TileWalk recordsOfPhase(KernelBuilder &b, Value phase);
  void awaitRows(KernelBuilder &b, TileWalk &walk);
  /// In a kernel: rows [begin, end) of a chunk, of `count` rows.
  std::pair<Value, Value> rowsOfChunk(KernelBuilder &b, Value chunk, Value count);
  int64_t phases() { return schedule.getPhases().size(); }
  int64_t slices() { return schedule.getSliceCount(); }
  int64_t experts() { return chain.here.getLayout().getType().getExperts(); }
  Location loc() { return chain.expert.getLoc(); }

  GraphLowering &lowering;
  moe::OverlapChain chain;
  LayoutBuffers here;
  moe::ScheduleAttr schedule;
  std::shared_ptr<RowExchange> exchange;
  Value came;                   ///< window of flags: one for each chunk of each source
  int64_t pieceRows = 0;        ///< of a record at most; 0: as many as there are
  OpFoldResult mostRecords;     ///< of a phase
  Value records, counts;        ///< [phases * mostRecords, 5], [phases]: those of a phase stand together
  Value done;                   ///< [slices]: tiles of the second product
  Value gathered, ready;        ///< rows of the first product, and [phases] records whose rows are there; or null
};

/// Cuts the rows that a rank can send into chunks, as the schedule says.
void cutIntoChunks(OpBuilder &host, Location loc, RowExchange &exchange, moe::ScheduleAttr schedule);
/// What returns while the experts of `op` work, if their schedule overlaps; null otherwise.
Value sumsOnTheirWay(GraphLowering &lowering, OpBuilder &host, moe::CombineOp op);
/// Launches the wait for those sums.
void emitAwaitSums(GraphLowering &lowering, OpBuilder &host, moe::AllToAllOp back);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_OVERLAP_H
