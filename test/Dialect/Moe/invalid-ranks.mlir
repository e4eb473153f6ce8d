// Layers that are divided among the ranks of a grid.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @no_grid(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op names no shard.grid: @ep}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

func.func private @ep()

func.func @not_a_grid(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op names no shard.grid: @ep}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = ?)

func.func @unknown_size(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op names a grid whose size is not known: @ep}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 4294967296x4294967296)

func.func @more_ranks_than_can_be_counted(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op names a grid of more ranks than an integer holds: @ep}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 0)

func.func @no_ranks(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op names a grid without ranks: @ep}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @experts_do_not_divide(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op cannot divide 6 experts equally among the 4 ranks of @ep}}
  %r, %l = moe.dispatch %x, %e num_experts(6) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @both(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op goes 'to' @ep 'at' @ep, which must be the second and the first axis of one grid ('moe.axis_of')}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @ep at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @weights_to(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op has weights, which go with the rows of experts; send them along 'with' the exchange}}
  %r, %l = moe.dispatch %x, %e weights(%w : tensor<?x2xf32>) num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @placement_to(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op has a placement, but the exchange takes rows that go 'to' ranks from the tokens}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @ep placement(in_place) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @layout_to(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op goes to the 4 ranks of @ep, but its layout has 8 groups}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @layout_at(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.dispatch' op stands at one of the 4 ranks of @ep, which has 2 of 8 experts, but its layout has 4 groups}}
  %r, %l = moe.dispatch %x, %e num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @rows_to(%x: tensor<3x4xf32>, %e: tensor<3x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op R is 12 in T.W of layout but 6 in rows}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<3x4xf32>, tensor<3x2xi32> -> tensor<6x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @shard_dim(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{dimension that ranks share must not be negative, got -1}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = -1, grid = @ep, ranks = 4>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @shard_too_far() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.shard<dim = 2, grid = @ep, ranks = 4>) names dimension 2 of a tensor of rank 2}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 2, grid = @ep, ranks = 4>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)
shard.grid @etp(shape = 2)

func.func @shard_twice() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.shard<dim = 1, grid = @etp, ranks = 2>) divides a dimension that another step divides}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2>, #moe.shard<dim = 1, grid = @ep, ranks = 4>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @shard_one_grid() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.shard<dim = 1, grid = @ep, ranks = 4>) names a grid that another step names}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 1, grid = @ep, ranks = 4>, #moe.shard<dim = 0, grid = @ep, ranks = 4>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @shard_odd_halves() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.shard<dim = 1, grid = @ep, ranks = 4, halves = true>) gives halves, but 3 elements in dimension 1}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 1, grid = @ep, ranks = 4, halves = true>] : tensor<2x3xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @once_of_one_grid() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.once<grid = @ep, ranks = 4>) names a grid that another step names}}
  %0 = moe.parameter ["w"] recipe [#moe.once<grid = @ep, ranks = 4>, #moe.shard<dim = 0, grid = @ep, ranks = 4>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @once_before_cast() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.once<grid = @ep, ranks = 4>) must be the last step, or stand before others for ranks and #moe.pack}}
  %0 = moe.parameter ["w"] recipe [#moe.once<grid = @ep, ranks = 4>, #moe.cast<f32>] : tensor<2x4xf32>
  return
}

// -----

func.func @once_no_ranks() {
  // expected-error@+1 {{number of ranks must be at least 1, got 0}}
  %0 = moe.parameter ["w"] recipe [#moe.once<grid = @ep, ranks = 0>] : tensor<2x4xf32>
  return
}

// -----

func.func @once_no_grid() {
  // expected-error@+1 {{'moe.parameter' op names no shard.grid: @ep}}
  %0 = moe.parameter ["w"] recipe [#moe.once<grid = @ep, ranks = 2>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @once_ranks() {
  // expected-error@+1 {{'moe.parameter' op divides its result among 2 ranks, but @ep has 4}}
  %0 = moe.parameter ["w"] recipe [#moe.once<grid = @ep, ranks = 2>] : tensor<2x4xf32>
  return
}

// -----

func.func @cut_dim() {
  // expected-error@+1 {{cut dimension must not be negative, got -1}}
  %0 = moe.parameter ["w"] recipe [#moe.cut<dim = -1, parts = 2>] : tensor<2x4xf32>
  return
}

// -----

func.func @cut_parts() {
  // expected-error@+1 {{number of parts must be at least 1, got 0}}
  %0 = moe.parameter ["w"] recipe [#moe.cut<dim = 1, parts = 0>] : tensor<2x4xf32>
  return
}

// -----

func.func @first_parts() {
  // expected-error@+1 {{number of parts must be at least 1, got 0}}
  %0 = moe.parameter ["w"] recipe [#moe.first<parts = 0>] : tensor<2x4xf32>
  return
}

// -----

// What the archive has of ranks is a matter of level runtime.
func.func @first_of_the_archive() {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.first<parts = 2>) is not a recipe step}}
  %0 = moe.parameter ["w"] recipe [#moe.first<parts = 2>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @shard_no_ranks(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{number of ranks must be at least 1, got 0}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 0>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @shard_ranks(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.parameter' op divides its result among 2 ranks, but @ep has 4}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @shard_no_grid(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.parameter' op names no shard.grid: @tp}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @shard_before_cast(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.shard<dim = 0, grid = @ep, ranks = 4>) must be the last step, or stand before others for ranks and #moe.pack}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 4>, #moe.cast<f32>] : tensor<2x4xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @shard_of_a_scalar(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.shard<dim = 0, grid = @ep, ranks = 4>) names dimension 0 of a tensor of rank 0}}
  %0 = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 4>] : tensor<f32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @shard_of_a_stack(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{'moe.parameter' op recipe step 0 (#moe.stack) joins 2 sources to a first dimension of that size}}
  %0 = moe.parameter ["a", "b"] recipe [#moe.stack, #moe.shard<dim = 0, grid = @ep, ranks = 4>] : tensor<2x4xf32>
  return
}
