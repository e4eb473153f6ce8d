// RUN: moe-opt %s --kernel-set-target=cpu=x86-64-v3 | FileCheck %s --check-prefix=V3
// RUN: moe-opt %s --kernel-set-target=cpu=x86-64-v4 | FileCheck %s --check-prefix=V4
// RUN: moe-opt %s --kernel-set-target=cpu=znver4 | FileCheck %s --check-prefix=ZNVER4
// RUN: moe-opt %s --kernel-set-target=cpu=sapphirerapids | FileCheck %s --check-prefix=MATRIX
// RUN: moe-opt %s --kernel-set-target=cpu=native | FileCheck %s --check-prefix=NATIVE
// RUN: not moe-opt %s --kernel-set-target=cpu=x86-64-v2 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not moe-opt %s --kernel-set-target=cpu=cortex-a72 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: moe-opt %s --kernel-set-target=cpu=x86-64-v4 -o %t && moe-opt %t --kernel-set-target=cpu=x86-64-v4 | diff %t -
// RUN: moe-opt %s --kernel-set-target=cuda=sm_90a | FileCheck %s --check-prefix=CUDA
// RUN: not moe-opt %s --kernel-set-target=cuda=sm_80 2>&1 | FileCheck %s --check-prefix=GPU

// V3: module attributes {kernel.target = {columns = 16 : i64, cpu = "x86-64-v3", features = "", rows = 6 : i64, vector = 8 : i64}}
// V4: {kernel.target = {columns = 64 : i64, cpu = "x86-64-v4", features = "", rows = 6 : i64, vector = 16 : i64}}
// ZNVER4: {kernel.target = {columns = 64 : i64, cpu = "znver4", dot_bf16, features = "", rows = 6 : i64, vector = 16 : i64}}
// MATRIX: {kernel.target = {columns = 64 : i64, cpu = "sapphirerapids", dot_bf16, features = "", matrix_rows = 32 : i64, rows = 6 : i64, stream_ahead = 2048 : i64, vector = 16 : i64}}
// NATIVE: {kernel.target = {{.*}}cpu = "{{[a-z0-9-]+}}",{{.*}}rows = 6 : i64
// OLD: error: CPU 'x86-64-v2' has no avx2; the least that is supported is 'x86-64-v3'
// OTHER: error: unknown CPU 'cortex-a72'; use 'native', 'x86-64-v3', 'x86-64-v4' or a name such as 'znver4'
// CUDA: {kernel.target = {columns = 256 : i64, cuda = "sm_90a", depth = 64 : i64, rows = 128 : i64, stages = 8 : i64}}
// GPU: error: unknown GPU 'sm_80'; kernels are written for 'sm_90a' (H100, H200)
module {
}
