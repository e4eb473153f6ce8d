// What the kernels of a layer are on a GPU, and how long they should take: a router and a wide product, 4096 columns by 2048.
// RUN: moe-compile %s --target=cuda:sm_90a --target-cpu=x86-64-v3 --to=kernel -o %t.mlir --report=%t.json -q
// RUN: FileCheck %s --input-file=%t.json
// RUN: moe-compile %s --target=cuda:sm_90a --target-cpu=x86-64-v3 --to=kernel -o %t.mlir --report -q | FileCheck %s --check-prefix=TABLE --match-full-lines --strict-whitespace
// The report of the written level is the same.
// RUN: moe-compile %t.mlir --to=kernel -o %t.again.mlir --report=%t.again.json -q && diff %t.json %t.again.json

module attributes {moe.level = "graph", moe.name = "layer"} {
  func.func @main(%x: tensor<?x2048xbf16> {moe.name = "x", moe.dims = ["tokens", ""]})
      -> (tensor<?x2xi32> {moe.name = "e"}, tensor<?x4096xbf16> {moe.name = "y"}) {
    %router = moe.parameter ["layers.3.gate.weight"] : tensor<64x2048xbf16>
    %wide = moe.parameter ["layers.3.wide.weight"] : tensor<4096x2048xbf16>
    %logits = nn.linear %x, %router : tensor<?x2048xbf16>, tensor<64x2048xbf16> -> tensor<?x64xbf16>
    %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) : tensor<?x64xbf16> -> tensor<?x2xf32>, tensor<?x2xi32>
    %y = nn.linear %x, %wide : tensor<?x2048xbf16>, tensor<4096x2048xbf16> -> tensor<?x4096xbf16>
    return %e, %y : tensor<?x2xi32>, tensor<?x4096xbf16>
  }
}

// The name of the device, and what its times are made of.
// CHECK:      "device": {
// CHECK-NEXT:   "name": "H200 SXM",
// CHECK-NEXT:   "multiprocessors": 132,
// CHECK:        "memory_bytes_per_second": 4800000000000

// A layer of a GPU is counted at one more point.
// CHECK:      "size 8192": {
// CHECK-NEXT:   "tokens": 8192
// CHECK:      "size 128": {
// CHECK:      "size 1": {

// Eight stages of 128 rows and 64 columns, 128 bytes each, behind the barriers.
// CHECK:      "kernel": "linear_64x2048_bf16",
// CHECK:      "gpu": {
// CHECK-NEXT:   "tile": [
// CHECK-NEXT:     128,
// CHECK-NEXT:     64
// CHECK-NEXT:   ],
// CHECK-NEXT:   "stages": 8,
// CHECK-NEXT:   "threads": 384,
// CHECK-NEXT:   "roles": [
// CHECK-NEXT:     {
// CHECK-NEXT:       "name": "load",
// CHECK-NEXT:       "registers": 56,
// CHECK-NEXT:       "threads": 128
// CHECK-NEXT:     },
// CHECK-NEXT:     {
// CHECK-NEXT:       "name": "multiply",
// CHECK-NEXT:       "registers": 224,
// CHECK-NEXT:       "threads": 256
// CHECK-NEXT:     }
// CHECK-NEXT:   ],
// CHECK-NEXT:   "blocks_per_multiprocessor": 1,
// CHECK-NEXT:   "shared_bytes": 197632,
// CHECK-NEXT:   "registers": null,
// CHECK-NEXT:   "estimate_seconds": {
// CHECK:      "floor_seconds": {
// What the estimate is made of, by point.
// CHECK:      "terms": {
// CHECK-NEXT:   "size 8192": {
// CHECK-NEXT:     "tensor cores": {{.*}}e-06,
// CHECK-NEXT:     "shared memory":
// CHECK-NEXT:     "L2":
// CHECK-NEXT:     "epilogue":
// CHECK-NEXT:     "tile list": 0,
// CHECK-NEXT:     "memory":
// CHECK:      "kernel": "gate_64_top2_softmax",
// CHECK:      "gpu": {
// CHECK-NEXT:   "threads": 256,
// CHECK-NEXT:   "roles": [],
// CHECK-NEXT:   "blocks_per_multiprocessor": 4,
// CHECK-NEXT:   "shared_bytes": 0,

// TABLE:times of a model, not measured: H200 SXM, at least operations at 989 TFLOP/s (f32: 61.8 TFLOP/s) or bytes at 4.80 TB/s
// TABLE-EMPTY:
// TABLE-NEXT:                                                                                                           size 8192            size 128              size 1
// TABLE-NEXT:layer                    tile     threads                 stages  blocks/SM   shared  registers  estimate   at least  estimate  at least  estimate  at least
// TABLE-NEXT:layers.3                                                                                           217 us     146 us   36.5 us   3.99 us   7.10 us   3.55 us
// TABLE-NEXT:  linear_64x2048_bf16    128x64   128 load, 256 multiply       8          1  193 KiB          ?   10.7 us    7.26 us   10.7 us    167 ns   3.19 us   55.5 ns
// TABLE-NEXT:  gate_64_top2_softmax            256                                     4    0 KiB          ?    274 ns     246 ns   13.1 ns   3.84 ns   1.64 ns   0.03 ns
// TABLE-NEXT:  linear_4096x2048_bf16  128x256  128 load, 256 multiply       4          1  193 KiB          ?    206 us     139 us   25.8 us   3.82 us   3.90 us   3.50 us
// TABLE-NEXT:total                                                                                              217 us     146 us   36.5 us   3.99 us   7.10 us   3.55 us
// TABLE-EMPTY:
// TABLE-NEXT:parts of each estimate             tensor cores  shared memory       L2  epilogue  tile list   memory  operations
// TABLE-NEXT:linear_64x2048_bf16     size 8192       5.69 us        9.96 us  8.95 us    759 ns    0.00 ns  8.11 us
// TABLE-NEXT:linear_64x2048_bf16     size 128        5.69 us        9.96 us  8.95 us    759 ns    0.00 ns   187 ns
// TABLE-NEXT:linear_64x2048_bf16     size 1          2.24 us        2.54 us  3.03 us    164 ns    0.00 ns  61.9 ns
// TABLE-NEXT:gate_64_top2_softmax    size 8192                                102 ns                        274 ns     67.8 ns
// TABLE-NEXT:gate_64_top2_softmax    size 128                                13.1 ns                       4.29 ns     8.74 ns
// TABLE-NEXT:gate_64_top2_softmax    size 1                                  1.64 ns                       0.03 ns     1.09 ns
// TABLE-NEXT:linear_4096x2048_bf16   size 8192        182 us         182 us   143 us   24.3 us    0.00 ns  27.3 us
// TABLE-NEXT:linear_4096x2048_bf16   size 128        22.8 us        22.8 us  17.9 us   3.03 us    0.00 ns  4.27 us
// TABLE-NEXT:linear_4096x2048_bf16   size 1          2.24 us        2.54 us  3.03 us    164 ns    0.00 ns  3.90 us
// TABLE-EMPTY:
// TABLE-NEXT:kernel                 plan
// TABLE-NEXT:linear_64x2048_bf16    #cuda.plan<stages = 8, few_rows = 16, arrival = noinc, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 2, few_columns = 64>
// TABLE-NEXT:gate_64_top2_softmax   #cuda.row_plan<threads = 256, blocks_per_sm = 4>
// TABLE-NEXT:linear_4096x2048_bf16  #cuda.plan<stages = 4, few_rows = 16, arrival = noinc, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 4, few_columns = 64>
