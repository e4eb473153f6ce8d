// RUN: moe-opt %s --convert-kernel-func-to-llvm --split-input-file --verify-diagnostics | FileCheck %s

// Slots: data pointer and dynamic sizes of a memref, then scalars; the last two arguments are not slots.
// CHECK-LABEL: llvm.func internal @f.body
// CHECK-SAME: (%{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: f32, %{{.*}}: i64, %{{.*}}: i64) attributes {always_inline}
// CHECK: builtin.unrealized_conversion_cast {{.*}} to memref<?x4x?xf32>
// CHECK-LABEL: llvm.func @f(
// CHECK-SAME: %[[ARGS:.*]]: !llvm.ptr, %[[BLOCK:.*]]: i64, %[[BLOCKS:.*]]: i64)
// CHECK: llvm.getelementptr %[[ARGS]][0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: llvm.load {{.*}} -> !llvm.ptr
// CHECK: llvm.getelementptr %[[ARGS]][2]
// CHECK: llvm.load {{.*}} -> i64
// CHECK: llvm.getelementptr %[[ARGS]][4]
// CHECK: llvm.load {{.*}} -> f32
// CHECK-NOT: getelementptr
// CHECK: llvm.call @f.body({{.*}}, %[[BLOCK]], %[[BLOCKS]])
kernel.func @f(%x: memref<?x4x?xf32> {llvm.noalias}, %y: memref<4xbf16>, %s: f32, %block: index, %blocks: index) {
  %c0 = arith.constant 0 : index
  memref.store %s, %x[%block, %c0, %blocks] : memref<?x4x?xf32>
  kernel.return
}

// -----

// expected-error@+1 {{'kernel.func' op argument 0 of type 'vector<4xf32>' has no 8-byte slot; kernels take memrefs, windows, integers and floats}}
kernel.func @wide(%v: vector<4xf32>, %block: index, %blocks: index) {
  kernel.return
}

// -----

// expected-error@+1 {{'kernel.func' op has no block and number of blocks as its last arguments; kernel-distribute-blocks adds them}}
kernel.func @undistributed(%x: memref<4xf32>, %n: index) {
  kernel.return
}

// -----

// expected-error@+1 {{'kernel.func' op has no block and number of blocks as its last arguments; kernel-distribute-blocks adds them}}
kernel.func @empty() {
  kernel.return
}
