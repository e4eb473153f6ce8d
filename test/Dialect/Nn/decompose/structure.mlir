// RUN: moe-opt %s --nn-decompose --split-input-file | FileCheck %s
// RUN: moe-opt %s --nn-decompose --split-input-file -o %t && moe-opt %t --nn-decompose --split-input-file | diff %t -

// CHECK-LABEL: func.func @silu
// CHECK-SAME: %[[G:.*]]: f32
// CHECK: %[[N:.*]] = arith.negf %[[G]] : f32
// CHECK: %[[E:.*]] = math.exp %[[N]] : f32
// CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK: %[[D:.*]] = arith.addf %[[ONE]], %[[E]] : f32
// CHECK: %[[S:.*]] = arith.divf %[[G]], %[[D]] : f32
// CHECK: return %[[S]]
func.func @silu(%g: f32) -> f32 {
  %s = nn.silu %g : f32
  return %s : f32
}

// -----

// f64 would lose bits in f32, so the op stays.
// CHECK-LABEL: func.func @wide
// CHECK: nn.silu
func.func @wide(%g: f64) -> f64 {
  %s = nn.silu %g : f64
  return %s : f64
}

// -----

// One sum over k in f32, rounded once, after the bias.
// CHECK-LABEL: func.func @linear
// CHECK-NOT: nn.
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME: outs(%{{.*}} : tensor<?x8xf32>)
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK: arith.addf
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to bf16
// CHECK-NOT: nn.
func.func @linear(%x: tensor<?x64xbf16>, %w: tensor<8x64xbf16>, %b: tensor<8xbf16>) -> tensor<?x8xbf16> {
  %y = nn.linear %x, %w bias(%b) : tensor<?x64xbf16>, tensor<8x64xbf16>, tensor<8xbf16> -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}

// -----

// Sizes that only one of the types states.
// CHECK-LABEL: func.func @sizes
// CHECK-NOT: nn.
func.func @sizes(%q: tensor<?x?x?x?xf32>, %c: tensor<?x?x?xf32>, %s: tensor<?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                 %v: tensor<?x2x?x?xf32>) -> tensor<?x?x4x24xf32> {
  // CHECK: arith.constant 8 : index
  %r = nn.rope %q, %c, %s : tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x16xf32>
  // CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2, 3], [4]] output_shape {{.*}} : tensor<?x?x4x?xf32> into tensor<?x?x2x2x?xf32>
  %o = nn.attention %r, %k, %v scale(0.25) causal
      : tensor<?x?x?x?xf32>, tensor<?x?x?x16xf32>, tensor<?x2x?x?xf32> -> tensor<?x?x4x24xf32>
  return %o : tensor<?x?x4x24xf32>
}

// -----

// CHECK-LABEL: func.func @unranked
// CHECK: nn.silu %{{.*}} : tensor<*xf32>
func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = nn.silu %x : tensor<*xf32>
  return %0 : tensor<*xf32>
}
