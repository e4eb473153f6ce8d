// RUN: moe-opt %s --convert-host-to-moert --canonicalize --cse | FileCheck %s

// The host of a GPU cannot read moert_peers, which are in the GPU's memory: the runtime says where the own part is.
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  shard.grid @ep(shape = 2)

  kernel.func @use(%rows: !kernel.window<?x64xbf16>, %own: memref<?x64xbf16>, %y: memref<?x64xbf16>) {
    kernel.return
  }

  // CHECK-LABEL: llvm.func @moe_run
  // CHECK-SAME: (%[[CTX:.*]]: !llvm.ptr)
  // CHECK-DAG: %[[AT:.*]] = llvm.mlir.constant(64 : {{.*}}) : i64
  // CHECK: %[[PEERS:.*]] = moert.windows %[[CTX]], 0, %{{.*}}
  // CHECK: %[[OWN:.*]] = moert.part %[[CTX]], %[[PEERS]], %[[AT]]
  // CHECK-NOT: llvm.load
  // CHECK: moert.launch %[[CTX]], @use(%[[PEERS]], %[[AT]], %{{.*}}, %[[OWN]],
  // CHECK-NOT: llvm.load
  // CHECK: llvm.return
  func.func @main(%x: memref<?x64xbf16> {moe.name = "x", moe.dims = ["tokens", ""], moe.split = @ep})
      -> (memref<?x64xbf16> {moe.name = "y", moe.dims = ["tokens", ""], moe.split = @ep}) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %t = memref.dim %x, %c0 : memref<?x64xbf16>
    %bytes = arith.muli %t, %c64 : index
    %peers = kernel.windows %bytes on @ep : !kernel.peers
    %rows = kernel.window_at %peers[%c64](%t) : !kernel.window<?x64xbf16>
    %own = kernel.part %rows : !kernel.window<?x64xbf16> -> memref<?x64xbf16>
    %y = memref.alloc(%t) : memref<?x64xbf16>
    kernel.launch @use(%rows, %own, %y) rows(%t) work(%t) : !kernel.window<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
    return %y : memref<?x64xbf16>
  }
}
