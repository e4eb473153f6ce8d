// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

// Keys of 32 bits, one loop that counts for each bit, and one that takes what is above the least key, and of the equal
// ones as many as there is room for.
// CHECK-LABEL: func.func @unordered
// CHECK: kernel.launch @choose_8_f32(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}} : memref<?x512xf32>, memref<?x8xi64>, memref<?x512xi32>
// CHECK-LABEL: kernel.func @choose_8_f32
// CHECK: scf.forall
// CHECK: arith.bitcast %{{.*}} : f32 to i32
// CHECK: scf.for %{{.*}} = %c0 to %c32
// CHECK:   scf.for
// CHECK:     arith.cmpi sge
// CHECK:   arith.shrui
// CHECK: arith.cmpi sgt
// CHECK: scf.for {{.*}} -> (i32, i32)
// CHECK:   scf.if
// CHECK:     memref.store
// CHECK: } {kernel.independent}
// CHECK-NOT: scf.for
func.func @unordered(%x: tensor<?x512xf32>) -> tensor<?x8xi64> {
  %v, %i = nn.top_k %x unordered : tensor<?x512xf32> -> tensor<?x8xf32>, tensor<?x8xi64>
  return %i : tensor<?x8xi64>
}

// -----

// Values alone, in order: those that are chosen count the ones before them.
// CHECK-LABEL: func.func @ordered
// CHECK: kernel.launch @top_8_i64({{.*}}) {{.*}} : memref<?x512xi64>, memref<?x8xi64>, memref<?x512xi64>, memref<?x8xi64>, memref<?x8xi32>
// CHECK-LABEL: kernel.func @top_8_i64
// CHECK-NOT: arith.bitcast
// CHECK: arith.xori %{{.*}}, %c-1_i64
// CHECK: scf.for %{{.*}} = %c0 to %c64
// CHECK: } {kernel.independent}
// CHECK: scf.for
// CHECK:   scf.for
// CHECK:     arith.cmpi ult
// CHECK: } {kernel.independent}
func.func @ordered(%x: tensor<?x512xi64>) -> tensor<?x8xi64> {
  %v, %i = nn.top_k %x ascending : tensor<?x512xi64> -> tensor<?x8xi64>, tensor<?x8xi64>
  return %v : tensor<?x8xi64>
}

// -----

// Rows may be shorter than the count says: what is missing is 0.
// CHECK-LABEL: func.func @counted
// CHECK-LABEL: kernel.func @choose_bf16
// CHECK: arith.minsi
// CHECK: arith.extf
// CHECK: } {kernel.independent}
// CHECK: scf.for
// CHECK:   memref.store %c0_i64
func.func @counted(%x: tensor<?x?xbf16>, %n: index) -> tensor<?x?xi64> {
  %v, %i = nn.top_k %x count(%n) unordered : tensor<?x?xbf16> -> tensor<?x?xbf16>, tensor<?x?xi64>
  return %i : tensor<?x?xi64>
}
