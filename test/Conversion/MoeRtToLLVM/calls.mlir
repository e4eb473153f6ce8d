// RUN: moe-opt %s --convert-moert-to-llvm | FileCheck %s
// RUN: moe-opt %s --convert-moert-to-llvm | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=IR
// RUN: moe-opt %s --convert-moert-to-llvm -o %t && moe-opt %t --convert-moert-to-llvm | diff %t -

// The signatures are those of moert.h.
// IR-DAG: declare ptr @moert_input(ptr, i32)
// IR-DAG: declare i64 @moert_input_size(ptr, i32, i32)
// IR-DAG: declare ptr @moert_output(ptr, i32, i32, ptr)
// IR-DAG: declare ptr @moert_state(ptr, i32)
// IR-DAG: declare ptr @moert_parameter(ptr, i32)
// IR-DAG: declare ptr @moert_constant(ptr, ptr, i64)
// IR-DAG: declare ptr @moert_arena(ptr, i64)
// IR-DAG: declare i64 @moert_blocks(ptr)
// IR-DAG: declare void @moert_launch(ptr, ptr, ptr, i64, i64, i64)
// IR-DAG: declare void @moert_expert_load(ptr, ptr, ptr, i32)
// IR-DAG: declare i32 @moert_rank(ptr, i32)
// IR-DAG: declare i64 @moert_agree(ptr, i32, i64)
// IR-DAG: declare ptr @moert_windows(ptr, i32, i64)
// IR-DAG: declare ptr @moert_part(ptr, ptr, i64)
// IR-DAG: declare void @moert_phase(ptr, ptr)
// IR-DAG: declare void @moert_flags(ptr, i64, i64, i64)
// IR-DAG: declare void @moert_traffic(ptr, i32, ptr, i64, i64, i64)
// IR-DAG: declare void @moert_read(ptr, ptr, ptr, i64)
// IR-DAG: declare void @moert_check(ptr, i32, ptr)
// IR-DAG: declare void @moert_check_call(ptr, i32, ptr)
// IR-DAG: declare void @moert_check_values(ptr, i32, ptr, i32, ptr)
// IR-DAG: @moert_kernels = internal constant [2 x { ptr, ptr }] [{ ptr, ptr } { ptr @[[A:.*]], ptr @a }, { ptr, ptr } { ptr @[[B:.*]], ptr @b }]
// IR-DAG: @[[A]] = internal constant [2 x i8] c"a\00"
// IR-DAG: @[[B]] = internal constant [2 x i8] c"b\00"

llvm.func @a(%args: !llvm.ptr, %block: i64, %blocks: i64) {
  llvm.return
}
llvm.func @unused(%args: !llvm.ptr, %block: i64, %blocks: i64) {
  llvm.return
}
llvm.func @b(%args: !llvm.ptr, %block: i64, %blocks: i64) {
  llvm.return
}

