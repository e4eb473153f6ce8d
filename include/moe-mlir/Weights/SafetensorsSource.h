//===- SafetensorsSource.h - weights of a .safetensors file ---------------------------------------------*- C++ -*-===//
//
// The format: the size of the header in 8 bytes (little-endian), the header as JSON
// (`{"name": {"dtype": "BF16", "shape": [8, 64], "data_offsets": [begin, end]}, "__metadata__": {...}}`), and the data.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_WEIGHTS_SAFETENSORSSOURCE_H
#define MOE_MLIR_WEIGHTS_SAFETENSORSSOURCE_H

#include "moe-mlir/Weights/Source.h"

#include <memory>

namespace moe_mlir {

/// Maps a .safetensors file and checks its header: every tensor lies in the file, has as many bytes as its shape says,
/// and shares none with another. Errors are one line that names the file. The file has no checksums: `verify` passes.
llvm::Expected<std::unique_ptr<WeightSource>> openSafetensors(llvm::StringRef path);

/// Opens weights by the suffix of the file's name: `.safetensors`, or any other for a .pt2.
llvm::Expected<std::unique_ptr<WeightSource>> openWeights(llvm::StringRef path);

} // namespace moe_mlir

#endif // MOE_MLIR_WEIGHTS_SAFETENSORSSOURCE_H
