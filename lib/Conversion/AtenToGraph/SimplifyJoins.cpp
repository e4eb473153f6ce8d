//===- SimplifyJoins.cpp - cuts and transposes of what was joined, cut or transposed ------------------------------===//

#include "Decompose.h"

using namespace mlir;
using namespace mlir::aten;

static std::optional<int64_t> dimOf(CallOp call) {
  const int64_t rank = getTensorType(call.getResult(0)) ? getTensorType(call.getResult(0)).getRank() : 0;
  return call.getArgument("dim") ? call.getDim("dim", rank) : 0;
}

/// The tensors that a cat of ranked tensors joins, one after the other; none of anything else.
static SmallVector<Value> joinedBy(CallOp cat) {
  SmallVector<Value> pieces;
  auto list = cat ? dyn_cast_or_null<ArrayAttr>(cat.getArgument("tensors")) : ArrayAttr();
  for (Attribute element : list ? list.getValue() : ArrayRef<Attribute>()) {
    Value piece = cat.getOperandOf(element);
    if (!getTensorType(piece) || getTensorType(piece).getRank() != getTensorType(cat.getResult(0)).getRank())
      return {};
    pieces.push_back(piece);
  }
  return pieces;
}

/// What `value` exchanges these two dimensions of; null if it does something else.
static Value exchangedBy(Value value, std::optional<int64_t> first, std::optional<int64_t> second) {
  CallOp call = getDefiningCall(value, {"aten.transpose", "aten.permute"});
  if (!call || !first || !second)
    return {};
  const int64_t rank = getTensorType(value).getRank();
  if (rank < 2)
    return {};
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (call.getBase() == "aten.transpose") {
    std::optional<int64_t> x = call.getDim("dim0", rank), y = call.getDim("dim1", rank);
    const bool isSame = (x == first && y == second) || (x == second && y == first);
    return isSame ? call.getValue("self") : Value();
  }
  std::swap(order[*first], order[*second]);
  std::optional<SmallVector<int64_t>> dims = call.getInts("dims");
  const bool isSame =
      dims && llvm::equal(*dims, order, [&](int64_t given, int64_t dim) { return (given + rank) % rank == dim; });
  return isSame ? call.getValue("self") : Value();
}

/// Where a cut of constant sizes begins in what it cuts.
static std::optional<int64_t> beginOf(CallOp cut, Value piece, int64_t dim) {
  if (cut.getBase() == "aten.slice") {
    std::optional<int64_t> start = cut.getArgument("start") ? cut.getInt("start") : 0;
    const bool isPlain = start && *start >= 0 && (!cut.getArgument("step") || cut.getInt("step") == 1);
    return isPlain ? start : std::nullopt;
  }
  int64_t begin = 0;
  for (Value before : cut.getResults().take_front(cast<OpResult>(piece).getResultNumber())) {
    if (getTensorType(before).isDynamicDim(dim))
      return std::nullopt;
    begin += getTensorType(before).getDimSize(dim);
  }
  return begin;
}

namespace {
/// split(cat(a, b)) at the place where they meet: a and b.
struct CancelSplits : CallPattern {
  CancelSplits(MLIRContext *context) : CallPattern(context, {"aten.split_with_sizes", "aten.split", "aten.chunk"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    CallOp cat = getDefiningCall(call.getValue("self"), {"aten.cat", "aten.concat"});
    SmallVector<Value> pieces = joinedBy(cat);
    if (pieces.empty() || pieces.size() != call.getNumResults() || !dimOf(cat) || dimOf(call) != dimOf(cat))
      return failure();
    for (auto [piece, result] : llvm::zip(pieces, call.getResults()))
      if (piece.getType() != result.getType() || getTensorType(piece).isDynamicDim(*dimOf(cat)))
        return failure();
    rewriter.replaceOp(call, pieces);
    return success();
  }
};

/// transpose(cat(transpose(a), b)), if the transposes are one and do not touch the dimension that is joined:
/// cat(a, transpose(b)), which moves fewer elements.
struct TransposePieces : CallPattern {
  TransposePieces(MLIRContext *context) : CallPattern(context, {"aten.transpose"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    CallOp cat = getDefiningCall(call.getValue("self"), {"aten.cat", "aten.concat"});
    SmallVector<Value> pieces = joinedBy(cat);
    if (pieces.empty() || !cat->hasOneUse())
      return failure();
    const int64_t rank = getTensorType(call.getResult(0)).getRank();
    std::optional<int64_t> first = call.getDim("dim0", rank), second = call.getDim("dim1", rank), joined = dimOf(cat);
    auto sourceOf = [&](Value piece) { return exchangedBy(piece, first, second); };
    if (!first || !second || !joined || joined == first || joined == second || llvm::none_of(pieces, sourceOf))
      return failure();
    SmallVector<Value> turned;
    SmallVector<Attribute> list;
    for (auto [i, piece] : llvm::enumerate(pieces)) {
      Value source = sourceOf(piece);
      turned.push_back(source ? source : createTranspose(rewriter, call.getLoc(), piece, *first, *second));
      list.push_back(ArgAttr::get(rewriter.getContext(), i));
    }
    auto arguments = rewriter.getDictionaryAttr({rewriter.getNamedAttr("dim", rewriter.getI64IntegerAttr(*joined)),
                                                 rewriter.getNamedAttr("tensors", rewriter.getArrayAttr(list))});
    rewriter.replaceOpWithNewOp<CallOp>(call, TypeRange(call.getResult(0).getType()),
                                        rewriter.getStringAttr(cat.getTarget()), turned, arguments);
    return success();
  }
};

/// transpose(slice(transpose(x))), if the transposes are one and do not touch the dimension that is cut: slice(x). The
/// same behind a split, and without a cut.
struct TransposeCuts : CallPattern {
  TransposeCuts(MLIRContext *context) : CallPattern(context, {"aten.transpose"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value piece = call.getValue("self");
    RankedTensorType type = getTensorType(piece);
    std::optional<int64_t> first = call.getDim("dim0", type.getRank()), second = call.getDim("dim1", type.getRank());
    if (Value source = exchangedBy(piece, first, second)) {
      rewriter.replaceOp(call, source);
      return success();
    }
    CallOp cut = getDefiningCall(piece, {"aten.slice", "aten.split_with_sizes", "aten.split", "aten.chunk"});
    std::optional<int64_t> dim = cut ? dimOf(cut) : std::nullopt;
    if (!dim || dim == first || dim == second || type.isDynamicDim(*dim))
      return failure();
    Value source = exchangedBy(cut.getValue("self"), first, second);
    std::optional<int64_t> begin = beginOf(cut, piece, *dim);
    RankedTensorType result = getTensorType(call.getResult(0));
    if (!source || !begin)
      return failure();
    SmallVector<int64_t> shape(getTensorType(source).getShape());
    shape[*dim] = type.getDimSize(*dim);
    if (result.getShape() != ArrayRef(shape))
      return failure();
    rewriter.replaceOp(call, createSlice(rewriter, call.getLoc(), source, *dim, *begin, *begin + shape[*dim]));
    return success();
  }
};
} // namespace

void mlir::aten::populateSimplifyJoinsPatterns(RewritePatternSet &patterns) {
  patterns.add<CancelSplits, TransposePieces, TransposeCuts>(patterns.getContext());
}
