// RUN: moe-opt %s --verify-roundtrip | FileCheck %s

llvm.func @linear(!llvm.ptr, i64, i64)

// CHECK-LABEL: llvm.func @run
llvm.func @run(%ctx: !llvm.ptr) -> i32 {
  // CHECK: moert.input %{{.*}}, 0
  %x = moert.input %ctx, 0
  // CHECK: moert.input_size %{{.*}}, 0, 1
  %m = moert.input_size %ctx, 0, 1
  // CHECK: moert.output %{{.*}}, 1(%{{.*}}, %{{.*}})
  %y = moert.output %ctx, 1(%m, %m)
  // CHECK: moert.output %{{.*}}, 2()
  %scalar = moert.output %ctx, 2()
  // CHECK: moert.state %{{.*}}, 3
  %s = moert.state %ctx, 3
  // CHECK: moert.parameter %{{.*}}, 4
  %w = moert.parameter %ctx, 4
  // CHECK: moert.arena %{{.*}}, %{{.*}}
  %a = moert.arena %ctx, %m
  // CHECK: moert.constant %{{.*}}, %{{.*}}, 4096
  %table = moert.constant %ctx, %a, 4096
  // CHECK: moert.blocks
  %n = moert.blocks %ctx
  // CHECK: moert.launch %{{.*}}, @linear(%{{.*}}, %{{.*}}, %{{.*}}) blocks(%{{.*}}) rows(%{{.*}}) work(%{{.*}}) : !llvm.ptr, i64, !llvm.ptr
  moert.launch %ctx, @linear(%x, %m, %y) blocks(%n) rows(%m) work(%m) : !llvm.ptr, i64, !llvm.ptr
  // CHECK: moert.launch %{{.*}}, @linear() blocks(%{{.*}}) rows(%{{.*}}) work(%{{.*}}){{$}}
  moert.launch %ctx, @linear() blocks(%n) rows(%m) work(%m)
  // CHECK: moert.launch_group %{{.*}} {
  // CHECK-NEXT: moert.launch %{{.*}}, @{{.*}}(%{{.*}}) blocks(%{{.*}}) phases(2) lag(1) rows(%{{.*}}) work(%{{.*}}) : i64
  // CHECK-NEXT: }
  moert.launch_group %ctx {
    moert.launch %ctx, @linear(%m) blocks(%m) phases(2) lag(1) rows(%m) work(%m) : i64
  }
  // CHECK: moert.rank %{{.*}}, 0
  %me = moert.rank %ctx, 0
  // CHECK: moert.agree %{{.*}}, 0, %{{.*}}
  %room = moert.agree %ctx, 0, %m
  // CHECK: moert.windows %{{.*}}, 1, %{{.*}}
  %peers = moert.windows %ctx, 1, %room
  // CHECK: moert.part %{{.*}}, %{{.*}}, %{{.*}}
  %part = moert.part %ctx, %peers, %room
  // CHECK: moert.phase %{{.*}}, "rows to experts"
  moert.phase %ctx, "rows to experts"
  // CHECK: moert.traffic %{{.*}}, 0, %{{.*}}, %{{.*}}, row_bytes = 512, fixed_bytes = 12
  moert.traffic %ctx, 0, %peers, %room, row_bytes = 512, fixed_bytes = 12
  // CHECK: moert.flags %{{.*}}, %{{.*}}, slices = 2, stride = 1
  moert.flags %ctx, %room, slices = 2, stride = 1
  // CHECK: moert.expert_load %{{.*}}, "model.layers.0.mlp", %{{.*}}, 8
  moert.expert_load %ctx, "model.layers.0.mlp", %a, 8
  // CHECK: moert.read %{{.*}}, %{{.*}} : i64
  %position = moert.read %ctx, %a : i64
  // CHECK: moert.check %{{.*}}, %{{.*}}, "an index is outside dimension 0"
  %holds = llvm.mlir.constant(true) : i1
  moert.check %ctx, %holds, "an index is outside dimension 0"
  // CHECK: moert.check %{{.*}}, %{{.*}}, "{0} is no size"(%{{.*}})
  moert.check %ctx, %holds, "{0} is no size"(%m)
  // CHECK: moert.check %{{.*}}, %{{.*}}, "an odd number" {of_call}
  moert.check %ctx, %holds, "an odd number" {of_call}
  %ok = llvm.mlir.constant(0 : i32) : i32
  llvm.return %ok : i32
}
