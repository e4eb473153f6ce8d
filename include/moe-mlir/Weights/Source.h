//===- Source.h - where the numbers of weights come from ------------------------------------------------*- C++ -*-===//
//
// The packer reads weights through this interface, so that it knows nothing of file formats.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_WEIGHTS_SOURCE_H
#define MOE_MLIR_WEIGHTS_SOURCE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include "moert/archive.h"

namespace moe_mlir {

/// A strided tensor in memory, usually a part of a mapped file. Element (i0, i1, ...) stands at
/// `data + (i0 * strides[0] + i1 * strides[1] + ...) * element size`.
struct Blob {
  moert_dtype dtype = MOERT_F32;
  llvm::SmallVector<int64_t, 4> sizes;
  llvm::SmallVector<int64_t, 4> strides; ///< In elements; never negative.
  llvm::ArrayRef<char> data;             ///< From the first element to the end of what may be read.

  /// A row-major tensor.
  static Blob contiguous(moert_dtype dtype, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<char> data);
};

/// A container of named weights. Safe to use from several threads.
class WeightSource {
public:
  virtual ~WeightSource() = default;
  /// The file's name, for messages.
  virtual llvm::StringRef name() const = 0;
  /// Says which weights these are: equal for files with equal content.
  virtual std::string contentId() const = 0;
  /// The tensor of that name, or an error that names it and says what is wrong with it.
  virtual llvm::Expected<Blob> find(llvm::StringRef key) const = 0;
  /// Reads the tensor's data and compares it with the checksum that the file has of it.
  virtual llvm::Error verify(llvm::StringRef key) const = 0;
};

} // namespace moe_mlir

#endif // MOE_MLIR_WEIGHTS_SOURCE_H
