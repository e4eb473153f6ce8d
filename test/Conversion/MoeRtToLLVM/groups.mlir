// RUN: moe-opt %s --convert-moert-to-llvm | FileCheck %s

llvm.func @a(%args: !llvm.ptr, %block: i64, %blocks: i64) {
  llvm.return
}
llvm.func @b(%args: !llvm.ptr, %block: i64, %blocks: i64) {
  llvm.return
}

// Two members of seven fields, with two and one slots.
// CHECK-LABEL: llvm.func @moe_run
// CHECK-SAME: (%[[CTX:.*]]: !llvm.ptr, %[[X:.*]]: !llvm.ptr, %[[N:.*]]: i64, %[[M:.*]]: i64)
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(17 : i64)
// CHECK: %[[SLOTS:.*]] = llvm.alloca %[[SIZE]] x i64
// CHECK: %[[ARGSA:.*]] = llvm.getelementptr %[[SLOTS]][14] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: %[[A:.*]] = llvm.getelementptr %{{.*}}[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr)>
// CHECK: %[[THREE:.*]] = llvm.mlir.constant(3 : i64)
// CHECK: %[[NOLAG:.*]] = llvm.mlir.constant(0 : i64)
// CHECK: %[[ARGSB:.*]] = llvm.getelementptr %[[SLOTS]][16] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: %[[B:.*]] = llvm.getelementptr %{{.*}}[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr)>
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i64)
// CHECK: %[[LAG:.*]] = llvm.mlir.constant(2 : i64)
// CHECK: llvm.store %[[A]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: llvm.store %[[ARGSA]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: llvm.store %[[N]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %[[THREE]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %[[NOLAG]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %[[N]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %[[M]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %[[B]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: llvm.store %[[ARGSB]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: llvm.store %[[M]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %[[ONE]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %[[LAG]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %[[X]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: llvm.store %[[N]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %[[M]], %{{.*}} : i64, !llvm.ptr
// CHECK: %[[COUNT:.*]] = llvm.mlir.constant(2 : i32)
// CHECK: llvm.call @moert_launch_group(%[[CTX]], %[[SLOTS]], %[[COUNT]]) : (!llvm.ptr, !llvm.ptr, i32) -> ()
// CHECK-NOT: moert.
llvm.func @moe_run(%ctx: !llvm.ptr, %x: !llvm.ptr, %n: i64, %m: i64) {
  moert.launch_group %ctx {
    moert.launch %ctx, @a(%x, %n) blocks(%n) phases(3) rows(%n) work(%m) : !llvm.ptr, i64
    moert.launch %ctx, @b(%m) blocks(%m) lag(2) rows(%n) work(%m) : i64
  }
  llvm.return
}
