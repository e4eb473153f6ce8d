//===- Programs.cpp - how a kernel computes -----------------------------------------------------------------------===//

#include "Programs.h"

#include "moe-mlir/Dialect/X86/IR/X86.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace moe_mlir;

bool moe_mlir::computesFloats(kernel::FuncOp kernel) {
  return kernel
      .walk([](Operation *op) {
        bool moves =
            isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp, arith::SelectOp, arith::ConstantOp>(
                op);
        bool floats = llvm::any_of(op->getResultTypes(), [](Type type) { return isa<FloatType>(type); });
        bool computes = isa<kernel::MmaOp>(op) ||
                        (floats && !moves && isa<arith::ArithDialect, math::MathDialect>(op->getDialect()));
        return computes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

KernelProgram moe_mlir::describeProgram(kernel::FuncOp kernel, bool dotBf16, bool matrixBf16) {
  KernelProgram program;
  auto name = [](Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  };
  kernel.walk([&](kernel::MmaOp mma) {
    auto type = cast<kernel::AccType>(mma.getAcc().getType());
    std::pair<int64_t, int64_t> tile(type.getRows(), type.getColumns());
    Type element = cast<MemRefType>(mma.getA().getType()).getElementType();
    program.tile = true;
    if (!llvm::is_contained(program.tiles, tile))
      program.tiles.push_back(tile);
    auto siblings = mma->getBlock()->getOps<kernel::MmaOp>();
    program.accumulators = std::max<unsigned>(program.accumulators, std::distance(siblings.begin(), siblings.end()));
    program.dtype = name(element);
    bool pairs = element.isBF16() && mma.getStep() == 2;
    // As kernel-lower-matrix-tiles decides.
    bool fits = type.getColumns() % 16 == 0 && type.getRows() <= x86::TargetAttr::maxMatrixRows;
    program.instruction = element.isF32()               ? "fma"
                          : pairs && matrixBf16 && fits ? "matrix"
                          : pairs && dotBf16            ? "dot"
                                                        : "widened fma";
  });
  if (program.tile)
    return program;
  kernel.walk([&](memref::StoreOp store) {
    if (isa<BlockArgument>(store.getMemRef()) && program.dtype.empty())
      program.dtype = name(store.getMemRefType().getElementType());
  });
  return program;
}
