//===- GenerationDescriptor.cpp - what text generation needs, as LLVM globals -------------------------------------===//
//
// The struct mirrors that of moert_model.h field by field.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Descriptor.h"
#include "moe-mlir/Dialect/Moe/IR/Generation.h"

#include "mlir/IR/TypeUtilities.h"

#include "moert/moert_model.h"

using namespace mlir;
using namespace moe_mlir;

/// `shape`: of the value that has this role; dynamic where any size will do. Logits are floating-point, others i64.
static LogicalResult checkRole(ModuleOp module, StringRef role, DictionaryAttr entry, ArrayRef<int64_t> shape,
                               StringRef expected) {
  auto type = cast<MemRefType>(entry.getAs<TypeAttr>("type").getValue());
  bool fits = role == "logits" ? isa<FloatType>(type.getElementType()) : type.getElementType().isInteger(64);
  if (fits && succeeded(verifyCompatibleShape(type.getShape(), shape)) &&
      (ShapedType::isDynamic(shape.back()) || !type.isDynamicDim(shape.size() - 1)))
    return success();
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return emitError(module.getLoc()) << "'moe.generation' names '" << entry.getAs<StringAttr>("name").getValue()
                                    << "' as " << role << ", which is " << text << " instead of " << expected;
}

FailureOr<llvm::Constant *> moe_mlir::makeGeneration(ConstantBuilder &b, ModuleOp module, DictionaryAttr program) {
  auto error = [&](const Twine &message) -> LogicalResult { return emitError(module.getLoc()) << message; };
  auto attr = module->getAttrOfType<DictionaryAttr>(moe::kGenerationAttr);
  if (!attr || !attr.contains("tokens") || !attr.contains("position") || !attr.contains("logits"))
    return b.null();
  auto find = [&](StringRef field, StringRef listName, int32_t &number) -> LogicalResult {
    number = -1;
    auto wanted = attr.getAs<StringAttr>(field);
    if (!wanted)
      return success();
    for (auto [i, entry] : llvm::enumerate(program.getAs<ArrayAttr>(listName)))
      if (cast<DictionaryAttr>(entry).getAs<StringAttr>("name") == wanted)
        number = i;
    if (number < 0)
      return error("'moe.generation' names '" + wanted.getValue() + "' as " + field + ", but no entry of " + listName +
                   " has that name");
    return success();
  };
  int32_t tokens, position, keep, logits;
  if (failed(find("tokens", "inputs", tokens)) || failed(find("position", "inputs", position)) ||
      failed(find("keep", "inputs", keep)) || failed(find("logits", "outputs", logits)))
    return failure();
  if (keep == position)
    return error("'moe.generation' names one input as position and as keep");
  // Generation fills these inputs itself; with others (forced experts, plain caches) the program runs by --input only.
  if (program.getAs<ArrayAttr>("inputs").size() != (keep < 0 ? 2u : 3u))
    return b.null();
  auto integer = [&](StringRef field) {
    auto value = attr.getAs<IntegerAttr>(field);
    return value ? value.getInt() : 0;
  };
  const int64_t vocabSize = integer("vocab_size"), any = ShapedType::kDynamic;
  auto entryOf = [&](StringRef listName, int32_t number) {
    return cast<DictionaryAttr>(program.getAs<ArrayAttr>(listName)[number]);
  };
  for (StringRef field : {"vocab_size", "cache_length"})
    if (integer(field) <= 0)
      return error("'moe.generation' has no " + field + ", without which the program cannot generate text");
  auto facts = [&](StringRef list, int32_t i) { return moe::GenerationValue::ofEntry(entryOf(list, i)); };
  if (std::string why = moe::contradictionOf(attr, facts("inputs", tokens), facts("inputs", position),
                                             facts("outputs", logits));
      !why.empty())
    return error(why);
  if (failed(checkRole(module, "tokens", entryOf("inputs", tokens), {any, any}, "[batch, tokens] of i64")) ||
      failed(checkRole(module, "position", entryOf("inputs", position), any, "[batch] of i64")) ||
      (keep >= 0 && failed(checkRole(module, "keep", entryOf("inputs", keep), any, "[kept tokens] of i64"))) ||
      failed(checkRole(module, "logits", entryOf("outputs", logits), {any, any, vocabSize},
                       ("[batch, tokens, " + Twine(vocabSize) + "] of floating-point numbers").str())))
    return failure();
  auto kind = attr.getAs<StringAttr>("vocabulary");
  const int32_t vocabulary = !kind ? MOERT_VOCAB_NONE : kind == "bytes" ? MOERT_VOCAB_BYTES : MOERT_VOCAB_IDS;
  SmallVector<llvm::Constant *> eos;
  if (auto ids = attr.getAs<ArrayAttr>("eos"))
    for (Attribute id : ids)
      if (auto number = dyn_cast<IntegerAttr>(id))
        eos.push_back(b.int64(number.getInt()));
  return b.global(b.structure({b.int32(tokens), b.int32(position), b.int32(keep), b.int32(logits), b.int32(vocabulary),
                               b.int64(vocabSize), b.int64(integer("cache_length")), b.int32(eos.size()),
                               b.array(eos, "moert.eos")}),
                  "moert.generation");
}
