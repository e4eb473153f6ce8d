// RUN: moe-opt %s --graph-fuse-elementwise --split-input-file | FileCheck %s
// RUN: moe-opt %s --graph-fuse-elementwise --split-input-file -o %t && moe-opt %t --graph-fuse-elementwise --split-input-file | diff %t -

#id = affine_map<(i) -> (i)>

// A named op becomes generic and goes into its only consumer.
// CHECK-LABEL: func.func @chain
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: math.exp
// CHECK-NEXT: arith.addf
// CHECK-NOT: linalg.generic
func.func @chain(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%0, %y : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

#id = affine_map<(i) -> (i)>

// Two consumers: computed once, so it stays.
// CHECK-LABEL: func.func @two_readers
// CHECK-COUNT-1: math.exp
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK-NOT: math.exp
func.func @two_readers(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = math.absf %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

#id = affine_map<(i) -> (i)>

// The producer's size is no use of its elements: it is taken from the producer's operand.
// CHECK-LABEL: func.func @size
// CHECK-SAME: %[[X:.*]]: tensor<?xf32>
// CHECK: tensor.dim %[[X]]
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[X]] : tensor<?xf32>)
// CHECK: math.exp
// CHECK: arith.negf
func.func @size(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %n = tensor.dim %0, %c0 : tensor<?xf32>
  %f = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

#row = affine_map<(b, s, h) -> (b, s, h)>

// The output has a constant size that its type does not say: the pass ends, and the result has the sizes of the output.
// CHECK-LABEL: func.func @constant_size
// CHECK: linalg.generic
// CHECK: return %{{.*}} : tensor<?x?x8xf32>
func.func @constant_size(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %e = tensor.empty(%n, %c4) : tensor<?x?x8xf32>
  %0 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x?x8xf32>) outs(%e : tensor<?x?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %a : f32
    linalg.yield %r : f32
  } -> tensor<?x?x8xf32>
  return %0 : tensor<?x?x8xf32>
}

// -----

#id = affine_map<(i) -> (i)>

// The size of a concatenation is a sum at this level, not an affine.apply.
// CHECK-LABEL: func.func @joined
// CHECK: %[[SIZE:.*]] = arith.addi
// CHECK-NOT: affine.apply
// CHECK: tensor.empty(%[[SIZE]])
func.func @joined(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %0 = tensor.concat dim(0) %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %n = tensor.dim %0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.exp ins(%0 : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

#outer = affine_map<(d0, d1, d2) -> (d0, d1)>
#inner = affine_map<(d0, d1, d2) -> (d0, d2)>
#column = affine_map<(d0, d1) -> (d0)>
#both = affine_map<(d0, d1) -> (d0, d1)>

// Only the tensor in the middle says how many columns there are to compare: it stays, or a reduction would have to give it.
// CHECK-LABEL: func.func @rank_of_equal_columns
// CHECK: %[[COLUMNS:.*]] = linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK: %{{[0-9]+}} = linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME: ins(%[[COLUMNS]]
func.func @rank_of_equal_columns(%x: tensor<?xf32>, %n: index) -> tensor<?x4xi64> {
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %columns = linalg.generic {indexing_maps = [#column, #both], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<?x4xf32>
  %zero = arith.constant 0 : i64
  %f = tensor.empty(%n) : tensor<?x4xi64>
  %zeros = linalg.fill ins(%zero : i64) outs(%f : tensor<?x4xi64>) -> tensor<?x4xi64>
  %rank = linalg.generic {indexing_maps = [#outer, #inner, #outer], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%columns, %columns : tensor<?x4xf32>, tensor<?x4xf32>) outs(%zeros : tensor<?x4xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64):
    %less = arith.cmpf olt, %b, %a : f32
    %one = arith.extui %less : i1 to i64
    %s = arith.addi %c, %one : i64
    linalg.yield %s : i64
  } -> tensor<?x4xi64>
  return %rank : tensor<?x4xi64>
}
