// The estimate is that of the kernel's plan: the form for few rows multiplies as many as the plan says, and without it one row costs a tile of 128.
// RUN: moe-compile %s --target=cuda:h200 --target-cpu=x86-64-v3 --to=kernel -o %t.mlir --report -q | FileCheck %s --check-prefixes=BOTH,CHOSEN
// RUN: sed 's/few_rows = 16/few_rows = 64/; s/few_steps = 4/few_steps = 1/' %t.mlir > %t.64.mlir
// RUN: moe-compile %t.64.mlir --to=kernel -o %t.out.mlir --report -q | FileCheck %s --check-prefixes=BOTH,MORE
// RUN: sed 's/few_rows = 16/few_rows = 0/' %t.mlir > %t.0.mlir
// RUN: moe-compile %t.0.mlir --to=kernel -o %t.out.mlir --report -q | FileCheck %s --check-prefixes=BOTH,NONE

module attributes {moe.level = "graph", moe.name = "layer"} {
  func.func @main(%x: tensor<?x2048xbf16> {moe.name = "x", moe.dims = ["tokens", ""]}) -> (tensor<?x4096xbf16> {moe.name = "y"}) {
    %w = moe.parameter ["layers.0.weight"] : tensor<4096x2048xbf16>
    %y = nn.linear %x, %w : tensor<?x2048xbf16>, tensor<4096x2048xbf16> -> tensor<?x4096xbf16>
    return %y : tensor<?x4096xbf16>
  }
}

// BOTH:        parts of each estimate {{ *}}tensor cores  shared memory       L2  epilogue  tile list   memory
// BOTH-NEXT:   linear_4096x2048_bf16   size 8192        182 us         182 us   143 us   24.3 us    0.00 ns  27.3 us
// BOTH-NEXT:   linear_4096x2048_bf16   size 128        22.8 us        22.8 us  17.9 us   3.03 us    0.00 ns  4.27 us
// CHOSEN-NEXT: linear_4096x2048_bf16   size 1          2.24 us        2.54 us  3.03 us    164 ns    0.00 ns  3.90 us
// MORE-NEXT:   linear_4096x2048_bf16   size 1          2.24 us        3.37 us  3.03 us    656 ns    0.00 ns  3.90 us
// NONE-NEXT:   linear_4096x2048_bf16   size 1          22.8 us        22.8 us  17.9 us   3.03 us    0.00 ns  3.90 us
