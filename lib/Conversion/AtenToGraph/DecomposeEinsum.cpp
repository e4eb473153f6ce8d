//===- DecomposeEinsum.cpp - einsum as a product of matrices ------------------------------------------------------===//
//
// The letters of two operands are those of a batch (in both and in the result), of a contraction (in both, not in the
// result), or free (in one). Operands are brought into the order of a product of matrices, which patterns raise. Before
// patterns look: routers and batched experts are written so.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Decompose.h"

#include "moe-mlir/Dialect/Aten/IR/Einsum.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"

using namespace mlir;
using namespace mlir::aten;

namespace {
/// A tensor, and a letter for each dimension.
struct Term {
  Value value;
  std::string letters;

  RankedTensorType getType() const { return getTensorType(value); }
  bool has(char letter) const { return StringRef(letters).contains(letter); }
  int64_t getSize(char letter) const { return getType().getDimSize(letters.find(letter)); }
};

/// A rewrite of one call.
class EinsumBuilder {
public:
  EinsumBuilder(PatternRewriter &rewriter, Location loc) : rewriter(rewriter), loc(loc) {}

  Attribute number(int64_t value) { return rewriter.getI64IntegerAttr(value); }
  void remove(Term &term, StringRef letters, bool sum);
  void permute(Term &term, StringRef order);
  void unsqueeze(Term &term, size_t place);
  void repeat(Term &term, char letter, int64_t count);
  void join(Term &term, size_t first, size_t count);
  Value split(Value value, ArrayRef<Term> from, StringRef letters);
  Value multiply(Term left, Term right, StringRef result);
  Value contract(Term left, Term right, StringRef batch, StringRef rows, StringRef columns, StringRef summed);

private:
  PatternRewriter &rewriter;
  Location loc;
};
} // namespace

static std::string append(StringRef a, StringRef b, StringRef c = "") { return (a + b + c).str(); }

/// The term without these letters: sums of their elements, or of one element what it is.
void EinsumBuilder::remove(Term &term, StringRef letters, bool sum) {
  if (letters.empty())
    return;
  SmallVector<int64_t> dims, shape;
  std::string left;
  for (auto [dim, letter] : llvm::enumerate(term.letters)) {
    if (letters.contains(letter)) {
      dims.push_back(dim);
      continue;
    }
    left += letter;
    shape.push_back(term.getType().getDimSize(dim));
  }
  SmallVector<NamedArgument> arguments{{"self", term.value}, {"dim", Attribute(rewriter.getI64ArrayAttr(dims))}};
  if (sum)
    arguments.push_back({"keepdim", Attribute(rewriter.getBoolAttr(false))});
  term = {createCall(rewriter, loc, sum ? "aten.sum.dim_IntList" : "aten.squeeze.dims", term.getType().clone(shape),
                     arguments),
          left};
}

/// As one exchange of two dimensions, where it is one: patterns know that form.
void EinsumBuilder::permute(Term &term, StringRef order) {
  SmallVector<int64_t> dims, moved, shape;
  for (auto [dim, letter] : llvm::enumerate(order)) {
    dims.push_back(term.letters.find(letter));
    shape.push_back(term.getSize(letter));
    if (dims.back() != int64_t(dim))
      moved.push_back(dim);
  }
  term.letters = order.str();
  if (moved.size() == 2)
    term.value = createTranspose(rewriter, loc, term.value, moved[0], moved[1]);
  else if (!moved.empty())
    term.value = createCall(rewriter, loc, "aten.permute.default", term.getType().clone(shape),
                            {{"self", term.value}, {"dims", Attribute(rewriter.getI64ArrayAttr(dims))}});
}

/// A new dimension of size 1, which has no letter of the equation.
void EinsumBuilder::unsqueeze(Term &term, size_t place) {
  SmallVector<int64_t> shape(term.getType().getShape());
  shape.insert(shape.begin() + place, 1);
  term.value = createCall(rewriter, loc, "aten.unsqueeze.default", term.getType().clone(shape),
                          {{"self", term.value}, {"dim", number(place)}});
  term.letters.insert(place, 1, '1');
}

/// A new first dimension in which everything is the same.
void EinsumBuilder::repeat(Term &term, char letter, int64_t count) {
  SmallVector<int64_t> shape(term.getType().getShape()), sizes(shape.size() + 1, -1);
  shape.insert(shape.begin(), count);
  sizes.front() = count;
  term.value = createCall(rewriter, loc, "aten.expand.default", term.getType().clone(shape),
                          {{"self", term.value}, {"size", Attribute(rewriter.getI64ArrayAttr(sizes))}});
  term.letters.insert(0, 1, letter);
}

