//===- Passes.td - block programs to LLVM -------------------------------------------------------------------------===//
#ifndef MOE_MLIR_CONVERSION_KERNELTOLLVM_PASSES
#define MOE_MLIR_CONVERSION_KERNELTOLLVM_PASSES

include "mlir/Pass/PassBase.td"

def KernelSplitOddK : Pass<"kernel-split-odd-k", "::mlir::kernel::FuncOp"> {
  let summary = "Split K loops over pairs so that the main loop never meets half a pair";
  let description = [{
    A `kernel.mma` with a `b` in pairs takes two elements of `a` per step; with an odd number of columns of `a`, the
    last step may take only one. A loop that steps over such products by two is split: in the main loop each step has both
    elements (its products are marked `inbounds`), what remains is a loop of at most one step that tests. Products
    whose `a` has an even, static number of columns are marked without a split.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def KernelChunkDepth : Pass<"kernel-chunk-depth", "::mlir::kernel::FuncOp"> {
  let summary = "Pass a chunk of K through all tiles of rows before the next chunk";
  let description = [{
    A loop over row tiles whose body is one product and its epilogue reads a column block of weights once per tile. If the
    block has more than 256 KiB, tiles of up to 384 rows take turns with a chunk of K, with their sums in memory of the
    function between the chunks (`kernel.load_tile`); the epilogue follows in a loop of its own. A chunk has 64 KiB of
    weights, or 256 KiB for matrix registers; a single tile of vector registers takes all of K at once, decided at run
    time. Each sum is added up in the same order as without
    chunks. Row tiles that pass the column block in strips (on AVX2) stay as they are. Runs before
    kernel-lower-matrix-tiles.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def KernelPrefetchWeights : Pass<"kernel-prefetch-weights", "::mlir::kernel::FuncOp"> {
  let summary = "Fetch the next column block of an expert's weights while this one is computed";
  let description = [{
    In an `scf.forall` with `kernel.columns_inside`, the row tiles after the first get a copy that also asks for the next
    chunk of K, or behind the last one the next column block (`memref.prefetch` into the second-level cache, one line per
    step of K, or in every second or fourth step where there are tiles enough) until all of it was asked for.
    For a target with `stream_ahead` and weights of static shape, a copy for the first row tile asks for the lines of its
    own column block that many bytes ahead, into the second-level cache, and the others half as far ahead, into the
    first-level cache; otherwise they do not. Row tiles that pass the column block in strips (on AVX2) stay as they are.
    Runs before kernel-specialize-row-tiles.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def KernelLowerMatrixTiles : Pass<"kernel-lower-matrix-tiles", "::mlir::kernel::FuncOp"> {
  let summary = "Lower row tiles with products of bf16 pairs to matrix registers (AMX)";
  let description = [{
    For a target with `matrix_rows`. In a `kernel.row_tile` whose products all take pairs of bf16 and whose sums only
    epilogues read, a loop over K becomes a loop over 32 elements at a time on AMX's registers, for as many rows as there
    are, without a copy of the program for each number of rows. The sums go through memory of the function, and each
    `kernel.store_tile` becomes a loop over rows. Rows that a map selects are copied 32 elements at a time, one step ahead.
    Each load of a register of weights of static shape asks for its lines three steps later. With
    `kernel.columns_inside`, if a column block serves four tiles or more, those of more than 16 rows share the lines of
    the next chunk of K or column block among them and ask for these too. Sums that wait in memory between chunks
    (kernel-chunk-depth) are loaded from there.
    Other tiles stay as they are, with a warning if they have more rows than vector registers hold.

    The even elements of K are added up and the odd ones beside them over 32 elements, then both to the sum: results
    differ in their last bits from those of vector instructions, but not with the number of rows.
    Runs before kernel-specialize-row-tiles.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def KernelLowerTiles : Pass<"kernel-lower-tiles", "::mlir::kernel::FuncOp"> {
  let summary = "Lower tiles of accumulators to vector registers";
  let description = [{
    A tile of R x C accumulators becomes R * C / V vectors (V: the largest power of two that divides C, at most the
    target's vector width), which stay SSA values through `scf` loops; row indices become R index values, computed
    once. `kernel.mma` becomes loads of C weights, one broadcast per row and a multiply-add per vector, and
    `kernel.store_tile` its region on vectors, with masks only where a tile crosses the last column. Of an `scf.if` in it
    both branches are computed, and each lane selects. A region for which that may not be done (a branch reads memory or
    may divide by 0, or there is a loop) runs element by element, in a loop over what the registers held.
    Runs after kernel-specialize-row-tiles.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect",
                           "::mlir::x86vector::X86VectorDialect"];
}

def KernelOrderProducts : Pass<"kernel-order-products", "::mlir::kernel::FuncOp"> {
  let summary = "Put all multiply-adds of a row behind each other";
  let description = [{
    In a loop whose body multiplies broadcast elements of rows with vectors of weights, each broadcast is moved to the end
    of the body, with the multiply-adds that read it behind it. Two accumulators that share the broadcasts (gate and up)
    then need registers for one of them at a time. Runs after kernel-lower-tiles and cse.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def KernelDistributeBlocks : Pass<"kernel-distribute-blocks", "::mlir::ModuleOp"> {
  let summary = "Turn each kernel into a function of its block number";
  let description = [{
    Two index arguments, block and blocks, are added to each kernel. `scf.forall` becomes a loop over the block's range
    [total * block / blocks, total * (block + 1) / blocks) of the flattened (row-major) index space, and
    `kernel.block_id` becomes the first one. The ranges only depend on the two numbers, and each index runs exactly once
    whatever the number of blocks is: results cannot depend on the number of threads. A kernel with `kernel.phase` gets
    phase * blocks + block as its first number, and takes it apart.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def KernelLowerWindows : Pass<"kernel-lower-windows", "::mlir::ModuleOp"> {
  let summary = "Lower windows of kernels to addresses";
  let description = [{
    A window that a kernel takes becomes the address of `moert_peers`, a byte offset and, if it is dynamic, its number of
    rows. A put becomes a copy of the row's bytes, a signal an atomic store with release order, and an await a call of
    `moert_await`, which kernels may call. Its result is not looked at: after the launch the
    runtime ends a call in which a flag did not come. Where ranks are on several hosts, `moert_stored` is told of what
    was stored for another rank, and `moert_raise` raises flags. Launches must be gone, as in convert-kernel-to-llvm.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def KernelLowerCounters : Pass<"kernel-lower-counters", "::mlir::ModuleOp"> {
  let summary = "Lower counters of arrivals to atomic operations";
  let description = [{
    `kernel.arrive` becomes an atomic addition with release order, and `kernel.await_arrivals` a call of
    `moert_await_arrivals`, whose result is not looked at: after the launch the runtime ends a call in which one was missing.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"];
}

def KernelExpandMath : Pass<"kernel-expand-math"> {
  let summary = "Expand math functions and bf16 arithmetic into what the CPU can do";
  let description = [{
    exp, tanh, erf, log and their like on f32 become polynomials (which vectorise); arithmetic on bf16 is done in f32,
    and conversions to bf16 are integer code unless the target has instructions for them, so that no library call for
    them remains. Conversions of f64 to bf16 and f16 round once. What is left (sin, cos, pow, ...) becomes a call of the C library per element.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def KernelCallLibm : Pass<"kernel-call-libm", "::mlir::ModuleOp"> {
  let summary = "Call the C library for math functions that LLVM has no form of";
  let description = [{
    acosh, asinh, atanh, cbrt, and what kernel-expand-math left of erf, erfc, expm1 and log1p (those on f64): a call per
    element.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def ConvertKernelFuncToLLVM : Pass<"convert-kernel-func-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Give kernels the C signature that the runtime calls";
  let description = [{
    Makes of each kernel (after kernel-distribute-blocks) `llvm.func @name(%args: !llvm.ptr, %block: i64, %blocks: i64)`,
    which unpacks the 8-byte slots of `args` and calls the body, an internal function that is inlined later. The slots
    of a memref are its data pointer, then one i64 per dynamic dimension; of an integer, index, float or address the
    value in the low bits. `llvm.noalias` on a kernel's argument goes to the data pointer: that is why the body is a function.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"];
}

def KernelBf16MemoryToIntegers : Pass<"kernel-bf16-memory-to-integers", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Load and store bf16 as 16-bit integers where the CPU has no bf16 instructions";
  let description = [{
    Does nothing for a target with AVX512-BF16. Elsewhere it keeps LLVM's code generator from promoting bf16 values to
    f32 and rounding them back by a call of `__truncsfbf2`, a function that C libraries lack.
  }];
}

#endif // MOE_MLIR_CONVERSION_KERNELTOLLVM_PASSES
