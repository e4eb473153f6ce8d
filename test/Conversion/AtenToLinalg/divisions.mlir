// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file | FileCheck %s

// The remainder is exact; where its sign is not the divisor's, it is one divisor off.
// CHECK-LABEL: func.func @remainder
// CHECK: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[REST:.*]] = arith.remf %[[X]], %[[Y]] : f32
// CHECK: %[[DIFFERS:.*]] = arith.xori
// CHECK: %[[TURNED:.*]] = arith.andi {{.*}}%[[DIFFERS]]
// CHECK: %[[MORE:.*]] = arith.addf %[[REST]], %[[Y]]
// CHECK: arith.select %[[TURNED]], %[[MORE]], %[[REST]]
// CHECK-NOT: arith.divf
func.func @remainder(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.call "aten.remainder.Tensor"(%x, %y) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The quotient is made of the remainder, and in f32 for elements of 16 bits.
// CHECK-LABEL: func.func @floor
// CHECK: %[[REST:.*]] = arith.remf %[[X:.*]], %[[Y:.*]] : f32
// CHECK: %[[QUOTIENT:.*]] = arith.divf %[[X]], %[[Y]]
// CHECK: %[[EVEN:.*]] = arith.subf %[[X]], %[[REST]]
// CHECK: arith.divf %[[EVEN]], %[[Y]]
// CHECK: math.floor
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[Y]]
// CHECK: %[[RESULT:.*]] = arith.select %[[NONE]], %[[QUOTIENT]]
// CHECK: arith.truncf %[[RESULT]] : f32 to bf16
func.func @floor(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = aten.call "aten.div.Tensor_mode"(%x, %y) {self = #aten.arg<0>, other = #aten.arg<1>, rounding_mode = "floor"} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}
