//===- ExpertOrders.h - which expert stands at which place ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_PIPELINES_EXPERTORDERS_H
#define MOE_MLIR_PIPELINES_EXPERTORDERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace moe_mlir {

/// The orders of the experts of a program's layers, from a JSON file: place p of a layer has expert `order[p]`.
///
///   [0, 3, 1, 2]                                        of all layers
///   {"model.layers.0.mlp": [0, 3, 1, 2], ...}           of layers by name; the others go by number
///   {"physical_to_logical_map": [[0, 3, 1, 2], ...]}    row n: of layer n of the model, as SGLang has it
class ExpertOrders {
public:
  using Order = std::vector<int32_t>;

  /// Null with a message in `error`, one line with the file's name and the place, if the file has none.
  static std::shared_ptr<const ExpertOrders> read(llvm::StringRef path, std::string &error);

  /// The order of a layer; empty if it goes by number. None with a message in `error` if the file's does not fit.
  std::optional<llvm::ArrayRef<int32_t>> of(llvm::StringRef layer, int64_t experts, std::string &error) const;

  /// Whether each layer that the file names is one of `layers`; otherwise a message in `error`.
  bool namesOnly(llvm::ArrayRef<std::string> layers, std::string &error) const;

  /// A warning of what orders nothing: the whole file, or rows behind that of the last of `layers`, which may be those
  /// of dense layers. Empty if there is nothing of it.
  std::string describeUnused(llvm::ArrayRef<std::string> layers) const;

  /// The file's name.
  llvm::StringRef file() const { return path; }

private:
  std::string path;
  Order common;                                      ///< of all layers, if not empty
  std::vector<std::pair<std::string, Order>> named;  ///< by layer
  std::optional<std::vector<Order>> numbered;        ///< by number of the layer
};

} // namespace moe_mlir

#endif // MOE_MLIR_PIPELINES_EXPERTORDERS_H
