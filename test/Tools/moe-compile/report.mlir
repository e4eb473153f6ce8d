// What the launches of a layer cost: hidden size 64, 8 experts of inner size 48, 2 experts per token, in f32.
// RUN: moe-compile %s --target-cpu=x86-64-v4 --to=kernel -o %t.mlir --report=%t.json -q
// RUN: FileCheck %s --input-file=%t.json
// RUN: moe-compile %s --target-cpu=x86-64-v4 --to=kernel -o %t.mlir --report -q | FileCheck %s --check-prefix=TABLE --match-full-lines --strict-whitespace
// The report of the written level is the same.
// RUN: moe-compile %t.mlir --to=kernel -o %t.again.mlir --report=%t.again.json -q && diff %t.json %t.again.json

module attributes {moe.level = "graph", moe.name = "layer"} {
  func.func @main(%x: tensor<?x64xf32> {moe.name = "x", moe.dims = ["tokens", ""]})
      -> (tensor<?x64xf32> {moe.name = "y", moe.dims = ["tokens", ""]}) {
    %router = moe.parameter ["layers.3.mlp.gate.weight"] : tensor<8x64xf32>
    %w1 = moe.parameter ["layers.3.mlp.experts.gate_up"] : tensor<8x96x64xf32>
    %w2 = moe.parameter ["layers.3.mlp.experts.down"] : tensor<8x64x48xf32>
    %logits = nn.linear %x, %router : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>
    %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
    %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
    %y = moe.expert %rows, %layout, %w1, %w2 gated {
    ^bb0(%g: f32, %u: f32):
      %s = nn.silu %g : f32
      %a = arith.mulf %s, %u : f32
      moe.yield %a : f32
    } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x96x64xf32>, tensor<8x64x48xf32> -> tensor<?x64xf32>
    %out = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
    return %out : tensor<?x64xf32>
  }
}

// A product takes 2 * rows * columns * K operations; its weight is a block of 64 columns.
// CHECK:      "kernel": "linear_8x64_f32",
// CHECK-NEXT: "module": "layers.3.mlp.gate",
// CHECK:      "kind": "tile",
// CHECK:      "accumulators": 1,
// CHECK-NEXT: "instruction": "fma",
// CHECK:      "plan": "#x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 4>",
// CHECK:      "flops": {
// CHECK-NEXT:   "expression": "1024*tokens",
// CHECK-NEXT:   "size 128": 131072,
// CHECK-NEXT:   "size 1": 1024
// CHECK:      "weights_read": {
// CHECK-NEXT:   "expression": "16384",
// CHECK:      "read": {
// CHECK-NEXT:   "expression": "256*tokens",
// CHECK:      "written": {
// CHECK-NEXT:   "expression": "32*tokens",

// Logits, and the experts that it reads again; weights, experts, and two ranks per token. Its scores are its own memory. It counts
// in a table of 16 chunks and 8 experts.
// CHECK:      "kernel": "gate_8_top2_softmax",
// CHECK:      "read": {
// CHECK-NEXT:   "expression": "40*tokens + 512",
// CHECK:      "written": {
// CHECK-NEXT:   "expression": "16*tokens + 4*tokens*min(2, {{.*}}) + 512",
// CHECK-NEXT:   "size 128": 3584,
// CHECK-NEXT:   "size 1": 536

// Moving is work without operations.
// CHECK:      "kernel": "layout_8",
// CHECK-NEXT: "module": "layers.3.mlp",
// CHECK:      "blocks": "all"
// CHECK:      "work": {
// CHECK-NEXT:   "expression": "2*tokens + 8",
// CHECK:      "flops": {
// CHECK-NEXT:   "expression": "0",

