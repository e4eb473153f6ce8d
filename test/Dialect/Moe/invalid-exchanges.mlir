// Rules of moe.all_to_all.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

shard.grid @ep(shape = 4)

func.func @exchange_no_grid(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op names no shard.grid: @tp}}
  %r, %rl = moe.all_to_all %s, %sl on @tp : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 4)
shard.grid @tp(shape = 4)

func.func @exchange_other_grid(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op needs the layout of a moe.dispatch 'to' @tp}}
  %r, %rl = moe.all_to_all %s, %sl on @tp : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @exchange_of_experts(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  // expected-error@+1 {{'moe.all_to_all' op needs the layout of a moe.dispatch 'to' @ep}}
  %r, %rl = moe.all_to_all %s, %sl on @ep : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @exchange_of_other_rows(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op needs the rows of the dispatch that made its layout}}
  %r, %rl = moe.all_to_all %x, %sl on @ep : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @exchange_layout(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op receives rows of one group, but its layout has 2}}
  %r, %rl = moe.all_to_all %s, %sl on @ep : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<2>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @exchange_hidden(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op H is 4 in rows but 5 in result}}
  %r, %rl = moe.all_to_all %s, %sl on @ep : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x5xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @exchange_element(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op expected one element type, but rows has 'f32' and result has 'bf16'}}
  %r, %rl = moe.all_to_all %s, %sl on @ep : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xbf16>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @exchange_static(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op receives as many rows as all ranks need, which only a run knows; dimension 0 of 'tensor<8x4xf32>' must be dynamic}}
  %r, %rl = moe.all_to_all %s, %sl on @ep : tensor<?x4xf32>, !moe.layout<4> -> tensor<8x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @exchange_via(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{unknown way to other ranks 'air'; one of direct}}
  %r, %rl = moe.all_to_all %s, %sl on @ep via(air) : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @companions(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op sends 1 companions, but receives 0}}
  %r, %rl = moe.all_to_all %s, %sl on @ep with(%e : tensor<?x2xi32>) : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @companion_rank(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %c0: tensor<f32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op expected companions of shape [T, ...], got 'tensor<f32>'}}
  %r, %rl, %c = moe.all_to_all %s, %sl on @ep with(%c0 : tensor<f32>) : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?xf32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @companion_size(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op C0.1 is 2 in companion 0 but 3 in received companion 0}}
  %r, %rl, %c = moe.all_to_all %s, %sl on @ep with(%e : tensor<?x2xi32>) : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x3xi32>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @companion_element(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op expected one element type, but companion has 'i32' and received companion has 'i64'}}
  %r, %rl, %c = moe.all_to_all %s, %sl on @ep with(%e : tensor<?x2xi32>) : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x2xi64>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @return_of_nothing(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  // expected-error@+1 {{'moe.all_to_all' op needs the layout that a moe.all_to_all on @ep received}}
  %b, %bl = moe.all_to_all %s, %sl on @ep return : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 4)
shard.grid @tp(shape = 4)

func.func @return_on_another_grid(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  %r, %rl = moe.all_to_all %s, %sl on @ep : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>
  // expected-error@+1 {{'moe.all_to_all' op needs the layout that a moe.all_to_all on @tp received}}
  %b, %bl = moe.all_to_all %r, %rl on @tp return : tensor<?x4xf32>, !moe.layout<1> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @return_layout(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  %r, %rl = moe.all_to_all %s, %sl on @ep : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>
  // expected-error@+1 {{'moe.all_to_all' op gives back the rows of '!moe.layout<4>', but its layout is '!moe.layout<8>'}}
  %b, %bl = moe.all_to_all %r, %rl on @ep return : tensor<?x4xf32>, !moe.layout<1> -> tensor<?x4xf32>, !moe.layout<8>
  return
}

// -----

shard.grid @ep(shape = 4)

func.func @return_with_companions(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) {
  %s, %sl = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  %r, %rl = moe.all_to_all %s, %sl on @ep : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>
  // expected-error@+1 {{'moe.all_to_all' op goes back the way of its exchange, without companions: 'with' and 'via' belong there}}
  %b, %bl, %c = moe.all_to_all %r, %rl on @ep return with(%e : tensor<?x2xi32>) : tensor<?x4xf32>, !moe.layout<1> -> tensor<?x4xf32>, !moe.layout<4>, tensor<?x2xi32>
  return
}
