//===- Einsum.cpp - equations of aten.einsum ----------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Aten/IR/Einsum.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::aten;

static bool repeatsLetters(StringRef letters) {
  std::string sorted = letters.str();
  llvm::sort(sorted);
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

/// Without an arrow, the letters that stand in the equation once, by the alphabet.
static std::string implicitResult(ArrayRef<std::string> terms) {
  std::string all = llvm::join(terms, ""), result;
  llvm::copy_if(all, std::back_inserter(result), [&](char letter) { return StringRef(all).count(letter) == 1; });
  llvm::sort(result);
  return result;
}

std::optional<Einsum> mlir::aten::parseEinsum(CallOp call, bool &fits) {
  fits = false;
  std::string text = call.getString("equation").value_or("").str();
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  auto [left, right] = StringRef(text).split("->");
  const bool hasArrow = StringRef(text).contains("->"), hasEllipsis = StringRef(text).contains("...");

  Einsum einsum;
  auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument("tensors"));
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (!list || list.empty() || terms.size() != list.size())
    return std::nullopt;
  for (auto [term, element] : llvm::zip_equal(terms, list)) {
    Value operand = call.getOperandOf(element);
    auto type = operand ? dyn_cast<RankedTensorType>(operand.getType()) : RankedTensorType();
    if (!type || (!hasEllipsis && (!llvm::all_of(term, llvm::isAlpha) || int64_t(term.size()) != type.getRank())))
      return std::nullopt;
    einsum.operands.push_back(operand);
    einsum.letters.push_back(term.str());
  }
  if (hasEllipsis) {
    fits = true; // as far as anybody looks
    return std::nullopt;
  }
  einsum.result = hasArrow ? right.str() : implicitResult(einsum.letters);
  const std::string all = llvm::join(einsum.letters, "");
  if (repeatsLetters(einsum.result) ||
      !llvm::all_of(einsum.result, [&](char letter) { return StringRef(all).contains(letter); }))
    return std::nullopt;
  fits = true;
  if (llvm::any_of(einsum.letters, repeatsLetters))
    return std::nullopt;
  return einsum;
}

std::string Einsum::getSummed(size_t i) const {
  auto size = [&](size_t operand, char letter) {
    return cast<RankedTensorType>(operands[operand].getType()).getDimSize(letters[operand].find(letter));
  };
  const bool isAlone = operands.size() == 1;
  std::string summed;
  llvm::copy_if(letters[i], std::back_inserter(summed), [&](char letter) {
    if (StringRef(result).contains(letter))
      return false;
    const bool meetsSeveral =
        !isAlone && StringRef(letters[1 - i]).contains(letter) && size(1 - i, letter) != 1;
    return isAlone || (size(i, letter) != 1 && !meetsSeveral);
  });
  return summed;
}
