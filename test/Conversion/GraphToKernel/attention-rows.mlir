// RUN: moe-opt %s --split-input-file --convert-graph-to-kernel --canonicalize | FileCheck %s

// A query of a head is a unit of work, which walks the keys that it sees in blocks of 64; the largest score and the sum of the weights
// go along, and nothing is packed. Memory for a unit does not grow with the keys.
// CHECK-LABEL: func.func @causal
// CHECK-SAME:    (%[[Q:[^:]*]]: memref<?x?x4x8xf32>, %[[K:[^:]*]]: memref<?x2x200x8xf32>, %[[V:[^:]*]]: memref<?x2x200x12xf32>, %[[P:[^:]*]]: memref<?xi64>)
// CHECK-NOT:   @pack
// CHECK:       memref.alloc(%{{.*}}, %{{.*}}) : memref<?x?x4x64xf32>
// CHECK:       memref.alloc(%{{.*}}, %{{.*}}) : memref<?x?x4x12xf32>
// CHECK:       kernel.launch @attention_rows_4x8x12_group2_f32(%[[Q]], %[[K]], %[[V]],
// CHECK:     kernel.func @attention_rows_4x8x12_group2_f32(
// CHECK-NOT:   kernel.mma
// CHECK:       scf.forall (%{{.*}}, %{{.*}}, %[[HEAD:.*]]) in (%{{.*}}, %{{.*}}, 4) {
// CHECK:         arith.divui %[[HEAD]], %c2
// CHECK:         scf.for %{{.*}} step %c64 iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, f32) {
// CHECK:           scf.for
// CHECK:             scf.for {{.*}} iter_args
// CHECK:           } {kernel.independent}
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             arith.maximumf
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             math.exp
// CHECK:           scf.for
// CHECK:             scf.for {{.*}} iter_args
// CHECK:               math.fma
// CHECK:           } {kernel.independent}
func.func @causal(%q: tensor<?x?x4x8xf32>, %k: tensor<?x2x200x8xf32>, %v: tensor<?x2x200x12xf32>, %p: tensor<?xi64>) -> tensor<?x?x4x12xf32> {
  %y = nn.attention %q, %k, %v positions(%p : tensor<?xi64>) scale(0.25) causal {kernel.by_rows}
      : tensor<?x?x4x8xf32>, tensor<?x2x200x8xf32>, tensor<?x2x200x12xf32> -> tensor<?x?x4x12xf32>
  return %y : tensor<?x?x4x12xf32>
}

// -----

// The host of a GPU cannot read positions: the work that is reported is of all keys.
// CHECK-LABEL: func.func @on_gpu
// CHECK-NOT:   memref.load
// CHECK:       kernel.launch @attention_rows
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  func.func @on_gpu(%q: tensor<?x?x4x8xf32>, %k: tensor<?x2x200x8xf32>, %v: tensor<?x2x200x8xf32>, %p: tensor<?xi64>) -> tensor<?x?x4x8xf32> {
    %y = nn.attention %q, %k, %v positions(%p : tensor<?xi64>) scale(0.25) causal {kernel.by_rows}
        : tensor<?x?x4x8xf32>, tensor<?x2x200x8xf32>, tensor<?x2x200x8xf32> -> tensor<?x?x4x8xf32>
    return %y : tensor<?x?x4x8xf32>
  }
}
