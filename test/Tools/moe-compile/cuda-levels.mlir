// With a GPU as target every level prints and parses back, and says what it is for. From level scheduled on there is a program for each device.
// RUN: rm -rf %t && mkdir %t
// RUN: moe-compile %s --target=cuda:sm_90a --target-cpu=x86-64-v3 --to=runtime -o %t/out.mlir --dump-intermediates=%t/ir --report=%t/report.txt -q
// RUN: ls %t/ir | FileCheck %s --check-prefix=FILES
// RUN: diff %t/out.mlir %t/ir/4_runtime.mlir
// RUN: moe-compile %t/ir/2_scheduled.mlir --to=kernel -q | diff - %t/ir/3_kernel.mlir
// RUN: moe-compile %t/ir/2_scheduled.cpu.mlir --to=kernel -q | diff - %t/ir/3_kernel.cpu.mlir
// RUN: moe-compile %t/ir/3_kernel.mlir --to=kernel -q | diff - %t/ir/3_kernel.mlir
// RUN: moe-compile %t/ir/3_kernel.mlir --to=runtime -q | diff - %t/ir/4_runtime.mlir
// RUN: moe-compile %t/ir/4_runtime.mlir --target=cuda:sm_90a --to=runtime -q | diff - %t/ir/4_runtime.mlir
// RUN: moe-compile %s --target-cpu=x86-64-v3 --to=kernel -q | diff - %t/ir/3_kernel.cpu.mlir
// RUN: FileCheck %s --check-prefix=KERNEL < %t/ir/3_kernel.mlir
// RUN: FileCheck %s --check-prefix=RUNTIME < %t/ir/4_runtime.mlir
// RUN: FileCheck %s --check-prefix=CPU < %t/ir/4_runtime.cpu.mlir
// RUN: FileCheck %s --check-prefix=REPORT < %t/report.txt
// RUN: not moe-compile %t/ir/3_kernel.mlir --target=cpu --to=runtime 2>&1 | FileCheck %s --check-prefix=OTHER

// FILES:      0_graph.mlir
// FILES-NEXT: 1_spmd.mlir
// FILES-NEXT: 2_scheduled.cpu.mlir
// FILES-NEXT: 2_scheduled.mlir
// FILES-NEXT: 3_kernel.cpu.mlir
// FILES-NEXT: 3_kernel.mlir
// FILES-NEXT: 4_runtime.cpu.mlir
// FILES-NEXT: 4_runtime.mlir
// KERNEL:  kernel.target = #cuda.target<device = "h200"
// KERNEL:  func.func @first(
// KERNEL:  func.func @second(
// RUNTIME: llvm.func @moe_run_first
// RUNTIME: llvm.func @moe_run_second
// CPU:     cpu = "x86-64-v3"
// CPU:     llvm.func @moe_run_first
// REPORT:      gpu sm_90a: tile 128x256 at most
// REPORT:      first {{.*}}
// REPORT-NEXT: linear_32x64_bf16 {{.*}} bf16 wgmma
// REPORT:      second {{.*}}
// REPORT-NEXT: linear_32x64_bf16 {{.*}} bf16 wgmma
// OTHER:   moe-compile: error: '{{.*}}3_kernel.mlir' is at level kernel for a GPU, but --target says cpu
module attributes {moe.level = "graph"} {
  func.func @first(%x: tensor<?x64xbf16> {moe.name = "x", moe.dims = ["tokens", ""]}) -> (tensor<?x32xbf16> {moe.name = "y", moe.dims = ["tokens", ""]}) {
    %w = moe.parameter ["first"] : tensor<32x64xbf16>
    %y = nn.linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16> -> tensor<?x32xbf16>
    return %y : tensor<?x32xbf16>
  }
  func.func @second(%x: tensor<?x64xbf16> {moe.name = "x", moe.dims = ["tokens", ""]}) -> (tensor<?x32xbf16> {moe.name = "y", moe.dims = ["tokens", ""]}) {
    %w = moe.parameter ["second"] : tensor<32x64xbf16>
    %y = nn.linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16> -> tensor<?x32xbf16>
    return %y : tensor<?x32xbf16>
  }
}
