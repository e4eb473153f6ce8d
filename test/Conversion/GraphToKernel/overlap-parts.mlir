// The layer of exchange.mlir by parts of all ranks' rows, with records of a few tiles, and blocks of its own beside products on a GPU.
// RUN: sed "s/schedule(<plain>)/schedule(<overlap, chunk = 32, order = part, steps = [1, 2, 1], piece = 20, send = 3, slices = 1, return = 5>)/" %S/exchange.mlir > %t.mlir
// RUN: moe-opt %t.mlir --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows | FileCheck %s
// RUN: moe-opt %t.mlir --kernel-set-target=target=cuda:h200 --graph-to-scheduled --scheduled-to-kernel | FileCheck %s --check-prefix=CUDA
// RUN: sed "s/schedule(<plain>)/schedule(<parts = 4>)/" %S/exchange.mlir \
// RUN:   | moe-opt --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel --kernel-verify-windows | FileCheck %s --check-prefix=DEGREE

// CHECK-LABEL: func.func @main
// A part is no longer than what a rank can send, and there are whole parts.
// CHECK: %[[AGREED:.*]] = kernel.agree
// CHECK: %[[MOST:.*]] = arith.minui %c32, %[[AGREED]]
// CHECK: %[[WANTED:.*]] = arith.maxui %[[MOST]], %c1
// CHECK: %[[LEAST:.*]] = arith.ceildivui %[[AGREED]], %c256
// CHECK: %[[CHUNK:.*]] = arith.maxui %[[WANTED]], %[[LEAST]]
// CHECK: %[[CHUNKS:.*]] = arith.ceildivui %[[AGREED]], %[[CHUNK]]
// CHECK: %[[ROOM:.*]] = arith.muli %[[CHUNKS]], %[[CHUNK]]
// CHECK: %[[ALL:.*]] = arith.muli %[[ROOM]], %c2
// CHECK: kernel.window(%[[ALL]]) on @ep as "rows" : !kernel.window<?x64xbf16>
// Each of the four experts of a rank can have a record more than whole pieces, of 18 rows.
// CHECK: %[[PIECES:.*]] = arith.ceildivui %{{.*}}, %c18
// CHECK: %[[RECORDS:.*]] = arith.addi %[[PIECES]], %c4
// CHECK: %[[SIZE:.*]] = arith.muli %[[RECORDS]], %c3
// CHECK: memref.alloc(%[[SIZE]]) : memref<?x5xi32>
// CHECK: kernel.launch @order_records_4({{.*}}%[[CHUNK]], {{.*}}, %[[RECORDS]]
// CHECK: kernel.launch @send_chunks(
// CHECK-NOT: blocks(
// CHECK: kernel.launch @experts_up_4x96x64_bf16_gated({{.*}}) phases(3){{.*}}moe.flags = {each = {{[0-9]+}} : i64, slices = 0 : i64, stride = 2 : i64}

// CUDA: kernel.launch @send_chunks({{.*}}) blocks(3) rows
// CUDA: kernel.launch @return_sums_4_top2_tree4({{.*}}) blocks(5) phases(1) lag(1)

// DEGREE: %[[AGREED:.*]] = kernel.agree
// DEGREE: %[[PART:.*]] = arith.ceildivui %[[AGREED]], %c4
// DEGREE: arith.minui %[[PART]], %[[AGREED]]
// DEGREE: kernel.launch @experts_up_4x96x64_bf16_gated({{.*}}) phases(4)
// DEGREE: kernel.launch @experts_down_4x64x48_bf16({{.*}}) phases(1)
