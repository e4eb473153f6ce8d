// RUN: moe-opt %s --moe-partition --verify-diagnostics

shard.grid @ep(shape = 4)

func.func @partitioned(%x: tensor<?x64xf32>, %layout: !moe.layout<32>) -> tensor<?x64xf32> {
  // expected-error @below {{'moe.all_to_all' op communicates already: the module was partitioned before}}
  %y, %l = moe.all_to_all %x, %layout on @ep : tensor<?x64xf32>, !moe.layout<32> -> tensor<?x64xf32>, !moe.layout<8>
  return %y : tensor<?x64xf32>
}
