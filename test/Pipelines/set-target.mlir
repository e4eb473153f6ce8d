// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 | FileCheck %s --check-prefix=V3
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v4 | FileCheck %s --check-prefix=V4
// RUN: moe-opt %s --kernel-set-target=target=cpu:znver4 | FileCheck %s --check-prefix=ZNVER4
// RUN: moe-opt %s --kernel-set-target=target=cpu:sapphirerapids | FileCheck %s --check-prefix=MATRIX
// RUN: moe-opt %s --kernel-set-target=target=cpu:native | FileCheck %s --check-prefix=NATIVE
// RUN: not moe-opt %s --kernel-set-target=target=cpu:x86-64-v2 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not moe-opt %s --kernel-set-target=target=cpu:cortex-a72 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v4 -o %t && moe-opt %t --kernel-set-target=target=cpu:x86-64-v4 | diff %t -
// RUN: moe-opt %s --kernel-set-target=target=cuda:sm_90a | FileCheck %s --check-prefix=CUDA
// RUN: moe-opt %s --kernel-set-target=target=cuda:h100 | FileCheck %s --check-prefix=H100
// RUN: not moe-opt %s --kernel-set-target=target=cuda:sm_80 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: not moe-opt %s --kernel-set-target=target=vulkan 2>&1 | FileCheck %s --check-prefix=KIND

// V3: module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 16, vector = 8>}
// V4: {kernel.target = #x86.target<cpu = "x86-64-v4", rows = 6, columns = 64, vector = 16>}
// ZNVER4: {kernel.target = #x86.target<cpu = "znver4", rows = 6, columns = 64, vector = 16, dot_bf16 = true>}
// MATRIX: {kernel.target = #x86.target<cpu = "sapphirerapids", rows = 6, columns = 64, vector = 16, dot_bf16 = true, matrix_rows = 32, stream_ahead = 2048>}
// NATIVE: {kernel.target = #x86.target<cpu = "{{[a-z0-9-]+}}",{{.*}}rows = 6,
// OLD: error: CPU 'x86-64-v2' has no avx2; the least that is supported is 'x86-64-v3'
// OTHER: error: unknown CPU 'cortex-a72'; use 'native', 'x86-64-v3', 'x86-64-v4' or a name such as 'znver4'
// CUDA: {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>}
// H100: #cuda.target<device = "h100", rows = 128
// GPU: error: unknown GPU 'sm_80'; kernels are written for h200, h100, sm_90a
// KIND: error: unknown target 'vulkan'; cpu, cuda:h200, cuda:h100, cuda:sm_90a
module {
}
