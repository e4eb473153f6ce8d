// RUN: moe-opt %s --moe-lower-to-dense --split-input-file --verify-diagnostics

shard.grid @ep(shape = 2)

func.func @to(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  // One error for all that follows.
  // expected-error@+1 {{'moe.dispatch' op exchanges rows between ranks; the dense lowering is for one rank}}
  %s, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  %0, %1 = moe.all_to_all %s, %l on @ep : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 2)

func.func @at(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op is of one of several ranks; the dense lowering is for one rank}}
  %r, %l = moe.dispatch %x, %e num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}
