// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file | FileCheck %s
// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file -o %t && moe-opt %t --convert-aten-to-linalg --split-input-file | diff %t -

// Operands broadcast from the right; bf16 is computed in f32 and rounded once.
// CHECK-LABEL: func.func @broadcast
// CHECK-DAG: %[[A:.*]] = {{.*}}
// CHECK: linalg.generic
// CHECK: ^bb0(%[[X:.*]]: bf16, %[[Y:.*]]: bf16, %{{.*}}: bf16):
// CHECK: arith.extf %[[X]] : bf16 to f32
// CHECK: arith.extf %[[Y]] : bf16 to f32
// CHECK: arith.mulf %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @broadcast(%x: tensor<?x8x4xbf16>, %y: tensor<8x1xbf16>) -> tensor<?x8x4xbf16> {
  %0 = aten.call "aten.mul.Tensor"(%x, %y) {self = #aten.arg<0>, other = #aten.arg<1>}
      : (tensor<?x8x4xbf16>, tensor<8x1xbf16>) -> tensor<?x8x4xbf16>
  return %0 : tensor<?x8x4xbf16>
}

// -----

// A comparison happens in the operands' type; a number is captured.
// CHECK-LABEL: func.func @compare
// CHECK: arith.constant 3 : i64
// CHECK: linalg.generic
// CHECK: arith.cmpi sle, %{{.*}} : i64
// CHECK: linalg.yield %{{.*}} : i1
func.func @compare(%x: tensor<4xi64>) -> tensor<4xi1> {
  %0 = aten.call "aten.le.Scalar"(%x) {self = #aten.arg<0>, other = 3 : i64} : (tensor<4xi64>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

// CHECK-LABEL: func.func @alpha
// CHECK: %[[Y2:.*]] = arith.mulf %{{.*}} : f32
// CHECK: arith.addf %{{.*}}, %[[Y2]] : f32
func.func @alpha(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.call "aten.add.Tensor"(%x, %y) {self = #aten.arg<0>, other = #aten.arg<1>, alpha = 2 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