// CHECK-LABEL: llvm.func @moe_run
// CHECK-SAME: (%[[CTX:.*]]: !llvm.ptr)
// One buffer of three slots serves the output's sizes and both launches.
// CHECK: %[[COUNT:.*]] = llvm.mlir.constant(3 : i64)
// CHECK: %[[SLOTS:.*]] = llvm.alloca %[[COUNT]] x i64
// CHECK-NOT: llvm.alloca
// CHECK: llvm.call @moert_input(%[[CTX]], %{{.*}}) : (!llvm.ptr, i32) -> !llvm.ptr
// CHECK: %[[N:.*]] = llvm.call @moert_input_size
// CHECK: llvm.store %[[N]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.call @moert_output(%[[CTX]], %{{.*}}, %{{.*}}, %[[SLOTS]])
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(4096 : i64)
// CHECK: llvm.call @moert_constant(%[[CTX]], %{{.*}}, %[[SIZE]])
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @moert_kernels
// CHECK: %[[B:.*]] = llvm.getelementptr %[[TABLE]][1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr)>
// CHECK: llvm.store {{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: llvm.call @moert_launch(%[[CTX]], %[[B]], %[[SLOTS]], %[[N]], %[[N]], %[[N]])
// CHECK: %[[A:.*]] = llvm.getelementptr %{{.*}}[0]
// CHECK: llvm.call @moert_launch(%[[CTX]], %[[A]], %[[SLOTS]],
// CHECK: llvm.call @moert_expert_load
// CHECK: llvm.call @moert_rank(%[[CTX]], %{{.*}}) : (!llvm.ptr, i32) -> i32
// CHECK: %[[AXIS:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: %[[ROOM:.*]] = llvm.call @moert_agree(%[[CTX]], %[[AXIS]], %[[N]])
// CHECK: %[[PEERS:.*]] = llvm.call @moert_windows(%[[CTX]], %{{.*}}, %[[ROOM]])
// CHECK: llvm.call @moert_part(%[[CTX]], %[[PEERS]], %[[ROOM]])
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @[[PHASE:.*]] : !llvm.ptr
// CHECK: llvm.call @moert_phase(%[[CTX]], %[[TEXT]])
// CHECK: %[[ROWBYTES:.*]] = llvm.mlir.constant(512 : i64)
// CHECK: %[[FIXED:.*]] = llvm.mlir.constant(12 : i64)
// CHECK: llvm.call @moert_traffic(%[[CTX]], %{{.*}}, %[[PEERS]], %[[ROOM]], %[[ROWBYTES]], %[[FIXED]])
// CHECK: llvm.call @moert_flags(%[[CTX]], %[[ROOM]], %{{.*}}, %{{.*}}) : (!llvm.ptr, i64, i64, i64) -> ()
// A value is read by way of the buffer; a truth value has a byte.
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i64)
// CHECK: llvm.call @moert_read(%[[CTX]], %[[SLOTS]], %[[PEERS]], %[[ONE]])
// CHECK: llvm.load %[[SLOTS]] : !llvm.ptr -> i1
// CHECK: %[[EIGHT:.*]] = llvm.mlir.constant(8 : i64)
// CHECK: llvm.call @moert_read(%[[CTX]], %[[SLOTS]], %[[PEERS]], %[[EIGHT]])
// CHECK: %[[POSITION:.*]] = llvm.load %[[SLOTS]] : !llvm.ptr -> i64
// CHECK: llvm.call @moert_check
// CHECK: llvm.icmp "eq" %[[POSITION]]
// CHECK: %[[HOLDS:.*]] = llvm.zext %{{.*}} : i1 to i32
// CHECK: llvm.call @moert_check(%[[CTX]], %[[HOLDS]], %{{.*}}) : (!llvm.ptr, i32, !llvm.ptr) -> ()
// CHECK: llvm.store %[[N]], %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.call @moert_check_values(%[[CTX]], %{{.*}}, %{{.*}}, %{{.*}}, %[[SLOTS]])
// CHECK: llvm.call @moert_check_call(%[[CTX]], %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, !llvm.ptr) -> ()
// CHECK-NOT: moert.
llvm.func @moe_run(%ctx: !llvm.ptr) -> i32 {
  %x = moert.input %ctx, 0
  %n = moert.input_size %ctx, 0, 1
  %y = moert.output %ctx, 0(%n)
  %s = moert.state %ctx, 0
  %w = moert.parameter %ctx, 0
  %m = moert.arena %ctx, %n
  %table = moert.constant %ctx, %x, 4096
  %blocks = moert.blocks %ctx
  moert.launch %ctx, @b(%x, %n, %y) blocks(%n) rows(%n) work(%n) : !llvm.ptr, i64, !llvm.ptr
  moert.launch %ctx, @a(%s) blocks(%blocks) rows(%n) work(%n) : !llvm.ptr
  moert.expert_load %ctx, "layers.0", %m, 4
  %me = moert.rank %ctx, 1
  %room = moert.agree %ctx, 1, %n
  %peers = moert.windows %ctx, 1, %room
  %part = moert.part %ctx, %peers, %room
  moert.phase %ctx, "rows to experts"
  moert.traffic %ctx, 1, %peers, %room, row_bytes = 512, fixed_bytes = 12
  moert.flags %ctx, %room, slices = 2, stride = 1
  %inside = moert.read %ctx, %peers : i1
  %position = moert.read %ctx, %peers : i64
  moert.check %ctx, %inside, "an index is outside"
  %equal = llvm.icmp "eq" %position, %blocks : i64
  moert.check %ctx, %equal, "not the same"
  moert.check %ctx, %equal, "{0} and {1}"(%n, %n)
  moert.check %ctx, %equal, "not alike" {of_call}
  %zero = llvm.mlir.constant(0 : i32) : i32
  llvm.return %zero : i32
}
