//===- GenerationContract.cpp - what generates text, and the program ----------------------------------------------===//

#include "GenerationContract.h"

#include "moe-mlir/Dialect/Moe/IR/Generation.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Support/UserFault.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

static std::optional<unsigned> find(StringAttr wanted, unsigned count, function_ref<StringAttr(unsigned)> nameOf) {
  for (unsigned i = 0; wanted && i < count; ++i)
    if (nameOf(i) == wanted)
      return i;
  return std::nullopt;
}

static std::string nameOf(Value value, func::FuncOp func) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto name = argument && argument.getOwner()->getParentOp() == func
                  ? func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "moe.name")
                  : StringAttr();
  return name ? ("'" + name.getValue() + "'").str() : "that is written";
}

/// Text comes from this entry, in each of its variants.
static bool generatesText(func::FuncOp func) {
  moe::VariantAttr variant = moe::variantOf(func);
  return (variant ? variant.getEntry() : func.getName()) == "main";
}

LogicalResult moe_mlir::verifyGeneration(ModuleOp module, StringRef level) {
  auto generation = module->getAttrOfType<DictionaryAttr>(moe::kGenerationAttr);
  if (!generation)
    return success();
  auto refuse = [&](const std::string &why) -> LogicalResult {
    return why.empty() ? success()
                       : LogicalResult(asUserFault(emitError(module.getLoc())) << "level " << level << ": " << why);
  };
  for (auto func : llvm::make_filter_range(module.getOps<func::FuncOp>(), generatesText)) {
    auto inputs = [&](unsigned i) { return func.getArgAttrOfType<StringAttr>(i, "moe.name"); };
    auto outputs = [&](unsigned i) { return func.getResultAttrOfType<StringAttr>(i, "moe.name"); };
    auto role = [&](StringRef field) { return generation.getAs<StringAttr>(field); };
    auto tokens = find(role("tokens"), func.getNumArguments(), inputs);
    auto position = find(role("position"), func.getNumArguments(), inputs);
    auto logits = find(role("logits"), func.getNumResults(), outputs);
    if (!tokens || !position || !logits) // it generates no text, as the layers of a model
      continue;
    auto input = [&](unsigned i) {
      auto range = func.getArgAttrOfType<ArrayAttr>(i, "moe.range");
      return moe::GenerationValue::of(inputs(i), func.getArgumentTypes()[i],
                                      range ? cast<IntegerAttr>(range[1]) : IntegerAttr());
    };
    auto output = moe::GenerationValue::of(outputs(*logits), func.getResultTypes()[*logits], {});
    if (failed(refuse(moe::contradictionOf(generation, input(*tokens), input(*position), output))))
      return failure();
    // A cache whose positions are computed may be one that begins anew where it is full.
    WalkResult walked = func.walk([&](nn::CacheUpdateOp update) {
      const int64_t room = cast<ShapedType>(update.getCache().getType()).getDimSize(2);
      if (update.getPositions() != func.getArgument(*position) || ShapedType::isDynamic(room))
        return WalkResult::advance();
      return WalkResult(refuse(moe::contradictionOfCache(generation, nameOf(update.getCache(), func), room)));
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}
