// What exchanges of nodes and ranks, one inside of the other, must keep.
// RUN: moe-opt %s --split-input-file --verify-diagnostics --moe-verify-level=level=spmd

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}

func.func @no_exchange_before(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{level spmd: 'moe.dispatch' goes to the ranks of a node and reads no tokens that a moe.all_to_all brought there}}
  %s, %l = moe.dispatch %x, %e num_experts(8) to @local at @node : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  %r, %g, %c = moe.all_to_all %s, %l on @local with(%e : tensor<?x2xi32>) via(direct) : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x2xi32>
  %rows, %here = moe.dispatch %r, %c num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}

func.func @ids_of_the_first_way(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  %s, %l = moe.dispatch %x, %e num_experts(8) to @node : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  %r, %g, %c = moe.all_to_all %s, %l on @node with(%e : tensor<?x2xi32>) via(direct) : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x2xi32>
  // expected-error@+1 {{level spmd: 'moe.dispatch' stands at a rank and reads what a moe.all_to_all on its grid received, or on the axes of its grid one after the other: tokens, and companions of the same exchange}}
  %s1, %l1 = moe.dispatch %r, %e num_experts(8) to @local at @node : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  %r1, %g1, %c1 = moe.all_to_all %s1, %l1 on @local with(%c : tensor<?x2xi32>) via(direct) : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x2xi32>
  %rows, %here = moe.dispatch %r1, %c1 num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}

func.func @stops_at_the_node(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  %s, %l = moe.dispatch %x, %e num_experts(8) to @node : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  %r, %g, %c = moe.all_to_all %s, %l on @node with(%e : tensor<?x2xi32>) via(direct) : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x2xi32>
  // expected-error@+1 {{level spmd: 'moe.dispatch' stands at a rank and reads what a moe.all_to_all on its grid received, or on the axes of its grid one after the other}}
  %rows, %here = moe.dispatch %r, %c num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}

func.func @without_nodes(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  %s, %l = moe.dispatch %x, %e num_experts(8) to @local : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  %r, %g, %c = moe.all_to_all %s, %l on @local with(%e : tensor<?x2xi32>) via(direct) : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x2xi32>
  // expected-error@+1 {{level spmd: 'moe.dispatch' stands at a rank and reads what a moe.all_to_all on its grid received, or on the axes of its grid one after the other}}
  %rows, %here = moe.dispatch %r, %c num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

// -----

shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}

func.func @other_experts(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  %s, %l = moe.dispatch %x, %e num_experts(8) to @node : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  %r, %g, %c = moe.all_to_all %s, %l on @node with(%e : tensor<?x2xi32>) via(direct) : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x2xi32>
  // expected-error@+1 {{level spmd: 'moe.dispatch' has another number or order of experts than the moe.dispatch 'to' the ranks whose rows it gets; give both one num_experts and one order}}
  %s1, %l1 = moe.dispatch %r, %c num_experts(16) to @local at @node : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  %r1, %g1, %c1 = moe.all_to_all %s1, %l1 on @local with(%c : tensor<?x2xi32>) via(direct) : tensor<?x4xf32>, !moe.layout<4> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x2xi32>
  %rows, %here = moe.dispatch %r1, %c1 num_experts(16) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  return
}
