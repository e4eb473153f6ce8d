// RUN: moe-opt --kernel-specialize-warps --canonicalize --cse %S/../../Target/Cuda/product.mlir | FileCheck %s
// A second run finds nothing to do, and the ops go through text.
// RUN: moe-opt --kernel-specialize-warps --canonicalize --cse %S/../../Target/Cuda/product.mlir -o %t && moe-opt --kernel-specialize-warps %t | diff %t -

// The plan is in the ops; the maps are those of the weight and of the rows.
// CHECK:      kernel.func @linear(%[[X:.*]]: memref<?x96xbf16>, %[[W:.*]]: memref<2x2x128x64xbf16>, %[[Y:.*]]: memref<?x168xbf16>) {
// CHECK:        %[[WEIGHT:.*]] = cuda.tensor_map %[[W]] rows(64) : memref<2x2x128x64xbf16>
// CHECK-NEXT:   %[[ROWS:.*]] = cuda.tensor_map %[[X]] rows(128) : memref<?x96xbf16>
// CHECK-NEXT:   %[[RING:.*]] = cuda.ring fills(5) releases(8) : <stages = 4, bytes = 32768>
// CHECK-NEXT:   cuda.warp_roles {

// Tiles of both roles, one by one for each block; a tile of few rows copies them, into a ring full of weights.
// CHECK-NEXT:     cuda.role @load warps(4) registers(56) {
// CHECK:            scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step %{{.*}} : i32 {
// CHECK-NEXT:         cuda.tile_column %[[T]] of
// CHECK:              cuda.tile_row %[[T]] of
// CHECK:              scf.if
// CHECK:                %[[ROW:.*]] = cuda.row %[[X]]
// CHECK:                scf.for %[[K:.*]] = %c0 to %c96 step %c64 {
// CHECK-NEXT:             %[[STAGE:.*]] = cuda.acquire %[[RING]]
// CHECK:                  scf.if
// CHECK-NEXT:               cuda.expect %[[RING]] bytes(16384)
// CHECK-COUNT-2:            cuda.tma_load %[[RING]], %{{.*}}, %[[WEIGHT]][%c0_i32, %{{.*}}]
// CHECK:                  %[[TO:.*]] = cuda.swizzle
// CHECK:                  cuda.copy_async %[[ROW]][%{{.*}}] -> %[[TO]],
// CHECK-NEXT:             cuda.announce %[[RING]] fence(shared)
// CHECK-NEXT:             cuda.advance %[[RING]]
// CHECK-NEXT:           } {unroll = 1 : i64}
// CHECK-NEXT:         } else {
// CHECK-NEXT:           cuda.drain %[[RING]] fence(shared)
// CHECK:                  cuda.expect %[[RING]] bytes(32768)
// CHECK:                  cuda.tma_load %[[RING]], %{{.*}}, %[[ROWS]]
// CHECK:                  cuda.arrive %[[RING]]
// CHECK-NEXT:             cuda.advance %[[RING]]
// CHECK:            cuda.drain %[[RING]] fence(shared)

// CHECK:          cuda.role @multiply warps(8) registers(224) {
// CHECK:                %[[ACC:.*]] = cuda.accumulators : <16>
// CHECK-NEXT:           scf.for %[[K:.*]] = %c0 to %c96 step %c64 {
// CHECK-NEXT:             %[[STAGE:.*]] = cuda.await %[[RING]]
// CHECK:                  %[[LEFT:.*]] = cuda.descriptor
// CHECK-NEXT:             %[[RIGHT:.*]] = cuda.descriptor %[[STAGE]]
// CHECK-NEXT:             %[[LATER:.*]] = arith.cmpi ne, %[[K]], %c0
// CHECK-NEXT:             cuda.wgmma_fence
// CHECK-NEXT:             %[[A:.*]] = cuda.advance_k %[[LEFT]] bytes(0)
// CHECK-NEXT:             %[[B:.*]] = cuda.advance_k %[[RIGHT]] bytes(0)
// CHECK-NEXT:             cuda.wgmma_bf16 %[[ACC]], %[[A]], %[[B]], %[[LATER]] : <16>
// CHECK-COUNT-3:          cuda.wgmma_bf16 %[[ACC]], %{{.*}}, %{{.*}}, %true : <16>
// CHECK-NEXT:             cuda.wgmma_commit
// CHECK-NEXT:             cuda.wgmma_wait pending(1)
// CHECK-NEXT:             scf.if %[[LATER]] {
// CHECK-NEXT:               cuda.release %[[RING]] back(1)
// CHECK-NEXT:             }
// CHECK-NEXT:             cuda.advance %[[RING]]
// CHECK-NEXT:           } {unroll = 1 : i64}
// CHECK-NEXT:           cuda.wgmma_wait pending(0) %[[ACC]] : !cuda.accumulators<16>
// CHECK-NEXT:           cuda.release %[[RING]] back(1)
// CHECK:                scf.for
// CHECK:                  cuda.fragment_row
// CHECK:                  %[[V:.*]] = cuda.get %[[ACC]]
// CHECK-NEXT:             %[[O:.*]] = arith.truncf %[[V]] : f32 to bf16
// CHECK-NEXT:             memref.store %[[O]], %[[Y]]
// CHECK:              } else {
// CHECK:                cuda.store_pair %{{.*}}, %{{.*}} -> %[[Y]][%{{.*}}, %{{.*}}] : memref<?x168xbf16>, bf16, bf16
// CHECK-NOT:  kernel.mma
// CHECK-NOT:  kernel.plan
