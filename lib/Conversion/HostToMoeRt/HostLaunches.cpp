//===- HostLaunches.cpp - launches to calls of the runtime --------------------------------------------------------===//
//
// What a launch takes becomes 8-byte slots, which are computed in front of it; in front of the group if it is in one.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "HostPatterns.h"

#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"

using namespace mlir;
using namespace mlir::moert;

namespace {

/// A launch, or several: what both patterns do with each.
template <typename Op> struct LaunchPattern : ConvertOpToLLVMPattern<Op> {
  LaunchPattern(const LLVMTypeConverter &converter, HostState &state)
      : ConvertOpToLLVMPattern<Op>(converter), state(state) {}

protected:
  struct Lowered {
    SmallVector<Value> slots;
    Value blocks, rows, work;
  };

  Lowered lower(kernel::LaunchOp op, ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    const LLVMTypeConverter &converter = *this->getTypeConverter();
    Type i64 = rewriter.getI64Type();
    Lowered lowered;
    for (Value original : op.getOperands_()) {
      Value value = rewriter.getRemappedValue(original);
      if (auto type = dyn_cast<MemRefType>(original.getType())) {
        MemRefDescriptor descriptor(value);
        lowered.slots.push_back(descriptor.bufferPtr(rewriter, loc, converter, type));
        for (int64_t d = 0; d < type.getRank(); ++d)
          if (type.isDynamicDim(d))
            lowered.slots.push_back(descriptor.size(rewriter, loc, d));
        continue;
      }
      if (isa<kernel::WindowType>(original.getType())) {
        llvm::append_range(lowered.slots, unpackWindow(rewriter, loc, value));
        continue;
      }
      if (isa<FloatType>(value.getType())) // a float's bits lie in the low part of its slot
        value = LLVM::BitcastOp::create(rewriter, loc, rewriter.getIntegerType(value.getType().getIntOrFloatBitWidth()),
                                        value);
      if (value.getType() != i64)
        value = LLVM::ZExtOp::create(rewriter, loc, i64, value);
      lowered.slots.push_back(value);
    }
    std::optional<uint64_t> blocks = op.getSingle() ? 1 : op.getBlocks();
    if (blocks)
      lowered.blocks = LLVM::ConstantOp::create(rewriter, loc, i64, rewriter.getI64IntegerAttr(*blocks));
    else
      lowered.blocks = BlocksOp::create(rewriter, loc, i64, state.context);
    lowered.rows = rewriter.getRemappedValue(op.getRows());
    lowered.work = rewriter.getRemappedValue(op.getWork());
    return lowered;
  }

  void create(kernel::LaunchOp op, const Lowered &lowered, OpBuilder &b) const {
    LaunchOp::create(b, op.getLoc(), state.context, op.getKernelAttr(), lowered.slots, lowered.blocks, lowered.rows,
                     lowered.work, op.getPhasesAttr(), op.getLagAttr());
  }

  void createGroup(Location loc, ArrayRef<kernel::LaunchOp> members, ArrayRef<Lowered> lowered, OpBuilder &b) const {
    auto group = LaunchGroupOp::create(b, loc, state.context);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&group.getBody());
    for (auto [member, each] : llvm::zip(members, lowered))
      create(member, each, b);
  }

  /// What is told about a launch behind it.
  LogicalResult report(kernel::LaunchOp op, ConversionPatternRewriter &rewriter) const {
    SmallVector<Value> operands;
    if (failed(rewriter.getRemappedValues(op.getOperands_(), operands)))
      return failure();
    if (Attribute load = op->getAttr("moe.expert_load"))
      if (failed(reportExperts(op, operands, load, rewriter)))
        return failure();
    return reportTraffic(op, operands, *this->getTypeConverter(), state, rewriter);
  }

  LogicalResult reportExperts(kernel::LaunchOp op, ValueRange operands, Attribute attr,
                              ConversionPatternRewriter &rewriter) const {
    auto dict = dyn_cast<DictionaryAttr>(attr);
    auto layer = dict ? dict.getAs<StringAttr>("layer") : StringAttr();
    auto number = dict ? dict.getAs<IntegerAttr>("offsets") : IntegerAttr();
    MemRefType type;
    if (number && number.getInt() >= 0 && number.getInt() < static_cast<int64_t>(op.getOperands_().size()))
      type = dyn_cast<MemRefType>(op.getOperands_()[number.getInt()].getType());
    if (!layer || !type || type.getRank() != 1 || !type.hasStaticShape() || !type.getElementType().isInteger(32) ||
        type.getDimSize(0) < 1)
      return op.emitOpError() << "'moe.expert_load' must be {layer = \"name\", offsets = <number of an operand of type "
                                 "memref<experts + 1 x i32>>}, got "
                              << attr;
    MemRefDescriptor offsets(operands[number.getInt()]);
    ExpertLoadOp::create(rewriter, op.getLoc(), state.context, layer,
                         offsets.bufferPtr(rewriter, op.getLoc(), *this->getTypeConverter(), type),
                         rewriter.getI32IntegerAttr(type.getDimSize(0) - 1));
    return success();
  }

  HostState &state;
};

struct LowerLaunch : LaunchPattern<kernel::LaunchOp> {
  using LaunchPattern::LaunchPattern;

  LogicalResult matchAndRewrite(kernel::LaunchOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    Lowered lowered = lower(op, rewriter);
    if (failed(announceFlags(op, state, rewriter)))
      return failure();
    if (op.getPhases())
      createGroup(op.getLoc(), op, lowered, rewriter);
    else
      create(op, lowered, rewriter);
    if (failed(report(op, rewriter)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerLaunchGroup : LaunchPattern<kernel::LaunchGroupOp> {
  using LaunchPattern::LaunchPattern;

  LogicalResult matchAndRewrite(kernel::LaunchGroupOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto members = llvm::to_vector(op.getMembers());
    auto lowered = llvm::map_to_vector(members, [&](kernel::LaunchOp member) { return lower(member, rewriter); });
    for (kernel::LaunchOp member : members)
      if (failed(announceFlags(member, state, rewriter)))
        return failure();
    createGroup(op.getLoc(), members, lowered, rewriter);
    for (kernel::LaunchOp member : members)
      if (failed(report(member, rewriter)))
        return failure();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void moert::populateLaunchPatterns(const LLVMTypeConverter &converter, HostState &state, RewritePatternSet &patterns) {
  patterns.add<LowerLaunch, LowerLaunchGroup>(converter, state);
}
