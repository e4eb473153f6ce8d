// RUN: moe-opt %s --split-input-file --verify-diagnostics

llvm.func @unknown(%ctx: !llvm.ptr, %n: i64) {
  // expected-error@+1 {{'moert.launch' op names no llvm.func: @linear}}
  moert.launch %ctx, @linear() blocks(%n) rows(%n) work(%n)
  llvm.return
}

// -----

llvm.mlir.global constant @linear(0 : i32) : i32

llvm.func @not_a_function(%ctx: !llvm.ptr, %n: i64) {
  // expected-error@+1 {{'moert.launch' op names no llvm.func: @linear}}
  moert.launch %ctx, @linear() blocks(%n) rows(%n) work(%n)
  llvm.return
}

// -----

llvm.func @linear(!llvm.ptr, i64)

llvm.func @signature(%ctx: !llvm.ptr, %n: i64) {
  // expected-error@+1 {{'moert.launch' op expected @linear to be '!llvm.func<void (ptr, i64, i64)>', got '!llvm.func<void (ptr, i64)>'}}
  moert.launch %ctx, @linear() blocks(%n) rows(%n) work(%n)
  llvm.return
}

// -----

llvm.func @linear(!llvm.ptr, i64, i64)

llvm.func @argument(%ctx: !llvm.ptr, %n: i64, %f: f32) {
  // expected-error@+1 {{'moert.launch' op operand #1 must be variadic of LLVM pointer or 64-bit signless integer, but got 'f32'}}
  moert.launch %ctx, @linear(%f) blocks(%n) rows(%n) work(%n) : f32
  llvm.return
}

// -----

llvm.func @index(%ctx: !llvm.ptr) {
  // expected-error@+1 {{attribute 'index' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative}}
  %0 = moert.input %ctx, -1
  llvm.return
}

// -----

llvm.func @experts(%ctx: !llvm.ptr, %p: !llvm.ptr) {
  // expected-error@+1 {{attribute 'experts' failed to satisfy constraint: 32-bit signless integer attribute whose value is positive}}
  moert.expert_load %ctx, "layer", %p, 0
  llvm.return
}

// -----

llvm.func @less(%ctx: !llvm.ptr, %p: !llvm.ptr) {
  // expected-error@+1 {{attribute 'bytes' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = moert.constant %ctx, %p, -1
  llvm.return
}

// -----

llvm.func @wide(%ctx: !llvm.ptr, %p: !llvm.ptr) {
  // expected-error@+1 {{'moert.read' op result #0 must be}}
  %0 = moert.read %ctx, %p : i128
  llvm.return
}

// -----

llvm.func @axis(%ctx: !llvm.ptr) {
  // expected-error@+1 {{attribute 'axis' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative}}
  %0 = moert.rank %ctx, -1
  llvm.return
}

// -----

llvm.func @bytes(%ctx: !llvm.ptr, %p: !llvm.ptr, %n: i64) {
  // expected-error@+1 {{attribute 'row_bytes' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  moert.traffic %ctx, 0, %p, %n, row_bytes = -1, fixed_bytes = 0
  llvm.return
}

// -----

llvm.func @k(!llvm.ptr, i64, i64)
llvm.func @phases(%ctx: !llvm.ptr, %n: i64) {
  // expected-error@+1 {{'moert.launch' op has phases or a lag, but is not in a moert.launch_group}}
  moert.launch %ctx, @k() blocks(%n) phases(2) rows(%n) work(%n)
  llvm.return
}

// -----

llvm.func @empty(%ctx: !llvm.ptr) {
  // expected-error@+1 {{'moert.launch_group' op has no launch}}
  moert.launch_group %ctx {
  }
  llvm.return
}

// -----

llvm.func @other(%ctx: !llvm.ptr) {
  moert.launch_group %ctx {
    // expected-error@+1 {{'moert.blocks' op stands in a moert.launch_group, which has launches only}}
    %n = moert.blocks %ctx
  }
  llvm.return
}

// -----

llvm.func @stride(%ctx: !llvm.ptr, %n: i64) {
  // expected-error@+1 {{attribute 'stride' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  moert.flags %ctx, %n, slices = 0, stride = 0
  llvm.return
}

// -----

llvm.func @values(%ctx: !llvm.ptr, %n: i64, %holds: i1) {
  // expected-error@+1 {{'moert.check' op is of the call, whose message has no values}}
  moert.check %ctx, %holds, "{0} rows"(%n) {of_call}
  llvm.return
}
