// RUN: moe-opt %s --convert-aten-to-linalg --split-input-file | FileCheck %s

// Elements are compared by keys, among which NaN is the largest: with comparisons of floats, ranks would be no permutation where a NaN
// is. Zeros of both signs are equal. Numbers of 16 bits are widened, which is exact.
// CHECK-LABEL: func.func @floats
// CHECK-SAME: (%[[INPUT:.*]]: tensor<?x8xbf16>)
// CHECK: %[[KEYS:.*]] = linalg.generic {{.*}} ins(%[[INPUT]] : tensor<?x8xbf16>) outs(%{{.*}} : tensor<?x8xi32>)
// CHECK: %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[LARGEST:.*]] = arith.constant 2147483647 : i32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f32 to i32
// CHECK: %[[TURNED:.*]] = arith.xori %[[BITS]], %[[LARGEST]]
// CHECK-DAG: %[[ZERO:.*]] = arith.cmpf oeq, %[[X]], %{{.*}}
// CHECK-DAG: %[[NOT_NEGATIVE:.*]] = arith.select %[[ZERO]], %{{.*}}, %[[BITS]]
// CHECK-DAG: %[[NEGATIVE:.*]] = arith.cmpf olt, %[[X]], %{{.*}}
// CHECK-DAG: %[[NUMBER:.*]] = arith.select %[[NEGATIVE]], %[[TURNED]], %[[NOT_NEGATIVE]]
// CHECK-DAG: %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: arith.select %[[NAN]], %[[LARGEST]], %[[NUMBER]]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[KEYS]], %[[KEYS]] :
// CHECK-NOT: arith.cmpf
// CHECK-DAG: arith.cmpi sgt
// CHECK-DAG: arith.cmpi eq
// CHECK-DAG: arith.cmpi ult
func.func @floats(%x: tensor<?x8xbf16>) -> tensor<?x8xi64> {
  %0 = aten.call "aten.argsort.stable"(%x) {self = #aten.arg<0>, dim = -1 : i64, descending = true, stable = true} : (tensor<?x8xbf16>) -> tensor<?x8xi64>
  return %0 : tensor<?x8xi64>
}

// -----

// CHECK-LABEL: func.func @doubles
// CHECK: arith.bitcast %{{.*}} : f64 to i64
// CHECK: arith.cmpi slt
func.func @doubles(%x: tensor<?x8xf64>) -> tensor<?x8xi64> {
  %0 = aten.call "aten.argsort.stable"(%x) {self = #aten.arg<0>, dim = -1 : i64, stable = true} : (tensor<?x8xf64>) -> tensor<?x8xi64>
  return %0 : tensor<?x8xi64>
}

// -----

// Integers are their own keys.
// CHECK-LABEL: func.func @integers
// CHECK-NOT: arith.bitcast
// CHECK: arith.cmpi sgt
// CHECK-LABEL: func.func @truth
// CHECK-NOT: arith.bitcast
// CHECK: arith.extui {{.*}} : i1 to i8
// CHECK: arith.cmpi sgt, {{.*}} : i8
func.func @integers(%x: tensor<?x8xi32>) -> tensor<?xi64> {
  %0 = aten.call "aten.argmax.default"(%x) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xi32>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}
func.func @truth(%x: tensor<?x8xi1>) -> (tensor<?xi1>, tensor<?xi64>) {
  %0, %1 = aten.call "aten.max.dim"(%x) {self = #aten.arg<0>, dim = -1 : i64} : (tensor<?x8xi1>) -> (tensor<?xi1>, tensor<?xi64>)
  return %0, %1 : tensor<?xi1>, tensor<?xi64>
}
