// RUN: moe-opt %s --convert-graph-to-kernel --canonicalize | FileCheck %s

// Kernels of a GPU cannot read what lies in the host's memory: small tables are written by a kernel, numbers that are all the same too.
// CHECK-NOT:   memref.get_global
// CHECK-LABEL: func.func @tables
// CHECK:       %[[T:.*]] = memref.alloc() : memref<2x2xf32>
// CHECK:       kernel.launch @numbers_2x2_f32(%[[T]]) single
// CHECK-NOT:   memref.get_global

// So is the order of experts.
// CHECK-LABEL: func.func @order
// CHECK:       kernel.launch @numbers_4_i32(%[[PLACES:.*]]) single
// CHECK:       kernel.launch @own_experts_4_ordered(%{{.*}}, %{{.*}}, %[[PLACES]])
// CHECK-NOT:   memref.get_global
// CHECK:     kernel.func @numbers_2x2_f32(%[[TO:.*]]: memref<2x2xf32>)
// CHECK-DAG:   %[[THREE:.*]] = arith.constant 3.000000e+00 : f32
// CHECK:       memref.store %[[THREE]], %[[TO]][%c1, %c0]
#order = #moe.order<[2, 0, 3, 1]>
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  func.func @tables(%x: tensor<?x8xf32>) -> (tensor<2x2xf32>, tensor<?x8xf32>) {
    %t = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %ones = arith.constant dense<1.0> : tensor<8xf32>
    %n = nn.rms_norm %x, %ones eps(1.0e-5) : tensor<?x8xf32>, tensor<8xf32>
    return %t, %n : tensor<2x2xf32>, tensor<?x8xf32>
  }

  func.func @order(%x: tensor<?x8xf32>, %e: tensor<?x2xi32>) -> tensor<?x8xf32> {
    %rows, %here = moe.dispatch %x, %e num_experts(4) order(#order) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
    return %rows : tensor<?x8xf32>
  }
}
