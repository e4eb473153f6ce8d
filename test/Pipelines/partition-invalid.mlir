// RUN: moe-opt %s --moe-partition --verify-diagnostics

shard.grid @ep(shape = 4)

func.func @ranks(%x: tensor<?x64xf32>, %layout: !moe.layout<32>) -> tensor<?x64xf32> {
  // expected-error @below {{'moe.all_to_all' op exchanges rows between the ranks of @ep; one process runs the model}}
  %y, %l = moe.all_to_all %x, %layout on @ep : tensor<?x64xf32>, !moe.layout<32> -> tensor<?x64xf32>, !moe.layout<8>
  return %y : tensor<?x64xf32>
}
