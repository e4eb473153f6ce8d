// RUN: moe-opt %s --kernel-distribute-blocks --split-input-file --verify-diagnostics

kernel.func @nested(%n: index) {
  scf.forall (%i) in (%n) {
    // expected-error@+1 {{'scf.forall' op is nested in another; blocks share one loop over tiles at a time}}
    scf.forall (%j) in (%n) {
    }
  }
  kernel.return
}

// -----

kernel.func @shared(%n: index, %t: tensor<4xf32>) {
  // expected-error@+1 {{'scf.forall' op has shared outputs; a kernel's loop over tiles works on memrefs}}
  %r = scf.forall (%i) in (%n) shared_outs(%o = %t) -> (tensor<4xf32>) {
    scf.forall.in_parallel {
    }
  }
  kernel.return
}
