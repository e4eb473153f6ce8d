//===- ProgramLayer.cpp - a layer of a program as the simulator sees it -------------------------------------------===//

#include "moe-mlir/Simulation/ProgramLayer.h"
#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"
#include "moe-mlir/Dialect/Moe/IR/OverlapChain.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

static int64_t bytesOf(mlir::Type type) {
  return divideCeil(mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth(), 8);
}

Expected<ProgramLayer> sim::layerOf(mlir::moe::ExpertOp op) {
  auto dispatch = op.getLayout().getDefiningOp<mlir::moe::DispatchOp>();
  auto in = cast<mlir::ShapedType>(op.getWIn().getType()), out = cast<mlir::ShapedType>(op.getWOut().getType());
  if (!dispatch || !in.hasStaticShape() || !out.hasStaticShape())
    return createStringError("its routing is not that of a 'moe.dispatch', or its weights have no fixed size");
  auto ids = cast<mlir::ShapedType>(dispatch.getExperts().getType());
  if (ids.isDynamicDim(1))
    return createStringError("the number of experts of a token is not fixed");
  ProgramLayer result;
  Layer &layer = result.layer;
  layer.name = "layer";
  layer.experts = int64_t(dispatch.getNumExperts());
  layer.topK = ids.getDimSize(1);
  layer.hidden = in.getDimSize(2);
  layer.ffn = out.getDimSize(2);
  layer.gated = op.getGated();
  layer.elementBytes = bytesOf(dispatch.getTokens().getType());
  layer.gathered = dispatch.getPlacement() == mlir::moe::Placement::Apart;
  if (auto schedule = op.getScheduleAttr())
    result.schedule = scheduleOf(schedule);
  std::string why;
  if (std::optional<mlir::moe::OverlapChain> chain = mlir::moe::OverlapChain::around(op, why))
    layer.sumBytes = bytesOf(chain->sum.getType());
  mlir::Value tokens = dispatch.getTokens();
  if (auto grid = dispatch.getAtAttr()) {
    auto exchange = tokens.getDefiningOp<mlir::moe::AllToAllOp>();
    if (!exchange)
      return createStringError("it exchanges no tokens: each rank has all of them (tokens=replicated)");
    auto shape = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::shard::GridOp>(op, grid);
    if (!shape)
      return createStringError("its grid is not defined");
    result.ranks = 1;
    for (int64_t size : shape.getShape())
      result.ranks *= size;
    if (auto most = exchange->getAttrOfType<mlir::IntegerAttr>(mlir::kernel::passTokensAttrName))
      result.passTokens = most.getInt();
    if (auto sent = exchange.getRows().getDefiningOp<mlir::moe::DispatchOp>())
      tokens = sent.getTokens();
    // Tokens that came to a node before have come from another exchange.
    if (auto sent = exchange.getDispatch(); sent && sent.getAt()) {
      auto before = tokens.getDefiningOp<mlir::moe::AllToAllOp>();
      if (!before || !before.getDispatch())
        return createStringError("it goes to the ranks of a node, but no exchange brings its tokens there");
      result.nodes = mlir::moe::ranksOf(op, before.getGridAttr());
      tokens = before.getDispatch().getTokens();
    }
  }
  auto type = cast<mlir::ShapedType>(tokens.getType());
  layer.tokens = type.isDynamicDim(0) ? 0 : type.getDimSize(0);
  return result;
}

Error sim::takeNodes(Setup &setup, int64_t nodes) {
  if (nodes == 1)
    return Error::success();
  if (setup.cluster.nodes != nodes)
    return createStringError("its tokens go to " + Twine(nodes) + " nodes first, and the cluster has " +
                             Twine(setup.cluster.nodes) + " of " + Twine(setup.cluster.ranksPerNode) + " ranks");
  setup.nested = true;
  return Error::success();
}

void sim::cutIntoPasses(Setup &setup, int64_t tokens) {
  if (!tokens || setup.layer.tokens <= tokens)
    return;
  setup.passes = divideCeil(setup.layer.tokens, tokens);
  setup.layer.tokens = divideCeil(setup.layer.tokens, setup.passes);
}

Schedule sim::scheduleOf(mlir::moe::ScheduleAttr attribute) {
  Schedule schedule;
  switch (attribute.getKind()) {
  case mlir::moe::ScheduleKind::Plain:
    return schedule;
  case mlir::moe::ScheduleKind::Parts:
    schedule.kind = Schedule::Parts;
    schedule.parts = attribute.getParts();
    return schedule;
  case mlir::moe::ScheduleKind::Overlap:
    break;
  }
  schedule.kind = Schedule::Overlap;
  schedule.chunk = attribute.getChunk();
  schedule.order = attribute.isByPart() ? Schedule::Part : Schedule::Source;
  schedule.steps = attribute.getPhases();
  schedule.piece = attribute.getPiece();
  schedule.send = attribute.getSend();
  schedule.slices = attribute.getSlices();
  schedule.back = attribute.getBack();
  return schedule;
}

mlir::moe::ScheduleAttr sim::attributeOf(mlir::MLIRContext *context, const Schedule &schedule) {
  using namespace mlir::moe;
  switch (schedule.kind) {
  case Schedule::Plain:
    return ScheduleAttr::get(context, ScheduleKind::Plain);
  case Schedule::Parts:
    return ScheduleAttr::get(context, ScheduleKind::Parts, 0, RowOrder::Source, {}, 0, 0, 0, 0, schedule.parts);
  case Schedule::Overlap:
    break;
  }
  return ScheduleAttr::get(context, ScheduleKind::Overlap, schedule.chunk,
                           schedule.order == Schedule::Part ? RowOrder::Part : RowOrder::Source, schedule.steps,
                           schedule.piece, schedule.send, schedule.slices, schedule.back, 0);
}
