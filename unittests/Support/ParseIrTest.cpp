//===- ParseIrTest.cpp - errors that do not stop MLIR's parser ----------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Support/UntrustedIr.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include "gtest/gtest.h"

using namespace mlir;

/// A kernel with a line of its own in its loop.
static std::string kernelWith(const std::string &line) {
  return R"(kernel.func @k(%y: memref<?x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  kernel.row_tile %n max 3 {
    %rows = kernel.row_indices %c0 {
    ^bb0(%i: index):
      kernel.yield %i : index
    } : !kernel.rows<3>
    %zero = kernel.zero : !kernel.acc<3x8xf32>
    %acc = scf.for %k = %c0 to %c1 step %c1 iter_args(%a = %zero) -> (!kernel.acc<3x8xf32>) {
      scf.yield %a : !kernel.acc<3x8xf32>
)" + line +
         R"(
    }
    kernel.store_tile %acc -> %y[%rows, %c0] {
    ^bb0(%r: index, %c: index, %v: f32):
      kernel.yield %v : f32
    } : (!kernel.acc<3x8xf32>), memref<?x8xf32>
  }
  kernel.return
})";
}

namespace {
class ParseIr : public testing::Test {
protected:
  /// Whether the text gives a module; `errors` are those that were said.
  bool parses(const std::string &text) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());
    errors = 0;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &) { ++errors; });
    return bool(moe_mlir::parseIr(sources, &context));
  }

  MLIRContext context{[] {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, kernel::KernelDialect, memref::MemRefDialect, scf::SCFDialect>();
    return registry;
  }()};
  unsigned errors = 0;
};
} // namespace

TEST_F(ParseIr, GivesAModule) {
  EXPECT_TRUE(parses(kernelWith("")));
  EXPECT_EQ(errors, 0u);
}

/// MLIR's parser says it, and goes on in the next line.
TEST_F(ParseIr, GivesNoneBehindAnError) {
  EXPECT_FALSE(parses(kernelWith("     \" scf.yield %a : !kernel.acc<3x8xf32>")));
  EXPECT_GT(errors, 0u);
}
