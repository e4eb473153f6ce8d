// Every form of the ops along a sequence parses back as it is printed.
// RUN: moe-opt %s | FileCheck %s
// RUN: moe-opt %s -o %t && moe-opt %t | diff %t -

// CHECK-LABEL: func.func @convolutions
// CHECK: nn.causal_conv %{{.*}}, %{{.*}} : tensor<?x8x?xf32>, tensor<8x4xf32> -> tensor<?x8x?xf32>
// CHECK: nn.causal_conv %{{.*}}, %{{.*}} bias(%{{.*}} : tensor<8xf32>) silu : tensor<?x8x?xf32>, tensor<8x4xf32> -> tensor<?x8x?xf32>
// CHECK: nn.causal_conv %{{.*}}, %{{.*}} silu : tensor<2x8x3xbf16>, tensor<8x4xf32> -> tensor<2x8x3xbf16>
func.func @convolutions(%x: tensor<?x8x?xf32>, %y: tensor<2x8x3xbf16>, %w: tensor<8x4xf32>, %b: tensor<8xf32>) {
  %0 = nn.causal_conv %x, %w : tensor<?x8x?xf32>, tensor<8x4xf32> -> tensor<?x8x?xf32>
  %1 = nn.causal_conv %x, %w bias(%b : tensor<8xf32>) silu : tensor<?x8x?xf32>, tensor<8x4xf32> -> tensor<?x8x?xf32>
  %2 = nn.causal_conv %y, %w silu : tensor<2x8x3xbf16>, tensor<8x4xf32> -> tensor<2x8x3xbf16>
  return
}

// CHECK-LABEL: func.func @scans
// CHECK: nn.scan %{{.*}}, %{{.*}}, %{{.*}} decay(%{{.*}} : tensor<?x?x4xf32>) state(%{{.*}} : tensor<?x4x8x16xf32>)
// CHECK-SAME: : tensor<?x?x2x8xbf16>, tensor<?x?x2x8xbf16>, tensor<?x?x4x16xbf16> -> tensor<?x?x4x16xbf16>
// CHECK: nn.scan {{.*}} decay(%{{.*}} : tensor<?x?x4x8xf32>) beta(%{{.*}} : tensor<?x?x4xf32>) state(%{{.*}} : tensor<?x4x8x16xf32>) in_place
// CHECK: nn.scan {{.*}} decay(%{{.*}} : tensor<?x?x4x16xf32>) rates(%{{.*}} : tensor<4x8x16xf32>) state(
func.func @scans(%q: tensor<?x?x2x8xbf16>, %v: tensor<?x?x4x16xbf16>, %d: tensor<?x?x4xf32>, %c: tensor<?x?x4x8xf32>, %e: tensor<?x?x4x16xf32>,
                 %r: tensor<4x8x16xf32>, %b: tensor<?x?x4xf32>, %h: tensor<?x4x8x16xf32>) {
  %0, %h0 = nn.scan %q, %q, %v decay(%d : tensor<?x?x4xf32>) state(%h : tensor<?x4x8x16xf32>)
      : tensor<?x?x2x8xbf16>, tensor<?x?x2x8xbf16>, tensor<?x?x4x16xbf16> -> tensor<?x?x4x16xbf16>
  %1, %h1 = nn.scan %q, %q, %v decay(%c : tensor<?x?x4x8xf32>) beta(%b : tensor<?x?x4xf32>) state(%h0 : tensor<?x4x8x16xf32>) in_place
      : tensor<?x?x2x8xbf16>, tensor<?x?x2x8xbf16>, tensor<?x?x4x16xbf16> -> tensor<?x?x4x16xbf16>
  %2, %h2 = nn.scan %q, %q, %v decay(%e : tensor<?x?x4x16xf32>) rates(%r : tensor<4x8x16xf32>) state(%h1 : tensor<?x4x8x16xf32>)
      : tensor<?x?x2x8xbf16>, tensor<?x?x2x8xbf16>, tensor<?x?x4x16xbf16> -> tensor<?x?x4x16xbf16>
  return
}
