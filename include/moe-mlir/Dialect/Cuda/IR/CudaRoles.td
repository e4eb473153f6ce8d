//===- CudaRoles.td - what the warps of a block do ----------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDAROLES
#define MOE_MLIR_DIALECT_CUDA_IR_CUDAROLES

def Cuda_WarpRolesOp : Cuda_Op<"warp_roles", [NoTerminator, NoRegionArguments, SingleBlock]> {
  let summary = "Divides the warps of a block among roles";
  let description = [{
    Holds `cuda.role` ops and nothing else. The warps of the block are those of the roles, in their order. A kernel has
    at most one `cuda.warp_roles`, at its top level.

    The verifier follows the ring (`cuda.ring`) through the roles: a stage that is waited for is filled by another role
    and released, a stage that is acquired is announced, and the arrivals of a round are as many as its barriers expect.

    ```mlir
    kernel.func @nothing() {
      %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 32768>
      cuda.warp_roles {
        cuda.role @load warps(4) registers(56) {
          %stage = cuda.acquire %ring : <stages = 4, bytes = 32768>
          cuda.arrive %ring : <stages = 4, bytes = 32768>
          cuda.advance %ring : <stages = 4, bytes = 32768>
        }
        cuda.role @multiply warps(8) registers(224) {
          %stage = cuda.await %ring : <stages = 4, bytes = 32768>
          cuda.release %ring back(0) : <stages = 4, bytes = 32768>
          cuda.advance %ring : <stages = 4, bytes = 32768>
        }
      }
      kernel.return
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<Body>($body) attr-dict";
  let hasRegionVerifier = 1;
}

def Cuda_RoleOp : Cuda_Op<"role", [NoTerminator, NoRegionArguments, SingleBlock, HasParent<"WarpRolesOp">]> {
  let summary = "What some warps of a block do";
  let description = [{
    `registers` of a thread: the warps give back what the launch gave them beyond that, or wait until there are enough.
    They are given by warpgroups, hence `warps` is a multiple of 4.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$warps, I64Attr:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `warps` `(` $warps `)` `registers` `(` $registers `)` custom<Body>($body) attr-dict";
  let hasVerifier = 1;
}

def Cuda_TensorMapOp : Cuda_Op<"tensor_map", [Pure]> {
  let summary = "The map by which bulk copies (TMA) move boxes of a matrix";
  let description = [{
    The matrix is an argument of the kernel, taken as rows of its last dimension. A box has `rows` rows of 128 bytes,
    swizzled by that width. Who launches the kernel makes the map: it becomes an argument after the others, in the
    order of these ops.

    ```mlir
    kernel.func @nothing(%w: memref<2x2x128x64xbf16>) {
      %map = cuda.tensor_map %w rows(64) : memref<2x2x128x64xbf16>
      kernel.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$matrix, I64Attr:$rows);
  let results = (outs Cuda_TensorMapType:$map);
  let assemblyFormat = "$matrix `rows` `(` $rows `)` attr-dict `:` type($matrix)";
  let hasVerifier = 1;
}

def Cuda_RowOp : Cuda_Op<"row", [Pure]> {
  let summary = "A row of a matrix";
  let description = [{
    ```mlir
    %r = cuda.row %x[%i] : memref<?x96xbf16> -> memref<96xbf16>
    ```
  }];
  let arguments = (ins MemRefRankOf<[AnyType], [2]>:$matrix, Index:$row);
  let results = (outs MemRefRankOf<[AnyType], [1]>:$result);
  let assemblyFormat = "$matrix `[` $row `]` attr-dict `:` type($matrix) `->` type($result)";
}

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDAROLES
