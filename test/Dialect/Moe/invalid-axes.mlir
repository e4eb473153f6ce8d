// Grids that are dimensions of others, and what names them.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
// expected-error@+1 {{'shard.grid' op is no dimension of @ep: it needs one dimension, whose name in 'moe.axes' and size are those of one of that grid}}
shard.grid @node(shape = 4) {moe.axes = ["node"], moe.axis_of = @ep}

// -----

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
// expected-error@+1 {{'shard.grid' op is no dimension of @ep}}
shard.grid @node(shape = 2) {moe.axes = ["host"], moe.axis_of = @ep}

// -----

shard.grid @ep(shape = 2x4)
// expected-error@+1 {{'shard.grid' op is no dimension of @ep}}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}

// -----

// expected-error@+1 {{'shard.grid' op is no dimension of @ep}}
shard.grid @ep(shape = 2) {moe.axes = ["ep"], moe.axis_of = @ep}

// -----

// expected-error@+1 {{'shard.grid' op 'moe.axis_of' names no shard.grid: @ep}}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}

// -----

// expected-error@+1 {{'shard.grid' op 'moe.axis_of' is a grid, of which a shard.grid is a dimension, got "ep"}}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = "ep"}

// -----

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}

// expected-error@+1 {{'moe.split' of 'x' must name whole grids, but @node is a dimension of another one}}
func.func @split(%x: tensor<?x4xf32> {moe.name = "x", moe.split = @node}) {
  return
}

// -----

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}

// expected-error@+1 {{'moe.variant' must name whole grids, but @node is a dimension of another one}}
func.func @variant(%x: tensor<?x4xf32>) attributes {moe.variant = #moe.variant<"main" as "nodes" on [@node]>} {
  return
}

// -----

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}

func.func @the_other_way(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op goes 'to' @node 'at' @local, which must be the second and the first axis of one grid ('moe.axis_of')}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @node at @local : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  return
}

// -----

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}

func.func @experts(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op cannot divide 4 experts equally among the 8 ranks of @ep}}
  %r, %l = moe.dispatch %x, %e num_experts(4) to @local at @node : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return
}

// -----

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}

func.func @groups(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op goes to the 4 ranks of @local, but its layout has 8 groups}}
  %r, %l = moe.dispatch %x, %e num_experts(8) to @local at @node : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  return
}
