// The target that a module has before level scheduled decides, with what was edited in it; an option only has to agree.
// RUN: split-file %s %t
// RUN: moe-opt %t/cpu.mlir --moe-spmd-to-scheduled --moe-scheduled-to-kernel | FileCheck %s --check-prefix=ROWS
// RUN: moe-opt %t/cpu.mlir --moe-spmd-to-scheduled=target=cpu:x86-64-v3 --moe-scheduled-to-kernel=target=cpu:x86-64-v3 | FileCheck %s --check-prefix=ROWS
// RUN: moe-compile %t/cpu.mlir --to=kernel -q | FileCheck %s --check-prefix=ROWS
// RUN: not moe-opt %t/cpu.mlir --moe-spmd-to-scheduled=target=cuda:sm_90a 2>&1 | FileCheck %s --check-prefix=CONTRADICTION
// RUN: not moe-compile %t/cpu.mlir --to=kernel -q --target-cpu=znver4 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not moe-compile %t/cpu.mlir --to=kernel -q --target=cuda:sm_90a 2>&1 | FileCheck %s --check-prefix=DEVICE

// RUN: moe-opt %t/cuda.mlir --moe-spmd-to-scheduled --moe-scheduled-to-kernel | FileCheck %s --check-prefix=CUDA
// RUN: moe-compile %t/cuda.mlir --to=kernel -q | FileCheck %s --check-prefix=CUDA
// RUN: moe-opt %t/cuda.mlir --moe-spmd-to-scheduled --moe-scheduled-to-kernel | moe-translate --kernel-to-cuda | FileCheck %s --check-prefix=TEXT
// RUN: not moe-opt %t/cuda.mlir --moe-spmd-to-scheduled=target=cpu:native 2>&1 | FileCheck %s --check-prefix=NATIVE
// RUN: sed 's/rows = 128/rows = 64/' %t/cuda.mlir | not moe-opt --moe-spmd-to-scheduled 2>&1 | FileCheck %s --check-prefix=REFUSED

// Tiles that are chosen for one device are not those of another one.
// RUN: moe-opt %t/cpu.mlir --moe-spmd-to-scheduled -o %t/scheduled.mlir
// RUN: not moe-opt %t/scheduled.mlir --moe-scheduled-to-kernel=target=cuda:sm_90a 2>&1 | FileCheck %s --check-prefix=CONTRADICTION
// RUN: not moe-compile %t/scheduled.mlir --to=kernel -q --target-cpu=znver4 2>&1 | FileCheck %s --check-prefix=LATE

// Kernels that are made for a CPU cannot be had for a GPU any more: that is said, and where to start.
// RUN: moe-opt %t/cpu.mlir --moe-spmd-to-scheduled --moe-scheduled-to-kernel -o %t/kernels.mlir
// RUN: not moe-translate --kernel-to-cuda %t/kernels.mlir 2>&1 | FileCheck %s --check-prefix=ADVICE

// ROWS: kernel.target = #x86.target<cpu = "x86-64-v3", rows = 4, columns = 16, vector = 8>
// ROWS: kernel.row_tile {{.*}} max 4 {
// CONTRADICTION: error: 'kernel.target' is for CPU 'x86-64-v3', but option 'target' says 'cuda:sm_90a'; remove the attribute or the option
// FLAG: error: '{{.*}}cpu.mlir' has a 'kernel.target' for CPU 'x86-64-v3', but --target-cpu says znver4; leave it out, or remove the attribute
// LATE: error: '{{.*}}scheduled.mlir' has a 'kernel.target' for CPU 'x86-64-v3', but --target-cpu says znver4; leave it out, or start from an earlier level
// DEVICE: error: '{{.*}}cpu.mlir' has a 'kernel.target' for the CPU, but --target says cuda:sm_90a
// CUDA: kernel.target = #cuda.target<device = "h200", rows = 128, columns = 64, depth = 64, activation = approximate>
// CUDA: kernel.row_tile {{.*}} max 128 {
// TEXT: moe::StageRing<8, 
// NATIVE: error: 'kernel.target' is for GPU 'h200', but option 'target' says 'cpu:native'; remove the attribute or the option
// REFUSED: error: 'rows' is 64; kernels for sm_90a are written for 128
// ADVICE: error: 'kernel.target' is for CPU 'x86-64-v3'; make the kernels from level spmd for a GPU (moe-spmd-to-scheduled=target=cuda:sm_90a)

//--- cpu.mlir
module attributes {moe.level = "spmd", kernel.target = #x86.target<cpu = "x86-64-v3", rows = 4, columns = 16, vector = 8>} {
  func.func @main(%x: tensor<?x64xf32> {moe.name = "x", moe.dims = ["n", ""]}, %w: tensor<128x64xf32> {moe.name = "w"})
      -> (tensor<?x128xf32> {moe.name = "y", moe.dims = ["n", ""]}) {
    %y = nn.linear %x, %w : tensor<?x64xf32>, tensor<128x64xf32> -> tensor<?x128xf32>
    return %y : tensor<?x128xf32>
  }
}
//--- cuda.mlir
module attributes {moe.level = "spmd", kernel.target = #cuda.target<device = "h200", rows = 128, columns = 64, depth = 64, activation = approximate>} {
  func.func @main(%x: tensor<?x64xbf16> {moe.name = "x", moe.dims = ["n", ""]}, %w: tensor<128x64xbf16> {moe.name = "w"})
      -> (tensor<?x128xbf16> {moe.name = "y", moe.dims = ["n", ""]}) {
    %y = nn.linear %x, %w : tensor<?x64xbf16>, tensor<128x64xbf16> -> tensor<?x128xbf16>
    return %y : tensor<?x128xbf16>
  }
}
