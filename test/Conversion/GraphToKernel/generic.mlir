// RUN: moe-opt %s --graph-to-kernel --split-input-file | FileCheck %s

// A chain of elementwise ops is one kernel over elements, in chunks. The sum, the four operations of silu and the
// product are its work.
// CHECK-LABEL: func.func @fused
// CHECK: %[[OPERATIONS:.*]] = arith.constant 576 : index
// CHECK: %[[WORK:.*]] = arith.muli %{{.*}}, %[[OPERATIONS]] : index
// CHECK: kernel.launch @fused_96_f32({{.*}} work(%[[WORK]])
// CHECK-NOT: kernel.launch
// CHECK: kernel.func @fused_96_f32
// CHECK: scf.forall
// CHECK: scf.for %[[I:.*]] =
// CHECK: memref.load %{{.*}}[%[[I]]] : memref<?xf32>
// CHECK: math.exp
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]]] : memref<?xf32>
func.func @fused(%a: tensor<?x?x96xf32>, %b: tensor<?x?x96xf32>) -> tensor<?x?x96xf32> {
  %r = arith.addf %a, %b : tensor<?x?x96xf32>
  %s = nn.silu %r : tensor<?x?x96xf32>
  %q = arith.mulf %s, %b : tensor<?x?x96xf32>
  return %q : tensor<?x?x96xf32>
}

// -----

// The fill is the start of the sum, not a kernel.
// CHECK-LABEL: func.func @row_sum
// CHECK-NOT: kernel.launch @fill
// CHECK: kernel.launch @reduce_addf
// CHECK: kernel.func @reduce_addf
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: scf.forall (%[[R:.*]]) in
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %[[ZERO]]) -> (f32)
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc>
func.func @row_sum(%x: tensor<?x64xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.reduce {arith.addf} ins(%x : tensor<?x64xf32>) outs(%f : tensor<?xf32>) dimensions = [1]
  return %s : tensor<?xf32>
}

// -----

// A broadcast operand keeps its own indices; the last dimension is the inner loop.
// CHECK-LABEL: kernel.func @mulf_64_f32
// CHECK: scf.forall (%[[R:.*]]) in
// CHECK: scf.for %[[C:.*]] =
// CHECK: memref.load %{{.*}}[%[[R]], %[[C]]]
// CHECK: memref.load %{{.*}}[%[[C]]]
func.func @broadcast(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<?x64xf32>, tensor<64xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Indices, gathers and scalars from outside.
// CHECK-LABEL: func.func @captures(
// CHECK-SAME: %[[T:.*]]: memref<16xf32>, %[[S:.*]]: index)
// CHECK: kernel.launch @fused_8_f32(%{{.*}}, %[[S]], %[[T]])
// CHECK: kernel.func @fused_8_f32(%{{.*}}: memref<8xf32>, %[[KS:.*]]: index, %[[KT:.*]]: memref<16xf32>)
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[AT:.*]] = arith.addi %[[I]], %[[KS]]
// CHECK: memref.load %[[KT]][%[[AT]]]
func.func @captures(%table: tensor<16xf32>, %shift: index) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %at = arith.addi %i, %shift : index
    %v = tensor.extract %table[%at] : tensor<16xf32>
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}
