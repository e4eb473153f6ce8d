// Grids whose ranks are groups of another grid's.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'moe.groups_of' belongs to a shard.grid}}
func.func private @no_grid() attributes {moe.groups_of = @tp}

// -----

// expected-error@+1 {{'moe.groups_of' must name another shard.grid, whose ranks are no groups, got @tp}}
shard.grid @kv(shape = 2) {moe.groups_of = @tp}

// -----

// expected-error@+1 {{'moe.groups_of' must name another shard.grid, whose ranks are no groups, got @kv}}
shard.grid @kv(shape = 2) {moe.groups_of = @kv}

// -----

shard.grid @tp(shape = 4)
// expected-error@+1 {{'moe.groups_of' must name another shard.grid, whose ranks are no groups, got 4 : i64}}
shard.grid @kv(shape = 2) {moe.groups_of = 4}

// -----

shard.grid @tp(shape = 8)
shard.grid @kv(shape = 4) {moe.groups_of = @tp}
// expected-error@+1 {{'moe.groups_of' must name another shard.grid, whose ranks are no groups, got @kv}}
shard.grid @two(shape = 2) {moe.groups_of = @kv}

// -----

shard.grid @tp(shape = 4)
// expected-error@+1 {{'moe.groups_of' needs groups of equally many ranks, but @tp and this grid have no such numbers}}
shard.grid @kv(shape = 3) {moe.groups_of = @tp}

// -----

shard.grid @tp(shape = ?)
// expected-error@+1 {{'moe.groups_of' needs groups of equally many ranks, but @tp and this grid have no such numbers}}
shard.grid @kv(shape = 2) {moe.groups_of = @tp}

// -----

shard.grid @tp(shape = 4)
shard.grid @kv(shape = 2) {moe.groups_of = @tp}
// expected-error@+1 {{'moe.split' of argument 0 names a grid of groups, which share weights only: @kv}}
func.func @split(%x: tensor<?x8xf32> {moe.split = @kv}) {
  return
}

// -----

shard.grid @tp(shape = 4)
shard.grid @kv(shape = 2) {moe.groups_of = @tp}
func.func @window() {
  // expected-error@+1 {{'kernel.window' op names a grid whose ranks are groups, which share weights only: @kv}}
  %w = kernel.window() on @kv as "given" : !kernel.window<4xi32>
  return
}
