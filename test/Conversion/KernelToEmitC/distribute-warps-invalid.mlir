// RUN: moe-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(kernel.func(kernel-distribute-warps))'

kernel.func @nested(%n: index) {
  scf.forall (%i) in (%n) {
    // expected-error@+1 {{'scf.forall' op is nested, has shared outputs or does not count from 0 by 1}}
    scf.forall (%j) in (%n) {
    }
  }
  kernel.return
}

// -----

kernel.func @step(%n: index) {
  // expected-error@+1 {{'scf.forall' op is nested, has shared outputs or does not count from 0 by 1}}
  scf.forall (%i) = (0) to (%n) step (2) {
  }
  kernel.return
}
