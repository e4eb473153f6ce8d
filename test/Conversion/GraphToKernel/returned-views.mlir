// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel | FileCheck %s

// A view that may be a part of its buffer, for all that its type says, is copied into the caller's.
// CHECK-LABEL: func.func @reshaped
// CHECK: %[[VIEW:.*]] = memref.reinterpret_cast
// CHECK: %[[RESULT:.*]] = memref.alloc
// CHECK-DAG: %[[FROM:.*]] = memref.collapse_shape %[[VIEW]]
// CHECK-DAG: %[[TO:.*]] = memref.collapse_shape %[[RESULT]]
// CHECK: kernel.launch @copy{{[a-z0-9_]*}}(%[[FROM]], %[[TO]]
// CHECK: return %[[RESULT]]
func.func @reshaped(%x: tensor<?x32xf32>, %m: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %w = moe.parameter ["w"] : tensor<16x32xf32>
  %n = tensor.dim %x, %c0 : tensor<?x32xf32>
  %all = arith.muli %n, %c16 : index
  %k = arith.divui %all, %m : index
  %y = nn.linear %x, %w : tensor<?x32xf32>, tensor<16x32xf32> -> tensor<?x16xf32>
  %shape = tensor.from_elements %m, %k : tensor<2xindex>
  %r = tensor.reshape %y(%shape) : (tensor<?x16xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// All of it is the result's buffer.
// CHECK-LABEL: func.func @collapsed
// CHECK: %[[BUFFER:.*]] = memref.alloc
// CHECK: kernel.launch @linear
// CHECK-NOT: kernel.launch
// CHECK: %[[VIEW:.*]] = memref.collapse_shape %[[BUFFER]]
// CHECK: return %[[VIEW]]
func.func @collapsed(%x: tensor<?x2x32xf32>) -> tensor<?xf32> {
  %w = moe.parameter ["w"] : tensor<16x32xf32>
  %y = nn.linear %x, %w : tensor<?x2x32xf32>, tensor<16x32xf32> -> tensor<?x2x16xf32>
  %r = tensor.collapse_shape %y [[0, 1, 2]] : tensor<?x2x16xf32> into tensor<?xf32>
  return %r : tensor<?xf32>
}
