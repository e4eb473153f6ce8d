// RUN: moe-opt %s --moe-lower-to-dense --split-input-file --verify-diagnostics

shard.grid @ep(shape = 2)

func.func @ranks(%r: tensor<?x4xf32>, %l: !moe.layout<8>) {
  // expected-error@+1 {{'moe.all_to_all' op exchanges rows between ranks; the dense lowering is for one rank}}
  %0, %1 = moe.all_to_all %r, %l on @ep : tensor<?x4xf32>, !moe.layout<8> -> tensor<?x4xf32>, !moe.layout<4>
  return
}
