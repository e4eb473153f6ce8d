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
