// What stands in kernel.target but is no target, or stands elsewhere.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'kernel.target' is a target of kernels, as kernel-set-target writes it into a module, got "native"}}
module attributes {kernel.target = "native"} {}

// -----

// expected-error@+1 {{'kernel.target' is a target of kernels, as kernel-set-target writes it into a module, got {columns = 16 : i64}}}
module attributes {kernel.target = {columns = 16}} {}

// -----

module {
  // expected-error@+1 {{'kernel.target' is a target of kernels, as kernel-set-target writes it into a module}}
  kernel.func @f() attributes {kernel.target = #x86.target<rows = 6, columns = 16, vector = 8>} {
    kernel.return
  }
}
