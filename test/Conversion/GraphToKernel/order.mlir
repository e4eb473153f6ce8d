// Experts in another order: ids are looked up in one table, and what follows goes by place.
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel | FileCheck %s

#order = #moe.order<[2, 0, 3, 1]>
shard.grid @ep(shape = 2)

// The place of each expert, for all layers of this order.
// CHECK: memref.global "private" constant @[[TABLE:.*]] : memref<4xi32> = dense<[1, 3, 0, 2]>
// CHECK-NOT: memref.global

// CHECK-LABEL: func.func @at
// CHECK: %[[PLACES:.*]] = memref.get_global @[[TABLE]]
// CHECK: kernel.launch @own_experts_2_ordered(%{{.*}}, %[[HERE:.*]], %{{.*}}, %[[PLACES]])
// CHECK: kernel.launch @count_2(%[[HERE]],
func.func @at(%x: tensor<?x8xf32>, %e: tensor<?x2xi32>) -> tensor<?x8xf32> {
  %rows, %here = moe.dispatch %x, %e num_experts(4) order(#order) at @ep : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<2>
  return %rows : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @to
// CHECK: %[[PLACES:.*]] = memref.get_global @[[TABLE]]
// CHECK: kernel.launch @owners_4_ordered(%{{.*}}, %{{.*}}, %[[PLACES]])
func.func @to(%x: tensor<?x8xf32>, %e: tensor<?x2xi32>) -> tensor<?x8xf32> {
  %send, %sent = moe.dispatch %x, %e num_experts(4) order(#order) to @ep : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<2>
  %recv, %got = moe.all_to_all %send, %sent on @ep : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>, !moe.layout<1>
  return %recv : tensor<?x8xf32>
}

// One rank has all of them. What a gate counted goes by expert, so the layout counts again.
// CHECK-LABEL: func.func @alone
// CHECK: kernel.launch @gate
// CHECK-NOT: kernel.launch @layout
// CHECK: kernel.launch @own_experts_4_ordered(%{{.*}}, %[[PLACES:[a-z0-9_]+]], %{{[0-9]+}})
// CHECK: kernel.launch @count_4(%[[PLACES]],
// CHECK: kernel.launch @layout_4(%[[PLACES]],
func.func @alone(%x: tensor<?x8xf32>, %logits: tensor<?x4xf32>) -> tensor<?x8xf32> {
  %w, %e = moe.gate %logits top_k(2) score(softmax) : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(4) order(#order) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
  %y = moe.combine %rows, %layout weights(%w : tensor<?x2xf32>) : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Ids may come from another rank: whatever they are, the table is read inside.
// CHECK-LABEL: kernel.func @own_experts_2_ordered
// CHECK-SAME: %[[OWN:[a-z0-9]+]]: index, %[[TABLE:[a-z0-9]+]]: memref<4xi32>)
// CHECK: %[[ID:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[LOW:.*]] = arith.minsi %[[ID]], %c3
// CHECK: %[[INSIDE:.*]] = arith.maxsi %c0, %[[LOW]]
// CHECK: %[[IS:.*]] = arith.cmpi ult, %[[ID]], %c4
// CHECK: %[[ENTRY:.*]] = memref.load %[[TABLE]][%[[INSIDE]]]
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[ENTRY]]
// CHECK: %[[KNOWN:.*]] = arith.select %[[IS]], %[[PLACE]], %c-1
// CHECK: %[[FIRST:.*]] = arith.muli %[[OWN]], %c2
// CHECK: arith.subi %[[KNOWN]], %[[FIRST]]
