// The attribute round-trips; fields that have their defaults are left out.
// RUN: moe-opt %s --split-input-file | moe-opt --split-input-file | FileCheck %s

// The example of the attribute's description.
// CHECK: kernel.target = #x86.target<cpu = "znver4", rows = 6, columns = 64, vector = 16, dot_bf16 = true>
module attributes {kernel.target = #x86.target<cpu = "znver4", rows = 6, columns = 64, vector = 16, dot_bf16 = true>} {}

// -----

// CHECK: kernel.target = #x86.target<rows = 6, columns = 16, vector = 8>
module attributes {kernel.target = #x86.target<rows = 6, columns = 16, vector = 8, dot_bf16 = false, matrix_rows = 0>} {}

// -----

// CHECK: #x86.target<cpu = "sapphirerapids", features = "-avx512fp16", rows = 6, columns = 64, vector = 16, dot_bf16 = true, matrix_rows = 32, stream_ahead = 2048>
module attributes {kernel.target = #x86.target<cpu = "sapphirerapids", features = "-avx512fp16", rows = 6, columns = 64, vector = 16,
                                               dot_bf16 = true, matrix_rows = 32, stream_ahead = 2048>} {}
