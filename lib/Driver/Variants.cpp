//===- Variants.cpp - several ways in which ranks run a program ---------------------------------------------------===//

#include "Compiler.h"

#include "moe-mlir/Pipelines/Variants.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace moe_mlir;

std::string Compiler::variantTexts() const { return join(options.variants, ";"); }

int Compiler::checkVariants() {
  if (options.variants.empty())
    return kOk;
  for (const std::string &variant : options.variants)
    if (StringRef(variant).contains(';')) {
      console.error("--variant='" + variant + "': a variant has no semicolon; give --variant once for each");
      return kUserError;
    }
  if (options.parallel.empty()) {
    console.error("--variant is another way to divide a program among ranks; --parallel says the first one");
    return kUserError;
  }
  if (isAutoParallel(options.parallel)) {
    console.error("--parallel=auto chooses one way to divide the program, --variant adds others; say the first one, "
                  "too");
    return kUserError;
  }
  std::string error;
  context.loadDialect<mlir::moe::MoeDialect>();
  if (parseVariants(&context, options.parallel, variantTexts(), error))
    return kOk;
  console.error("--parallel and --variant: " + error);
  return kUserError;
}

int Compiler::checkVariantTarget() {
  bool hasSome = !options.variants.empty();
  for (auto function : input.module->getOps<mlir::func::FuncOp>())
    hasSome = hasSome || mlir::moe::variantOf(function);
  if (!hasSome || gpu.empty())
    return kOk;
  console.error("variants are for ranks of CPUs in this release, and the target is a GPU");
  return kUnsupported;
}
