//===- Metadata.h - extra/moe_mlir.json -----------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_METADATA_H
#define MOE_MLIR_LIB_IMPORT_PT2_METADATA_H

#include "moe-mlir/Import/Pt2.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

namespace moe_mlir::pt2 {

/// What the exporter says about the roles of the graph's values. Every field may be absent.
struct Metadata {
  std::string model;
  std::string tokens, position, keep, logits;
  llvm::StringSet<> states;
  std::vector<std::string> experts; // results with what each MoE layer chose
  int64_t cacheLength = 0;
  std::string vocabulary;
  int64_t vocabSize = 0;
  llvm::SmallVector<int64_t> eos;
  bool present = false;

  /// The module's `moe.generation`: the fields that are present, under their own names.
  mlir::DictionaryAttr getGeneration(mlir::MLIRContext *context) const;
};

/// Reads `extra/moe_mlir.json`; an archive without it gives empty metadata.
llvm::Expected<Metadata> readMetadata(const Pt2Archive &archive);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_METADATA_H
