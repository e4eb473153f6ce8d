// The layer of exchange.mlir with a schedule that overlaps: what is launched at the same time, and what waits for what.
// RUN: sed "s/schedule(<plain>)/schedule(<overlap, chunk = 32, steps = [1, 1], slices = 1>)/" %S/exchange.mlir \
// RUN:   | moe-opt --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows | FileCheck %s
// RUN: sed "s/schedule(<plain>)/schedule(<overlap, chunk = 32, steps = [2], slices = 1>)/" %S/exchange.mlir \
// RUN:   | moe-opt --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows \
// RUN:   | FileCheck %s --check-prefix=ONE

// CHECK-LABEL: func.func @main
// A chunk has more rows than that where there are very many.
// CHECK: %[[LEAST:.*]] = arith.ceildivui %[[ROOM:.*]], %c256
// CHECK: %[[CHUNK:.*]] = arith.maxui %c32, %[[LEAST]]
// CHECK: %[[CHUNKS:.*]] = arith.ceildivui %[[ROOM]], %[[CHUNK]]
// Ids and weights travel before the layout is known, without the rows.
// CHECK: %[[ROWS:.*]] = kernel.window(%{{.*}}) on @ep as "rows" : !kernel.window<?x64xbf16>
// CHECK: kernel.launch @send_rows({{.*}}row_bytes = 12 : i64
// CHECK: kernel.launch @announce_rows(
// CHECK: kernel.launch @await_rows(
// CHECK: kernel.launch @layout_4(
// CHECK: %[[CAME:.*]] = kernel.window() on @ep as "chunks came" : !kernel.window<512xi32>
// CHECK: %[[BACK:.*]] = kernel.window() on @ep as "sums came" : !kernel.window<512xi32>
// CHECK: kernel.launch @order_records_4({{.*}}) rows(
// CHECK: kernel.launch_group {
// CHECK-NEXT: kernel.launch @send_chunks({{.*}}%[[ROWS]], %[[CAME]]{{.*}}moe.phase = "mlp: rows to experts"{{.*}}row_bytes = 128 : i64
// CHECK-NEXT: kernel.launch @experts_up_4x96x64_bf16_gated(%[[ROWS]], {{.*}}%[[CAME]]{{.*}}) phases(2){{.*}}moe.flags = {each = {{[0-9]+}} : i64, slices = 0 : i64, stride = 1 : i64}
// CHECK-NEXT: {{^ *\}$}}
// CHECK: %[[SUMS:.*]] = kernel.window(%{{.*}}) on @ep as "sums" : !kernel.window<?x64xf32>
// CHECK: kernel.launch_group {
// CHECK-NEXT: kernel.launch @experts_down_4x64x48_bf16({{.*}}) phases(1)
// CHECK-NEXT: kernel.launch @return_sums_4_top2_tree4({{.*}}%[[SUMS]], %[[BACK]]{{.*}}) phases(1) lag(1)
// CHECK-NEXT: {{^ *\}$}}
// CHECK: kernel.launch @await_sums(%[[BACK]], %{{.*}}, %{{.*}}) {{.*}}moe.flags = {each = 2 : i64, slices = 1 : i64, stride = 1 : i64}
// CHECK: kernel.launch @combine_64_bf16_top2_tree2(

// CHECK-LABEL: kernel.func @experts_up_4x96x64_bf16_gated
// CHECK: %[[PHASE:.*]] = kernel.phase
// CHECK: scf.forall
// CHECK: scf.for %[[FLAG:.*]] =
// CHECK: kernel.await %{{.*}}[%[[FLAG]]]
// CHECK: kernel.row_tile

// CHECK-LABEL: kernel.func @send_chunks
// CHECK: scf.forall
// CHECK: scf.for
// CHECK: kernel.put
// CHECK: kernel.signal

// CHECK-LABEL: kernel.func @experts_down_4x64x48_bf16
// CHECK: %[[SLICE:.*]] = kernel.phase
// CHECK: scf.forall
// CHECK: kernel.row_tile
// CHECK: kernel.arrive %{{.*}}[%[[SLICE]]]

// CHECK-LABEL: kernel.func @return_sums_4_top2_tree4
// CHECK: %[[SLICE:.*]] = kernel.phase
// CHECK: scf.forall
// CHECK: kernel.await_arrivals %{{.*}}[%[[SLICE]]]
// CHECK: memref.store
// CHECK: kernel.put
// CHECK: kernel.signal

// ONE: kernel.launch @experts_up_4x96x64_bf16_gated({{.*}}) phases(1)
// ONE-LABEL: kernel.func @order_records_4
