// RUN: moe-opt %s --kernel-mark-noalias | FileCheck %s
// RUN: moe-opt %s --kernel-mark-noalias -o %t && moe-opt %t --kernel-mark-noalias | diff %t -

// All operands have memory of their own at every launch; scalars are not marked.
// CHECK: kernel.func @apart(%{{.*}}: memref<4xf32> {llvm.noalias}, %{{.*}}: index, %{{.*}}: memref<4xf32> {llvm.noalias})
kernel.func @apart(%a: memref<4xf32>, %n: index, %b: memref<4xf32>) {
  kernel.return
}

// Two operands are views of one buffer in one of the launches; the third is apart.
// CHECK: kernel.func @shared(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32> {llvm.noalias})
kernel.func @shared(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  kernel.return
}

// Nothing is known of a kernel that is not launched.
// CHECK: kernel.func @unused(%{{.*}}: memref<4xf32>)
kernel.func @unused(%a: memref<4xf32>) {
  kernel.return
}

// A part of a window may be what another argument leads to; the buffer beside it is apart.
// CHECK: kernel.func @part(%{{.*}}: memref<4xf32>, %{{.*}}: !kernel.window<4xf32>, %{{.*}}: memref<4xf32> {llvm.noalias})
kernel.func @part(%a: memref<4xf32>, %w: !kernel.window<4xf32>, %b: memref<4xf32>) {
  kernel.return
}

// While a launch of a group runs, another one writes to what both have.
// CHECK: kernel.func @member(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32> {llvm.noalias})
kernel.func @member(%a: memref<4xf32>, %b: memref<4xf32>) {
  kernel.return
}
// CHECK: kernel.func @other(%{{.*}}: memref<4xf32>)
kernel.func @other(%a: memref<4xf32>) {
  kernel.return
}

func.func @group(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  kernel.launch_group {
    kernel.launch @member(%x, %y) rows(%n) work(%n) : memref<4xf32>, memref<4xf32>
    kernel.launch @other(%x) rows(%n) work(%n) : memref<4xf32>
  }
  kernel.launch @other(%y) rows(%n) work(%n) : memref<4xf32>
  return
}

shard.grid @ep(shape = 2)

func.func @ranks(%x: memref<4xf32>) {
  %n = arith.constant 4 : index
  %w = kernel.window() on @ep as "w" : !kernel.window<4xf32>
  %own = kernel.part %w : !kernel.window<4xf32> -> memref<4xf32>
  kernel.launch @part(%own, %w, %x) rows(%n) work(%n) : memref<4xf32>, !kernel.window<4xf32>, memref<4xf32>
  return
}

func.func @main(%x: memref<2x2xf32>) {
  %n = arith.constant 4 : index
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  %view = memref.collapse_shape %x [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  %again = memref.collapse_shape %x [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  kernel.launch @apart(%view, %n, %b) rows(%n) work(%n) : memref<4xf32>, index, memref<4xf32>
  kernel.launch @apart(%b, %n, %view) rows(%n) work(%n) : memref<4xf32>, index, memref<4xf32>
  kernel.launch @shared(%a, %b, %view) rows(%n) work(%n) : memref<4xf32>, memref<4xf32>, memref<4xf32>
  kernel.launch @shared(%view, %again, %a) rows(%n) work(%n) : memref<4xf32>, memref<4xf32>, memref<4xf32>
  return
}
