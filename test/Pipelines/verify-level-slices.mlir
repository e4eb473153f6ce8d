// Experts that are cut into slices, and inputs that several grids divide: what one op alone cannot know.
// RUN: moe-opt %s --split-input-file --verify-diagnostics --moe-verify-level=level=spmd

// Slices that belong together, and are added.
shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @slices(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %a = shard.all_reduce %s on @etp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// -----

// The second product would have other columns than the first one has rows.
shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @whole_columns(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices that do not belong together: one grid divides dimension 1 of 'w_in' and 'b_in' (by halves where gate and up are halves) and dimension 2 of 'w_out', and #moe.once gives 'b_out' to one of its ranks}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %a = shard.all_reduce %s on @etp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// -----

// Rows of gate and of up for other hidden columns.
shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @other_halves(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2>] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices that do not belong together: one grid divides dimension 1 of 'w_in' and 'b_in' (by halves where gate and up are halves) and dimension 2 of 'w_out', and #moe.once gives 'b_out' to one of its ranks}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %a = shard.all_reduce %s on @etp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// -----

// Of alternating rows a slice is one piece.
shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @one_half(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices that do not belong together: one grid divides dimension 1 of 'w_in' and 'b_in' (by halves where gate and up are halves) and dimension 2 of 'w_out', and #moe.once gives 'b_out' to one of its ranks}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated interleaved {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %a = shard.all_reduce %s on @etp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @two_grids(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @ep, ranks = 2>] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices that do not belong together: one grid divides dimension 1 of 'w_in' and 'b_in' (by halves where gate and up are halves) and dimension 2 of 'w_out', and #moe.once gives 'b_out' to one of its ranks}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %a = shard.all_reduce %s on @etp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// -----

// Each slice would add it.
shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @whole_bias(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices that do not belong together: one grid divides dimension 1 of 'w_in' and 'b_in' (by halves where gate and up are halves) and dimension 2 of 'w_out', and #moe.once gives 'b_out' to one of its ranks}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %a = shard.all_reduce %s on @etp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @bias_of_all(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices that do not belong together: one grid divides dimension 1 of 'w_in' and 'b_in' (by halves where gate and up are halves) and dimension 2 of 'w_out', and #moe.once gives 'b_out' to one of its ranks}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %a = shard.all_reduce %s on @etp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @only_a_bias(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices that do not belong together: one grid divides dimension 1 of 'w_in' and 'b_in' (by halves where gate and up are halves) and dimension 2 of 'w_out', and #moe.once gives 'b_out' to one of its ranks}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %a = shard.all_reduce %s on @etp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @not_added(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices, and so gives summands: only moe.combine, moe.all_to_all 'return', shard.all_reduce and a rounding may read what is made of them, until one adds them over the grid of the slices}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  return %s : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @added_over_others(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices, and so gives summands: only moe.combine, moe.all_to_all 'return', shard.all_reduce and a rounding may read what is made of them, until one adds them over the grid of the slices}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %a = shard.all_reduce %s on @ep grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// -----

// A sum of slices is no sum of experts yet.
shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)

func.func @read_before(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16x4xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x4x8xf32>
  %b1 = moe.parameter ["bias_in"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2, halves = true>] : tensor<8x16xf32>
  %b2 = moe.parameter ["bias_out"] recipe [#moe.once<grid = @etp, ranks = 2>] : tensor<8x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices, and so gives summands: only moe.combine, moe.all_to_all 'return', shard.all_reduce and a rounding may read what is made of them, until one adds them over the grid of the slices}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<8x16xf32>) bias_out(%b2 : tensor<8x4xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x16x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %n = arith.negf %s : tensor<?x4xf32>
  %a = shard.all_reduce %n on @etp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// -----

shard.grid @etp(shape = 2)

func.func @sum_of_other_tokens(%x: tensor<?x4xf32> {moe.split = @etp}) -> tensor<?x4xf32> {
  // expected-error@+1 {{'shard.all_reduce' adds up what the ranks of a grid have, but is made of inputs that are divided among them ('moe.split')}}
  %y = shard.all_reduce %x on @etp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// Of a batch that other ranks have another part of, experts that are here see all that is here.
shard.grid @dp(shape = 2)
shard.grid @ep(shape = 2)

func.func @tokens_of_another_grid(%x: tensor<?x4xf32> {moe.split = @dp}, %e: tensor<?x2xi32> {moe.split = @dp}) -> tensor<?x4xf32> {
  %a, %al = moe.dispatch %x, %e num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return %a : tensor<?x4xf32>
}

// -----

shard.grid @dp(shape = 2)
shard.grid @ep(shape = 2)

func.func @tokens_of_both_grids(%x: tensor<?x4xf32> {moe.split = [@dp, @ep]}, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{'moe.dispatch' stands at a rank, but its tokens are divided among the ranks; exchange them before, or take 'moe.split' from the inputs}}
  %a, %al = moe.dispatch %x, %e num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return %a : tensor<?x4xf32>
}

// -----

// A rounding that gives something else.
shard.grid @etp(shape = 2)

func.func @no_rounding(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %z: tensor<?x4xbf16>) -> tensor<?x4xbf16> {
  %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2>] : tensor<8x8x4xf32>
  %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 2>] : tensor<8x4x8xf32>
  %r, %l = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' has slices, and so gives summands: only moe.combine, moe.all_to_all 'return', shard.all_reduce and a rounding may read what is made of them, until one adds them over the grid of the slices}}
  %y = moe.expert %r, %l, %w1, %w2 {
  ^bb0(%u: f32):
    moe.yield %u : f32
  } : tensor<?x4xf32>, !moe.layout<8>, tensor<8x8x4xf32>, tensor<8x4x8xf32> -> tensor<?x4xf32>
  %s = moe.combine %y, %l : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<?x4xf32>) outs(%z : tensor<?x4xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %unused = arith.truncf %a : f32 to bf16
    linalg.yield %o : bf16
  } -> tensor<?x4xbf16>
  %sum = shard.all_reduce %h on @etp grid_axes = [0] : tensor<?x4xbf16> -> tensor<?x4xbf16>
  return %sum : tensor<?x4xbf16>
}
