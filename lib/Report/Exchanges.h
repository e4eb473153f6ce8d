//===- Exchanges.h - what ranks share, and what runs at the same time ------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_REPORT_EXCHANGES_H
#define MOE_MLIR_LIB_REPORT_EXCHANGES_H

#include "HostSizes.h"

#include "moe-mlir/Report/Report.h"

namespace moe_mlir {

/// The windows of one grid.
struct BufferCounts {
  struct Window {
    std::string name, type;
    SizeExpr bytes;
  };
  std::string entry, grid;
  std::vector<Window> windows;
  SizeExpr bytes, published;
};

/// Of a host function. Windows that are the same memory count once, and each begins at a multiple of 64 bytes, as
/// kernel-plan-windows places them.
std::vector<BufferCounts> buffersOf(mlir::func::FuncOp function, HostSizes &sizes, SizeTable &table);

/// Passes of an exchange.
struct PassCounts {
  std::string entry, layer;
  int64_t tokens = 0; ///< of a rank in a pass, at most
  SizeExpr passes;
};

/// The exchanges of a host function that are cut into passes.
std::vector<PassCounts> passesOf(mlir::func::FuncOp function, HostSizes &sizes);

/// The groups of a host function on a GPU of so many multiprocessors.
std::vector<GroupReport> groupsOf(mlir::func::FuncOp function, int64_t multiprocessors);

/// Tables of all of them for people.
void printExchanges(const Report &report, llvm::raw_ostream &os);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_REPORT_EXCHANGES_H
