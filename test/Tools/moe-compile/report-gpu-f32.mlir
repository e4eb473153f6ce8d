// Products of f32 are multiplied by the threads: at least 2 * 8192 * 1024 * 2048 operations at 61.8 TFLOP/s.
// RUN: moe-compile %s --target=cuda:sm_90a --target-cpu=x86-64-v3 --to=kernel -o %t.mlir --report -q | FileCheck %s

// CHECK: linear_1024x2048_f32 {{.*}}f32 fma
// CHECK: size 8192
// CHECK: linear_1024x2048_f32 {{ *}}128x{{[0-9]+}}  128 load, 256 multiply {{.* }}556 us
module attributes {moe.level = "graph", moe.name = "layer"} {
  func.func @main(%x: tensor<?x2048xf32> {moe.name = "x", moe.dims = ["tokens", ""]}) -> (tensor<?x1024xf32> {moe.name = "y"}) {
    %w = moe.parameter ["w"] : tensor<1024x2048xf32>
    %y = nn.linear %x, %w : tensor<?x2048xf32>, tensor<1024x2048xf32> -> tensor<?x1024xf32>
    return %y : tensor<?x1024xf32>
  }
}
