// A schedule that overlaps where matrix registers want their rows gathered: a third member of the first group gathers those of a step when
// they have come, and the product of the step waits for all of them. Behind it everything is as without matrix registers.
// RUN: sed "s/schedule(<plain>)/schedule(<overlap, chunk = 32, steps = [1, 1], slices = 1>)/" %S/exchange.mlir \
// RUN:   | moe-opt --kernel-set-target=target=cpu:sapphirerapids --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// The waits stand in front of the tiles of the registers.
// RUN: moe-opt %t.mlir --kernel-to-runtime | FileCheck %s --check-prefix=REGISTERS
// On a GPU nobody gathers.
// RUN: moe-opt %S/exchange.mlir --kernel-set-target=target=cuda:h200 --graph-to-scheduled \
// RUN:   | sed "s/schedule(<plain>)/schedule(<overlap, chunk = 32, steps = [1, 1], slices = 1>)/; s/placement(in_place)/placement(apart)/" \
// RUN:   | not moe-opt --moe-verify-level=level=scheduled 2>&1 | FileCheck %s --check-prefix=GPU

// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]] = kernel.window(%{{.*}}) on @ep as "rows" : !kernel.window<?x64xbf16>
// CHECK-NOT: kernel.launch @gather_64
// CHECK: %[[GATHERED:.*]] = memref.alloc(%{{.*}}) : memref<?x96xbf16>
// CHECK: %[[CAME:.*]] = kernel.window() on @ep as "chunks came" : !kernel.window<512xi32>
// CHECK: memref.alloc() : memref<8x5xi32>
// CHECK-NEXT: memref.alloc() : memref<2xi32>
// CHECK-NEXT: memref.alloc() : memref<1xi32>
// CHECK-NEXT: %[[READY:.*]] = memref.alloc() : memref<2xi32>
// CHECK: kernel.launch @order_records_4({{.*}}%[[READY]], %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) rows(
// CHECK: kernel.launch_group {
// CHECK-NEXT: kernel.launch @send_chunks({{.*}}%[[ROWS]], %[[CAME]]
// CHECK-NEXT: kernel.launch @gather_records_4(%[[ROWS]], %[[GATHERED]], {{.*}}%[[CAME]]{{.*}}%[[READY]]) phases(2){{.*}}moe.flags = {each = 7 : i64, slices = 0 : i64, stride = 1 : i64}
// CHECK-NEXT: kernel.launch @experts_up_4x96x64_bf16_gated(%[[GATHERED]], {{.*}}%[[READY]]) phases(2) {{[^=]*}}moe.phase = "mlp: rows to experts"} :
// CHECK-NEXT: {{^ *\}$}}
// CHECK: kernel.launch_group {
// CHECK-NEXT: kernel.launch @experts_down_4x64x48_bf16(
// CHECK-NEXT: kernel.launch @return_sums_4_top2_tree4({{.*}}) phases(1) lag(1)

// CHECK-LABEL: kernel.func @experts_up_4x96x64_bf16_gated
// CHECK: %[[PHASE:.*]] = kernel.phase
// CHECK: %[[RECORDS:.*]] = arith.index_cast
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (2, %[[RECORDS]])
// CHECK: kernel.await_arrivals %{{.*}}[%[[PHASE]]] reach %[[RECORDS]]
// CHECK: kernel.row_tile %{{.*}} max 32
// CHECK: kernel.mma

// CHECK-LABEL: kernel.func @gather_records_4
// CHECK: %[[PHASE:.*]] = kernel.phase
// CHECK: scf.forall
// CHECK: scf.for %[[FLAG:.*]] =
// CHECK: kernel.await %{{.*}}[%[[FLAG]]]
// CHECK: memref.store %{{.*}} : memref<?x96xbf16>
// CHECK: kernel.arrive %{{.*}}[%[[PHASE]]]

// REGISTERS-LABEL: llvm.func internal @experts_up_4x96x64_bf16_gated.body
// REGISTERS: llvm.call @moert_await_arrivals
// REGISTERS: llvm.call_intrinsic "llvm.x86.tdpbf16ps"

// GPU: 'moe.expert' op has a schedule that overlaps, but has rows of 'placement(apart)', which come all at once; make it plain
