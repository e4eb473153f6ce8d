//===- Generation.cpp - what generates text, and what the program says itself -------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Generation.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using llvm::Twine;

static std::string says(llvm::StringRef field, int64_t value) {
  return ("'moe.generation' says " + field + " = " + Twine(value) + ", but ").str();
}

moe::GenerationValue moe::GenerationValue::of(StringAttr name, Type type, IntegerAttr last) {
  GenerationValue value{name, {}, std::nullopt};
  if (auto shaped = dyn_cast<ShapedType>(type); shaped && shaped.hasRank())
    value.shape = shaped.getShape();
  if (last)
    value.last = last.getInt();
  return value;
}

moe::GenerationValue moe::GenerationValue::ofEntry(DictionaryAttr entry) {
  return of(entry.getAs<StringAttr>("name"), entry.getAs<TypeAttr>("type").getValue(),
            entry.getAs<IntegerAttr>("hi"));
}

std::string moe::contradictionOf(DictionaryAttr generation, const GenerationValue &tokens,
                                 const GenerationValue &position, const GenerationValue &logits) {
  if (auto size = generation.getAs<IntegerAttr>("vocab_size")) {
    if (tokens.last && *tokens.last >= size.getInt())
      return says("vocab_size", size.getInt()) +
             ("the range of '" + tokens.name + "' ends at " + Twine(*tokens.last) + "; it has to end before the size")
                 .str();
    const int64_t scores = logits.shape.empty() ? ShapedType::kDynamic : logits.shape.back();
    if (!ShapedType::isDynamic(scores) && scores != size.getInt())
      return says("vocab_size", size.getInt()) +
             ("'" + logits.name + "' has " + Twine(scores) + " numbers for each token; write that size").str();
  }
  auto length = generation.getAs<IntegerAttr>("cache_length");
  if (!length || !position.last)
    return "";
  // The least number of tokens in a call says which positions there can be at all.
  const int64_t least =
      tokens.shape.size() > 1 && !ShapedType::isDynamic(tokens.shape[1]) ? tokens.shape[1] : 1;
  if (length.getInt() == *position.last + least)
    return "";
  return says("cache_length", length.getInt()) +
         ("the range of '" + position.name + "' ends at " + Twine(*position.last) + ", with room for " +
          Twine(*position.last + least) + " tokens; write one length (caches keep theirs: export again for another)")
             .str();
}

std::string moe::contradictionOfCache(DictionaryAttr generation, llvm::StringRef cache, int64_t positions) {
  auto length = generation.getAs<IntegerAttr>("cache_length");
  if (!length || length.getInt() <= positions)
    return "";
  return says("cache_length", length.getInt()) + ("the cache " + cache + " has room for " + Twine(positions) +
                                                  " tokens; write that length (export again for another)")
                                                     .str();
}
