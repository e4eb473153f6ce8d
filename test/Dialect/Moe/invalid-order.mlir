// Orders of experts.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{an order of 3 experts has each of 0 to 2 once, got 3}}
#beyond = #moe.order<[0, 3, 1]>

// -----

// expected-error@+1 {{an order of 2 experts has each of 0 to 1 once, got -1}}
#below = #moe.order<[0, -1]>

// -----

// expected-error@+1 {{an order of 3 experts has each of them once, got 1 again}}
#twice = #moe.order<[0, 1, 1]>

// -----

func.func @too_few(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op E is 4 in num_experts but 2 in order}}
  %r, %l = moe.dispatch %x, %e num_experts(4) order(<[1, 0]>) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

func.func @other_size() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.order<[2, 0, 1]>) orders 3 entries of dimension 0, but 4 are needed}}
  %0 = moe.parameter ["w"] recipe [#moe.order<[2, 0, 1]>] : tensor<4x8xf32>
  return
}

// -----

shard.grid @ep(shape = 2)

func.func @order_of_a_part() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.order<[1, 0]>) orders 2 entries of dimension 0, but 4 are needed}}
  %0 = moe.parameter ["w"] recipe [#moe.order<[1, 0]>, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<2x8xf32>
  return
}

// -----

shard.grid @ep(shape = 2)

func.func @order_behind_the_part() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.shard<dim = 0, grid = @ep, ranks = 2>) must be the last step, or stand before others for ranks and #moe.pack}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>, #moe.order<[1, 0]>] : tensor<2x8xf32>
  return
}

// -----

func.func @scalar() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.order<[1, 0]>) names dimension 0 of a tensor of rank 0}}
  %0 = moe.parameter ["w"] recipe [#moe.order<[1, 0]>] : tensor<f32>
  return
}
