// An order renumbers the pairs; the rest of a layer goes by place.
// RUN: moe-opt %s --moe-lower-to-dense | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%{{.*}}, %[[E:.*]]: tensor<?x2xi64>)
// CHECK: %[[PLACES:.*]] = arith.constant dense<[1, 2, 0]> : tensor<3xi32>
// CHECK: linalg.generic {{.*}} ins(%[[E]]
// CHECK: %[[ID:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: %[[INSIDE:.*]] = arith.maxsi %[[ID]], %{{.*}}
// CHECK: %[[I:.*]] = arith.index_cast %[[INSIDE]]
// CHECK: %[[PLACE:.*]] = tensor.extract %[[PLACES]][%[[I]]]
// CHECK: %[[IS:.*]] = arith.cmpi sge, %[[ID]],
// CHECK: %[[RESULT:.*]] = arith.select %[[IS]], %[[PLACE]], %[[ID]]
// CHECK: linalg.yield %[[RESULT]]
func.func @main(%x: tensor<?x4xf32>, %e: tensor<?x2xi64>) -> tensor<?x4xf32> {
  %rows, %layout = moe.dispatch %x, %e num_experts(3) order(<[2, 0, 1]>) : tensor<?x4xf32>, tensor<?x2xi64> -> tensor<?x4xf32>, !moe.layout<3>
  return %rows : tensor<?x4xf32>
}
