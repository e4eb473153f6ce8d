// Exchanges that cannot be cut into passes.
// RUN: moe-opt %s --convert-graph-to-kernel --split-input-file --verify-diagnostics

// Rows that come are read as a whole.
shard.grid @ep(shape = 2)
func.func @read(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  // expected-error@+1 {{'moe.all_to_all' op brings rows of which func.return reads all, which passes do not have at one time; remove 'kernel.pass_tokens'}}
  %recv, %got = moe.all_to_all %send, %sent on @ep {kernel.pass_tokens = 4 : i64} : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>
  %back, %gone = moe.all_to_all %recv, %got on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y = moe.combine %back, %gone : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  return %y, %recv : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

shard.grid @ep(shape = 2)
func.func @twice(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  // expected-error@+1 {{'moe.all_to_all' op is the exchange of several sums of tokens, which passes cannot have; remove 'kernel.pass_tokens'}}
  %recv, %got = moe.all_to_all %send, %sent on @ep {kernel.pass_tokens = 4 : i64} : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>
  %back, %gone = moe.all_to_all %recv, %got on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y = moe.combine %back, %gone : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  %z = moe.combine %back, %sent : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

shard.grid @ep(shape = 2)
func.func @one_way(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>) -> tensor<?x64xf32> {
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  // expected-error@+1 {{'moe.all_to_all' op has no moe.combine of what returns, with which passes end; remove 'kernel.pass_tokens'}}
  %recv, %got = moe.all_to_all %send, %sent on @ep {kernel.pass_tokens = 4 : i64} : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>
  return %x : tensor<?x64xf32>
}

// -----

// Weights stand by token of all passes.
shard.grid @ep(shape = 2)
func.func @weighted(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x64xf32> {
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  // expected-error@+1 {{'moe.all_to_all' op is the exchange of a sum with weights, which stand by token of all passes; remove 'kernel.pass_tokens'}}
  %recv, %got = moe.all_to_all %send, %sent on @ep {kernel.pass_tokens = 4 : i64} : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>
  %back, %gone = moe.all_to_all %recv, %got on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y = moe.combine %back, %gone weights(%w : tensor<?x2xf32>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Passes of one exchange while another one is under way.
shard.grid @ep(shape = 2)
func.func @across(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %send, %sent = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
  %recv, %got = moe.all_to_all %send, %sent on @ep : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>
  // expected-error@+1 {{'shard.all_reduce' op has passes between the way there and the way back of another exchange on its grid, which has none; give both 'kernel.pass_tokens'}}
  %a = shard.all_reduce %x on @ep grid_axes = [0] {kernel.pass_tokens = 4 : i64} : tensor<?x64xf32> -> tensor<?x64xf32>
  %back, %gone = moe.all_to_all %recv, %got on @ep return : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
  %y = moe.combine %back, %gone : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
  return %y, %a : tensor<?x64xf32>, tensor<?x64xf32>
}
