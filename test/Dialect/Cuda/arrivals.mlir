// RUN: moe-opt %s | moe-opt | FileCheck %s
// RUN: moe-opt %s --mlir-print-op-generic | moe-opt | FileCheck %s

// Other ways to hand over a stage than those of ops.mlir: one step late, and back to the role that fills it.
// CHECK-LABEL: kernel.func @late
// CHECK:           cuda.announce %{{.*}} fence(shared) : <stages = 4, bytes = 1024>
// CHECK:           cuda.drain %{{.*}} fence(shared) : <stages = 4, bytes = 1024>
// CHECK:           cuda.wgmma_bf16 %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : <64>
// CHECK:           cuda.release %{{.*}} back(0) : <stages = 4, bytes = 1024>
kernel.func @late(%d: i64, %true: i1) {
  %ring = cuda.ring fills(4) releases(4) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      %stage = cuda.acquire %ring : <stages = 4, bytes = 1024>
      cuda.announce %ring fence(shared) : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
      cuda.drain %ring fence(shared) : <stages = 4, bytes = 1024>
    }
    cuda.role @multiply warps(4) registers(224) {
      %acc = cuda.accumulators : <64>
      %stage = cuda.await %ring : <stages = 4, bytes = 1024>
      cuda.wgmma_bf16 %acc, %d, %d, %true : <64>
      cuda.release %ring back(0) : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// Threads or warps that arrive themselves.
// CHECK-LABEL: kernel.func @at_once
// CHECK:           cuda.arrive %{{.*}} : <stages = 4, bytes = 1024>
// CHECK:           cuda.arrive_thread %{{.*}} : <stages = 4, bytes = 1024>
kernel.func @at_once(%first: i1) {
  %ring = cuda.ring fills(4) releases(4) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      %stage = cuda.acquire %ring : <stages = 4, bytes = 1024>
      cuda.arrive %ring : <stages = 4, bytes = 1024>
      scf.if %first {
        cuda.arrive_thread %ring : <stages = 4, bytes = 1024>
      }
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
    cuda.role @read warps(4) registers(56) {
      %stage = cuda.await %ring : <stages = 4, bytes = 1024>
      cuda.release_read %ring fence(shared) : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}
