// A fused op has at most `max-ops` scalar ops; what is written for the fusion grows with the number of ops, not with its square.
// RUN: moe-opt %s --graph-fuse-elementwise | FileCheck %s --check-prefix=WHOLE
// RUN: moe-opt %s --pass-pipeline='builtin.module(func.func(graph-fuse-elementwise{max-ops=2},cse))' | FileCheck %s --check-prefix=PAIRS
// RUN: moe-opt %s --pass-pipeline='builtin.module(func.func(graph-fuse-elementwise{max-ops=0}))' | FileCheck %s --check-prefix=NONE

// Each op but the last has two readers: in the end all of it is read by the last one alone.
// WHOLE-LABEL: func.func @two_readers_each
// WHOLE: linalg.generic
// WHOLE: math.exp
// WHOLE-NEXT: math.absf
// WHOLE-NEXT: arith.addf
// WHOLE-NEXT: arith.mulf
// WHOLE-NEXT: arith.subf
// WHOLE-NOT: linalg.generic
// PAIRS-LABEL: func.func @two_readers_each
// PAIRS: linalg.generic
// PAIRS: math.exp
// PAIRS: linalg.generic
// NONE-LABEL: func.func @two_readers_each
// NONE-COUNT-5: linalg.generic
func.func @two_readers_each(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.abs ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %2 = linalg.add ins(%0, %1 : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %3 = linalg.mul ins(%1, %2 : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %4 = linalg.sub ins(%2, %3 : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

// WHOLE-LABEL: func.func @chain
// WHOLE-COUNT-1: linalg.generic
// WHOLE-NOT: linalg.generic
// PAIRS-LABEL: func.func @chain
// PAIRS: linalg.generic
// PAIRS: math.exp
// PAIRS-NEXT: linalg.yield
// PAIRS: linalg.generic
// PAIRS: math.absf
// PAIRS-NEXT: math.tanh
// PAIRS-NEXT: linalg.yield
// PAIRS-NOT: linalg.generic
func.func @chain(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %1 = linalg.abs ins(%0 : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %2 = linalg.tanh ins(%1 : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}
