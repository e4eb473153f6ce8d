// The passes of each arrow. (The module is empty: the last arrow misses its host function, after printing.)
// RUN: moe-opt %s --moe-graph-to-spmd --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=SPMD
// RUN: moe-opt %s --moe-graph-to-spmd=parallel=ep=2,tokens=split --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: moe-opt %s --moe-spmd-to-scheduled --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=SCHEDULED
// RUN: moe-opt %s --moe-spmd-to-scheduled="cluster=8xH200 schedule-tokens=64 windows=4096" --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: moe-opt %s --moe-scheduled-to-kernel --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not moe-opt %s --moe-kernel-to-runtime --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=RUNTIME

// SPMD: moe-verify-level{level=graph},
// SPMD-NEXT: moe-partition{parallel={{.*}}},
// SPMD-NEXT: moe-verify-level{level=spmd},
// SPMD-NEXT: moe-set-level{level=spmd}
// RANKS: moe-partition{parallel=ep=2,tokens=split variants=},
// SCHEDULED: moe-verify-level{level=spmd},
// SCHEDULED-NEXT: kernel-set-target{{.*}},
// SCHEDULED: graph-fuse-elementwise
// SCHEDULED: graph-choose-tiles
// SCHEDULED: graph-approximate-activations,
// SCHEDULED-NEXT: graph-cut-exchanges{windows=0},
// SCHEDULED-NEXT: moe-schedule{cluster= tokens=0},
// SCHEDULED-NEXT: moe-verify-level{level=scheduled},
// SCHEDULED-NEXT: moe-set-level{level=scheduled}
// CLUSTER: graph-cut-exchanges{windows=4096},
// CLUSTER-NEXT: moe-schedule{cluster=8xH200 tokens=64},
// KERNEL: kernel-set-target{{.*}},
// KERNEL-NEXT: moe-verify-level{level=scheduled},
// KERNEL-NOT: graph-choose
// KERNEL: graph-check-bounds
// KERNEL-NEXT: )
// KERNEL-NEXT: convert-graph-to-kernel
// RUNTIME: moe-verify-level{level=kernel},
// RUNTIME: kernel-mark-noalias
// RUNTIME: kernel-plan-memory
// RUNTIME: convert-host-to-moert
// RUNTIME: convert-kernel-func-to-llvm
// RUNTIME: moe-verify-level{level=runtime}
module attributes {kernel.target = #x86.target<rows = 6, columns = 64, vector = 16>} {}
