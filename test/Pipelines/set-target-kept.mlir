// A target that the module has stays as it is, edited or not; an option that contradicts it is an error.
// RUN: split-file %s %t
// RUN: moe-opt %t/cpu.mlir --kernel-set-target | FileCheck %s --check-prefix=CPU
// RUN: moe-opt %t/cpu.mlir --kernel-set-target=target=cpu:x86-64-v3 | FileCheck %s --check-prefix=CPU
// RUN: not moe-opt %t/cpu.mlir --kernel-set-target=target=cpu:x86-64-v4 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not moe-opt %t/cpu.mlir --kernel-set-target=target=cuda:sm_90a 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: moe-opt %t/cuda.mlir --kernel-set-target | FileCheck %s --check-prefix=CUDA
// RUN: moe-opt %t/cuda.mlir --kernel-set-target=target=cuda:sm_90a | FileCheck %s --check-prefix=CUDA
// RUN: not moe-opt %t/cuda.mlir --kernel-set-target=target=cpu:native 2>&1 | FileCheck %s --check-prefix=NATIVE

// CPU: {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 4, columns = 16, vector = 8>}
// OTHER: cpu.mlir:1:1: error: 'kernel.target' is for CPU 'x86-64-v3', but option 'target' says 'cpu:x86-64-v4'; remove the attribute or the option
// GPU: cpu.mlir:1:1: error: 'kernel.target' is for CPU 'x86-64-v3', but option 'target' says 'cuda:sm_90a'; remove the attribute or the option
// CUDA: {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>}
// NATIVE: cuda.mlir:1:1: error: 'kernel.target' is for GPU 'h200', but option 'target' says 'cpu:native'; remove the attribute or the option

//--- cpu.mlir
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 4, columns = 16, vector = 8>} {
}
//--- cuda.mlir
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
}