// Two rows per token; each reads the weights of an expert, until all are read: 2 blocks of 64 columns x 64 x 4 bytes.
// Rows of tokens, found through the list of tokens; the records of the tiles and their number.
// CHECK:      "kernel": "experts_up_8x96x64_f32_gated",
// CHECK-NEXT: "module": "layers.3.mlp.experts",
// CHECK:      "accumulators": 2,
// CHECK:      "rows": {
// CHECK-NEXT:   "expression": "2*tokens",
// CHECK:      "flops": {
// CHECK-NEXT:   "expression": "24576*tokens",
// CHECK:      "weights_read": {
// CHECK-NEXT:   "expression": "32768*min(8, 2*tokens)",
// CHECK-NEXT:   "size 128": 262144,
// CHECK-NEXT:   "size 1": 65536
// CHECK:      "read": {
// CHECK-NEXT:   "expression": "264*tokens + 164",
// CHECK:      "written": {
// CHECK-NEXT:   "expression": "384*tokens",

// CHECK:      "kernel": "experts_down_8x64x48_f32",
// CHECK:      "flops": {
// CHECK-NEXT:   "expression": "12288*tokens",
// CHECK:      "weights_read": {
// CHECK-NEXT:   "expression": "12288*min(8, 2*tokens)",
// CHECK:      "read": {
// CHECK-NEXT:   "expression": "384*tokens + 164",
// CHECK:      "written": {
// CHECK-NEXT:   "expression": "512*tokens",

// CHECK:      "kernel": "combine_64_f32_top2",
// CHECK:      "flops": {
// CHECK-NEXT:   "expression": "256*tokens",
// CHECK:      "read": {
// CHECK-NEXT:   "expression": "528*tokens",
// CHECK:      "written": {
// CHECK-NEXT:   "expression": "256*tokens",

// CHECK:      "weight_bytes": 376832,
// CHECK-NEXT: "totals": {
// CHECK-NEXT:   "size 128": {
// CHECK-NEXT:     "flops": 4890624,
// CHECK-NEXT:     "weights_read": 376832,
// CHECK-NEXT:     "read": 191816,
// CHECK-NEXT:     "written": 157348

// TABLE:model layer
// TABLE-NEXT:cpu x86-64-v4: register tile 6x64, vectors of 16 f32
// TABLE-NEXT:size 128: tokens = 128
// TABLE-NEXT:size 1: tokens = 1
// TABLE-EMPTY:
// TABLE-NEXT:                                                                                       size 128                size 1
// TABLE-NEXT:layer          kernel                        program            weights   FLOP  bytes    FLOP/B   FLOP  bytes  FLOP/B
// TABLE-NEXT:layers.3                                                           377k  4.89M   726k      6.74  38.2k   111k    0.34
// TABLE-NEXT:  mlp.gate     linear_8x64_f32               6x64 f32 fma                 131k  53.2k      2.46  1.02k  16.7k    0.06
// TABLE-NEXT:               gate_8_top2_softmax           loops f32                   8.19k  9.22k      0.89     64  1.09k    0.06
// TABLE-NEXT:  mlp          layout_8                      loops i32                       0  4.77k      0.00      0    708    0.00
// TABLE-NEXT:  mlp.experts  experts_up_8x96x64_f32_gated  2 of 6x32 f32 fma           3.15M   345k      9.11  24.6k  66.3k    0.37
// TABLE-NEXT:  mlp.experts  experts_down_8x64x48_f32      6x64 f32 fma                1.57M   213k      7.38  12.3k  25.6k    0.48
// TABLE-NEXT:               combine_64_f32_top2           loops f32                   32.8k   100k      0.33    256    784    0.33
// TABLE-NEXT:total                                                              377k  4.89M   726k      6.74  38.2k   111k    0.34
// TABLE-EMPTY:
// TABLE-NEXT:kernel                        plan
// TABLE-NEXT:linear_8x64_f32               #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 4>
// TABLE-NEXT:experts_up_8x96x64_f32_gated  #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 4>
// TABLE-NEXT:experts_down_8x64x48_f32      #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 4>
