//===- Passes.td - the host function to calls of the runtime ------------------------------------------------------===//
#ifndef MOE_MLIR_CONVERSION_HOSTTOMOERT_PASSES
#define MOE_MLIR_CONVERSION_HOSTTOMOERT_PASSES

include "mlir/Pass/PassBase.td"

def ConvertHostToMoeRt : Pass<"convert-host-to-moert", "::mlir::ModuleOp"> {
  let summary = "Turn host functions into calls of the runtime";
  let description = [{
    Each `func.func` on memrefs becomes `llvm.func @moe_run_NAME(%context: !llvm.ptr) -> i32`, `@main` becomes `@moe_run`: arguments are inputs, or with
    the unit attribute `moe.state` hidden states; returned allocations become output buffers that kernels fill
    directly; `moe.parameter` becomes an index into the table of parameters; launches pack their operands into slots
    (a memref's data pointer and its dynamic sizes). A launch with `moe.expert_load = {layer = "name", offsets = 3}`
    reports the rows of each expert afterwards; operand 3 is then the memref of offsets (i32, experts + 1 elements).

    A grid (`shard.grid`) becomes an axis of the program, and is erased. Launches pass the address of `moert_peers`, the
    byte offset and the dynamic size of a window. `moe.phase = "rows to experts"` on a launch is said before it, where it
    changes. `moe.traffic = {grid = @ep, offsets = 3, row_bytes = 512, fixed_bytes = 12}` counts afterwards what the launch
    sent: operand 3 is a memref of offsets (i32, ranks + 1 elements) whose differences are the rows for each rank; `rows = 3`
    instead says that operand 3, an index, is the number of rows for every rank. `moe.flags = {each = 8, slices = 2, stride = 1}`
    says before, for errors, what the flags count for which the launch waits: operand 8, an index, is how many each source has, for
    chunks of sums in two slices (0: of rows), and they stand `stride` apart.

    What the runtime must know of the program goes into the new function's attribute `moert.program`:

    - `inputs`, `outputs`, `states`: `{name, type = memref<...>, dims = [symbol numbers of dynamic dimensions]}` and for
      inputs what the arguments' attributes `moe.range`, `moe.range_plus`, `moe.index_of` and `moe.uniform` say (`lo`, `hi`, `symbol`, `index_of`,
      `uniform`), and `moe.dim_ranges` as `dim_ranges`, two numbers for each dimension. Names come from `moe.name`, symbols from `moe.dims`; without them they are made up. `moe.split = [@dp, @ep]`
      becomes `axes = array<i64: 0, 1>`: dimension 0 is divided among the ranks of these axes.
    - `symbols`: the names of the dynamic sizes.

    The module's attribute `moert.parameters` has the parameters of all functions, `{key, sources, recipe, type}` in the order of their
    indices. Equal parameters are one entry; the key is the first source, with a number appended where another recipe uses the same
    source. Of a parameter with `#moe.shard` in its recipe the entry is all of it: without that step if it divides dimension 0, with
    `#moe.cut` instead of it if it divides another one, and `#moe.once` becomes `#moe.first`. `axes = array<i64: 1, 0>` then says
    which axis divides each of its first dimensions (-1: none). `moert.axes` has the axes, `{name, ranks, stride}`: ranks of the job
    that are neighbours on an axis are `stride` apart. A memref with strides is a slice of experts that the archive has whole:
    `slices = array<i64: 1, 4096>` then says that ranks of axis 1 begin 4096 elements apart.

    Functions that are variants of one entry (`moe.variant`) have the same parameters in the archive, of which each takes its own part;
    one that would need another order of a weight is an error. `moert.program` says their `entry` and `variant`, and which axes each
    has (`axes`).

    Runs after kernel-plan-memory; memory that is neither returned nor in the arena is an error.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::moert::MoeRtDialect", "::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::affine::AffineDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // MOE_MLIR_CONVERSION_HOSTTOMOERT_PASSES