/// As many neighbouring dimensions as one, and none as one of size 1.
void EinsumBuilder::join(Term &term, size_t first, size_t count) {
  if (count == 0)
    return unsqueeze(term, first);
  if (count == 1)
    return;
  SmallVector<int64_t> shape(term.getType().getShape());
  int64_t size = 1;
  for (size_t dim = first; dim < first + count; ++dim)
    size = ShapedType::isDynamic(size) || ShapedType::isDynamic(shape[dim]) ? ShapedType::kDynamic : size * shape[dim];
  shape.erase(shape.begin() + first + 1, shape.begin() + first + count);
  shape[first] = size;
  RankedTensorType type = term.getType().clone(shape);
  // Views of known sizes are what recipes of parameters know.
  if (type.hasStaticShape() && term.getType().hasStaticShape())
    term.value = createCall(rewriter, loc, "aten.view.default", type,
                            {{"self", term.value}, {"size", Attribute(rewriter.getI64ArrayAttr(shape))}});
  else
    term.value =
        createCall(rewriter, loc, "aten.flatten.using_ints", type,
                   {{"self", term.value}, {"start_dim", number(first)}, {"end_dim", number(first + count - 1)}});
  term.letters.replace(first, count, 1, '1');
}

/// A view with a dimension for each of these letters, whose sizes are those in the terms that they come from.
Value EinsumBuilder::split(Value value, ArrayRef<Term> from, StringRef letters) {
  SmallVector<int64_t> shape;
  SizeArguments sizes;
  for (char letter : letters) {
    const Term &term = *llvm::find_if(from, [&](const Term &term) { return term.has(letter); });
    shape.push_back(term.getSize(letter));
    sizes.push_back(number(shape.back()));
    if (ShapedType::isDynamic(shape.back()))
      sizes.back() = createSize(rewriter, loc, term.value, term.letters.find(letter));
  }
  return createWithSizes(rewriter, loc, "aten.view.default", getTensorType(value).clone(shape), value, sizes);
}

/// Without a contraction, products of elements in the order of the result.
Value EinsumBuilder::multiply(Term left, Term right, StringRef result) {
  SmallVector<int64_t> shape;
  for (char letter : result)
    shape.push_back((left.has(letter) ? left : right).getSize(letter));
  for (Term *term : {&left, &right}) {
    std::string own;
    llvm::copy_if(result, std::back_inserter(own), [&](char letter) { return term->has(letter); });
    permute(*term, own);
    // Leading dimensions come by themselves.
    for (size_t dim = own.empty() ? result.size() : result.find(own[0]); dim < result.size(); ++dim)
      if (!StringRef(own).contains(result[dim]))
        unsqueeze(*term, term->letters.size() - llvm::count_if(result.drop_front(dim), [&](char letter) {
                    return StringRef(own).contains(letter);
                  }));
  }
  return createCall(rewriter, loc, "aten.mul.Tensor", left.getType().clone(shape),
                    {{"self", left.value}, {"other", right.value}});
}

/// [batch, rows, columns] as a product of matrices: one for each place of the batch, which needs one dimension of each
/// kind beside it. Of one matrix for all, rows may be what they are.
Value EinsumBuilder::contract(Term left, Term right, StringRef batch, StringRef rows, StringRef columns,
                              StringRef summed) {
  const Term terms[] = {left, right};
  const size_t first = batch.size();
  const bool rowsStay = batch.empty() && !rows.empty();
  permute(left, append(batch, rows, summed));
  join(left, first + rows.size(), summed.size());
  if (!rowsStay)
    join(left, first, rows.size());

  // A matrix that has rows for columns stays as it is, and a transpose behind it says so.
  const bool isTransposed = !columns.empty() && right.letters == append(batch, columns, summed);
  StringRef outer = isTransposed ? columns : summed, inner = isTransposed ? summed : columns;
  permute(right, append(batch, outer, inner));
  join(right, first + outer.size(), inner.size());
  join(right, first, outer.size());
  if (isTransposed)
    right.value = transposeMatrices(rewriter, loc, right.value);

  SmallVector<int64_t> shape(left.getType().getShape());
  shape.back() = right.getType().getShape().back();
  Value result = createCall(rewriter, loc, "aten.matmul.default", left.getType().clone(shape),
                            {{"self", left.value}, {"other", right.value}});
  const bool joined = (!rowsStay && rows.size() != 1) || columns.size() != 1;
  if (!joined)
    return result;
  if ((rowsStay || rows.size() <= 1) && columns.size() <= 1) { // only dimensions of size 1 go
    Term term{result, append(batch, rows.empty() ? "1" : rows, columns.empty() ? "2" : columns)};
    remove(term, append(rows.empty() ? "1" : "", columns.empty() ? "2" : ""), /*sum=*/false);
    return term.value;
  }
  return split(result, terms, append(batch, rows, columns));
}

