// RUN: moe-opt %s --graph-widen-experts | FileCheck %s
// RUN: moe-opt %s --graph-widen-experts -o %t && moe-opt %t --graph-widen-experts | diff %t -

// CHECK-LABEL: func.func @combined
// CHECK: } : tensor<?x64xbf16>, !moe.layout<8>, {{.*}} -> tensor<?x64xf32>
// CHECK: moe.combine {{.*}} : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xbf16>
func.func @combined(%x: tensor<?x64xbf16>, %layout: !moe.layout<8>, %w: tensor<8x64x64xbf16>) -> tensor<?x64xbf16> {
  %y = moe.expert %x, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x64x64xbf16>, tensor<8x64x64xbf16> -> tensor<?x64xbf16>
  %r = moe.combine %y, %layout : tensor<?x64xbf16>, !moe.layout<8> -> tensor<?x64xbf16>
  return %r : tensor<?x64xbf16>
}

// The function returns the model's type.
// CHECK-LABEL: func.func @returned
// CHECK: } : tensor<?x64xbf16>, !moe.layout<8>, {{.*}} -> tensor<?x64xbf16>
func.func @returned(%x: tensor<?x64xbf16>, %layout: !moe.layout<8>, %w: tensor<8x64x64xbf16>) -> tensor<?x64xbf16> {
  %y = moe.expert %x, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x64x64xbf16>, tensor<8x64x64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
