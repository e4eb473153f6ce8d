// A CPU with matrix registers: products of bf16 run on them, those of f32 do not; the object says what it needs.
// RUN: moe-compile %s --target-cpu=sapphirerapids --to=kernel -o %t.mlir --report=%t.json -q
// RUN: FileCheck %s --input-file=%t.json
// RUN: moe-compile %s --target-cpu=sapphirerapids --to=kernel -o %t.mlir --report -q | FileCheck %s --check-prefix=TABLE
// RUN: moe-opt %t.mlir --kernel-to-runtime | moe-translate --moe-to-llvmir | FileCheck %s --check-prefix=NEEDS
// RUN: moe-opt %s --kernel-set-target=target=cpu:cooperlake --graph-decide --convert-graph-to-kernel --kernel-to-runtime \
// RUN:   | moe-translate --moe-to-llvmir | FileCheck %s --check-prefix=VECTORS

// CHECK: "matrix_rows": 32
// CHECK: "kernel": "linear_128x64_bf16_f32"
// CHECK: "instruction": "matrix"
// CHECK: "kernel": "linear_32x128_f32"
// CHECK: "instruction": "fma"
// TABLE: cpu sapphirerapids: register tile 6x64, vectors of 16 f32, dot product of bf16, matrix registers for 32 rows of bf16
// TABLE: 32x64 bf16 matrix
// NEEDS: amx_tile,amx_bf16
// VECTORS: avx512_bf16
// VECTORS-NOT: amx
module attributes {moe.level = "graph", moe.name = "two"} {
  func.func @main(%x: tensor<?x64xbf16> {moe.name = "x", moe.dims = ["tokens", ""]})
      -> (tensor<?x32xf32> {moe.name = "y", moe.dims = ["tokens", ""]}) {
    %w1 = moe.parameter ["a"] : tensor<128x64xbf16>
    %w2 = moe.parameter ["b"] : tensor<32x128xf32>
    %h = nn.linear %x, %w1 : tensor<?x64xbf16>, tensor<128x64xbf16> -> tensor<?x128xf32>
    %y = nn.linear %h, %w2 : tensor<?x128xf32>, tensor<32x128xf32> -> tensor<?x32xf32>
    return %y : tensor<?x32xf32>
  }
}
