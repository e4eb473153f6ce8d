// What a model demands of values is asked when it runs; of sizes, that is among the checks of inputs.
// RUN: moe-opt %s --aten-simplify | FileCheck %s
// RUN: moe-opt %s --aten-simplify -o %t && moe-opt %t --aten-simplify | diff %t -

// CHECK-LABEL: func.func @number(
// CHECK:         %[[ITEM:.*]] = aten.call "aten.item.default"
// CHECK:         %[[HOLDS:.*]] = aten.call "_operator.le"(%[[ITEM]])
// CHECK-NEXT:    cf.assert %[[HOLDS]], "at most 4 (aten._assert_scalar.default at model.py:7, node 'check')"{{$}}
// CHECK-NEXT:    return
func.func @number(%n: tensor<i64>) {
  %0 = aten.call "aten.item.default"(%n) {self = #aten.arg<0>} : (tensor<i64>) -> i64
  %1 = aten.call "_operator.le"(%0) {a = #aten.arg<0>, b = 4 : i64} : (i64) -> i1
  aten.call "aten._assert_scalar.default"(%1) {self = #aten.arg<0>, assert_msg = "at most 4"} : (i1) -> () loc("check"("model.py":7:0))
  return
}

// Ranks that have a part of the rows must not answer it.
// CHECK-LABEL: func.func @number_and_size(
// CHECK:         cf.assert %{{.*}}, "an assertion of the model fails (aten._assert_scalar.default)" {moe.of_call}
func.func @number_and_size(%n: tensor<i64>, %x: tensor<?x4xf32>) {
  %0 = aten.call "aten.item.default"(%n) {self = #aten.arg<0>} : (tensor<i64>) -> i64
  %1 = aten.call "aten.sym_size.int"(%x) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  %2 = aten.call "_operator.lt"(%0, %1) {a = #aten.arg<0>, b = #aten.arg<1>} : (i64, i64) -> i1
  aten.call "aten._assert_scalar.default"(%2) {self = #aten.arg<0>, assert_msg = ""} : (i1) -> () loc(unknown)
  return
}

// CHECK-LABEL: func.func @sizes(
// CHECK:         cf.assert %{{.*}}, "four rows (aten._assert_scalar.default at {{.*}})" {moe.of_call}
// CHECK:         cf.assert %false, "never (aten._assert_scalar.default at {{.*}})"{{$}}
// CHECK-NEXT:    return
func.func @sizes(%x: tensor<?x4xf32>) {
  %0 = aten.call "aten.sym_size.int"(%x) {self = #aten.arg<0>, dim = 0 : i64} : (tensor<?x4xf32>) -> i64
  %1 = aten.call "_operator.ge"(%0) {a = #aten.arg<0>, b = 4 : i64} : (i64) -> i1
  aten.call "aten._assert_scalar.default"(%1) {self = #aten.arg<0>, assert_msg = "four rows"} : (i1) -> ()
  aten.call "aten._assert_scalar.default"() {self = false, assert_msg = "never"} : () -> ()
  aten.call "aten._assert_scalar.default"() {self = true, assert_msg = "nothing"} : () -> ()
  aten.call "aten.sym_constrain_range_for_size.default"(%0) {size = #aten.arg<0>} : (i64) -> ()
  return
}

// CHECK-LABEL: func.func @element(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1xf32>
// CHECK:         %[[TRUTH:.*]] = aten.call "aten.ne.Scalar"(%[[X]]) {other = 0 : i64
// CHECK:         %[[HOLDS:.*]] = tensor.extract %[[TRUTH]][%{{.*}}] : tensor<1xi1>
// CHECK:         cf.assert %[[HOLDS]], "not zero
func.func @element(%x: tensor<1xf32>) {
  aten.call "aten._assert_async.msg"(%x) {self = #aten.arg<0>, assert_msg = "not zero"} : (tensor<1xf32>) -> ()
  return
}
