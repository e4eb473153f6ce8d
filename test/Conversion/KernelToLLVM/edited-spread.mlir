// How many row tiles share the requests for what follows is a field of the plan: prefetch-weights.mlir with other plans in its first kernel.
// RUN: sed '0,/%rows: index) {/s//%rows: index) attributes {kernel.plan = #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 1>} {/' %S/prefetch-weights.mlir \
// RUN:   | moe-opt --pass-pipeline='builtin.module(kernel.func(kernel-prefetch-weights))' | FileCheck %s --check-prefix=ONE
// RUN: sed '0,/%rows: index) {/s//%rows: index) attributes {kernel.plan = #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 2>} {/' %S/prefetch-weights.mlir \
// RUN:   | moe-opt --pass-pipeline='builtin.module(kernel.func(kernel-prefetch-weights))' | FileCheck %s --check-prefix=TWO
// RUN: sed '0,/%rows: index) {/s//%rows: index) attributes {kernel.plan = #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 0>} {/' %S/prefetch-weights.mlir \
// RUN:   | moe-opt --pass-pipeline='builtin.module(kernel.func(kernel-prefetch-weights))' | FileCheck %s --check-prefix=NONE

// ONE-LABEL: kernel.func @product
// ONE-NOT:   arith.select
// ONE:       arith.shli %c4{{(_[0-9]+)?}}, %c0{{(_[0-9]+)?}}
// ONE:       memref.prefetch

// TWO-LABEL: kernel.func @product
// TWO:       arith.select %{{.*}}, %c1{{(_[0-9]+)?}}, %c0
// TWO-NOT:   arith.select %{{.*}}, %c2
// TWO:       arith.shli
// TWO:       memref.prefetch

// NONE-LABEL: kernel.func @product
// NONE-NOT:   memref.prefetch
// NONE:       kernel.return