namespace {
struct DecomposeEinsum : CallPattern {
  DecomposeEinsum(MLIRContext *context) : CallPattern(context, {"aten.einsum"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    bool fits = false;
    std::optional<Einsum> einsum = parseEinsum(call, fits);
    RankedTensorType type = call.getNumResults() == 1 ? getTensorType(call.getResult(0)) : RankedTensorType();
    if (!einsum || !type || einsum->operands.size() > 2 || type.getRank() != int64_t(einsum->result.size()) ||
        type.getElementType().isInteger(1) || isa<ComplexType>(type.getElementType()))
      return failure();
    SmallVector<Term> terms;
    for (auto [operand, letters] : llvm::zip_equal(einsum->operands, einsum->letters)) {
      Value value = operand;
      const Type element = type.getElementType();
      if (getElementTypeOf(operand) != element) {
        if (!element.isInteger(64) || !isa<IntegerType>(getElementTypeOf(operand)))
          return failure();
        value = createCall(rewriter, call.getLoc(), "aten.to.dtype", getTensorType(operand).clone(element),
                           {{"self", operand}, {"dtype", Attribute(TypeAttr::get(element))}});
      }
      terms.push_back({value, letters});
    }

    // One element in place of several is multiplied with each of them, as if the letter stood only there.
    std::string stretched[2], summed[2];
    auto isInResult = [&](char letter) { return StringRef(einsum->result).contains(letter); };
    for (auto [i, term] : llvm::enumerate(terms)) {
      const Term *other = terms.size() == 2 ? &terms[1 - i] : nullptr;
      summed[i] = einsum->getSummed(i);
      for (char letter : term.letters) {
        const int64_t size = term.getSize(letter), otherSize = other && other->has(letter) ? other->getSize(letter) : 1;
        const bool isOwn = !other || !other->has(letter);
        if (other && size == 1 && (isOwn ? !isInResult(letter) : otherSize != 1))
          stretched[i] += letter;
        else if (!isOwn && otherSize != 1 && otherSize != size)
          return failure(); // sizes contradict each other, or one of them is not known
      }
    }
    for (auto [dim, letter] : llvm::enumerate(einsum->result)) {
      auto gives = [&, letter = letter](size_t i) {
        return i < terms.size() && terms[i].has(letter) && !StringRef(stretched[i]).contains(letter);
      };
      if (terms[gives(0) ? 0 : 1].getSize(letter) != type.getDimSize(dim))
        return failure();
    }

    EinsumBuilder builder(rewriter, call.getLoc());
    for (auto [i, term] : llvm::enumerate(terms)) {
      builder.remove(term, stretched[i], /*sum=*/false);
      builder.remove(term, summed[i], /*sum=*/true);
    }
    Term result = terms.front();
    if (terms.size() == 2) {
      auto isConstant = [](const Term &term) { return bool(term.value.getDefiningOp<moe::ParameterOp>()); };
      if (isConstant(terms[0]) && !isConstant(terms[1]))
        std::swap(terms[0], terms[1]);
      // Letters of both in the order of the second, which is the one that may be constant and should stay as it is.
      std::string batch, contracted, rows, columns;
      for (char letter : terms[1].letters)
        (!terms[0].has(letter) ? columns : isInResult(letter) ? batch : contracted) += letter;
      llvm::copy_if(terms[0].letters, std::back_inserter(rows), [&](char letter) { return !terms[1].has(letter); });
      // All rows with each of several constant matrices: a batch of products has a kernel, and one matrix of the columns
      // of all would have to be made anew in each call.
      const bool isStack = isConstant(terms[1]) && terms[1].letters.size() == 3 && terms[1].getType().hasStaticShape();
      if (isStack && batch.empty() && contracted.size() == 1 && columns.size() == 2 &&
          columns[0] == terms[1].letters[0]) {
        builder.repeat(terms[0], columns[0], terms[1].getSize(columns[0]));
        batch = columns[0];
        columns.erase(0, 1);
      }
      if (contracted.empty())
        result = {builder.multiply(terms[0], terms[1], einsum->result), einsum->result};
      else
        result = {builder.contract(terms[0], terms[1], batch, rows, columns, contracted), batch + rows + columns};
    }
    builder.permute(result, einsum->result);
    rewriter.replaceOp(call, result.value);
    return success();
  }
};
} // namespace

void mlir::aten::populateDecomposeEinsumPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeEinsum>(patterns.getContext());
}
