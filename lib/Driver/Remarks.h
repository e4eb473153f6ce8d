//===- Remarks.h - remarks of the passes, printed with -v -----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_REMARKS_H
#define MOE_MLIR_LIB_DRIVER_REMARKS_H

#include "Console.h"

#include "mlir/IR/MLIRContext.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace moe_mlir {

/// Collects remarks, which come from several threads, and prints them in an order that depends on the input alone.
/// Lives longer than the context.
class RemarkLog {
public:
  /// From now on. Without it nobody makes the text of a remark.
  void install(mlir::MLIRContext &context);
  /// What was collected since the last time.
  void flush(Console &console);
  /// Forgets it: the remarks of programs that are only tried.
  void discard() { texts.clear(); }

private:
  friend class RemarkStreamer;
  std::mutex mutex;
  /// By function: one thread works on a function at a time, so that within it they are in order.
  std::map<std::string, std::vector<std::string>> texts;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_REMARKS_H
