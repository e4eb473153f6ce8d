// RUN: moe-opt %s --convert-moert-to-llvm --split-input-file --verify-diagnostics

llvm.func @declared(!llvm.ptr, i64, i64)

llvm.func @main(%ctx: !llvm.ptr, %n: i64) {
  // expected-error@+1 {{'moert.launch' op names no compiled kernel: @declared}}
  moert.launch %ctx, @declared() blocks(%n) rows(%n) work(%n)
  llvm.return
}
