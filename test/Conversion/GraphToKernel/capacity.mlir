// RUN: moe-opt %s --split-input-file --convert-graph-to-kernel --canonicalize | FileCheck %s

// The host computes how many rows an expert takes, in f64; kernels get a number.
// CHECK-LABEL: func.func @tutel
// CHECK-DAG:   %[[FACTOR:.*]] = arith.constant 1.250000e+00 : f64
// CHECK-DAG:   %[[LARGEST:.*]] = arith.constant 2147483647 : index
// CHECK-DAG:   %[[LIMIT:.*]] = arith.constant 0x41DFFFFFFFC00000 : f64
// CHECK:       arith.ceildivui %{{.*}}, %c4
// CHECK:       %[[WIDE:.*]] = arith.sitofp
// CHECK:       %[[ROWS:.*]] = arith.mulf %[[WIDE]], %[[FACTOR]] : f64
// CHECK:       %[[LEAST:.*]] = arith.minimumf %[[ROWS]], %[[LIMIT]] : f64
// CHECK:       arith.fptosi %[[LEAST]] : f64 to i64
// CHECK:       %[[ALL:.*]] = arith.muli %{{.*}}, %c2 : index
// CHECK:       %[[C:.*]] = arith.minsi %[[ALL]], %[[LARGEST]] : index
// CHECK:       kernel.launch @capacity_4_top2(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[C]])
// CHECK:     kernel.func @locations_4_top2
// CHECK-NOT:   f64
// CHECK:     kernel.func @capacity_4_top2
// CHECK-NOT:   f64
func.func @tutel(%l: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %w, %e = moe.gate %l top_k(2) score(softmax) capacity(<1.25, tutel>) : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %e : tensor<?x2xi32>
}

// -----

// CHECK-LABEL: func.func @deepspeed
// CHECK:       %[[SHARE:.*]] = arith.divf %{{.*}}, %{{.*}} : f64
// CHECK:       arith.fptosi
// CHECK:       %[[LESS:.*]] = arith.cmpf olt, %{{.*}}, %[[SHARE]] : f64
// CHECK:       arith.select %[[LESS]]
func.func @deepspeed(%l: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %w, %e = moe.gate %l top_k(2) score(softmax) capacity(<1.25, deepspeed>) : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %e : tensor<?x2xi32>
}

// -----

// Of a known number of tokens it is a constant of the kernel: 1.1 * 2 * 7 / 3 = 5.13.
// CHECK-LABEL: func.func @megablocks
// CHECK:     kernel.func @capacity_3_top2
// CHECK:       %[[C:.*]] = arith.constant 5 : index
// CHECK:       arith.cmpi sge, %{{.*}}, %[[C]] : index
func.func @megablocks(%l: tensor<7x3xf32>) -> tensor<7x2xi32> {
  %w, %e = moe.gate %l top_k(2) score(softmax) capacity(<1.1, megablocks>) : tensor<7x3xf32> -> tensor<7x2xf32>, tensor<7x2xi32>
  return %e : tensor<7x2xi32>
}

// -----

// DeepSpeed rounds up; Tutel rounds down what one choice takes: 0.9 * 3 is 2, twice.
// CHECK-LABEL: func.func @constants
// CHECK:     kernel.func @capacity_3_top2(
// CHECK:       %c6 = arith.constant 6 : index
// CHECK:     kernel.func @capacity_3_top2_v2(
// CHECK:       %c4 = arith.constant 4 : index
func.func @constants(%l: tensor<7x3xf32>) -> (tensor<7x2xi32>, tensor<7x2xi32>) {
  %w, %e = moe.gate %l top_k(2) score(softmax) capacity(<1.1, deepspeed>) : tensor<7x3xf32> -> tensor<7x2xf32>, tensor<7x2xi32>
  %v, %d = moe.gate %l top_k(2) score(softmax) capacity(<0.9, tutel>) : tensor<7x3xf32> -> tensor<7x2xf32>, tensor<7x2xi32>
  return %e, %d : tensor<7x2xi32>, tensor<7x2xi32>
}
