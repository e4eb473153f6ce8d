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

// -----

kernel.func @handed_on(%x: memref<?xf32>, %n: index, %c0: index, %c1: index) {
  scf.forall (%i) in (%n) {
    // expected-error@+1 {{'memref.load' op is used on the other side of an scf.parallel; the warps of a block hand on what they compute through memory}}
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%c0] : memref<?xf32>
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      memref.store %v, %x[%j] : memref<?xf32>
    }
  }
  kernel.return
}

// -----

kernel.func @deep(%x: memref<?xf32>, %n: index, %c0: index, %c1: index, %v: f32, %b: i1) {
  scf.forall (%i) in (%n) {
    scf.if %b {
      // expected-error@+1 {{'scf.parallel' op is inside other control flow; the warps of a block share a loop at the top of its work}}
      scf.parallel (%j) = (%c0) to (%n) step (%c1) {
        memref.store %v, %x[%j] : memref<?xf32>
      }
    }
  }
  kernel.return
}

// -----

kernel.func @two(%x: memref<?x?xf32>, %n: index, %c0: index, %c1: index, %v: f32) {
  scf.forall (%i) in (%n) {
    // expected-error@+1 {{'scf.parallel' op has several dimensions or results; the warps of a block share a plain loop}}
    scf.parallel (%j, %k) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
      memref.store %v, %x[%j, %k] : memref<?x?xf32>
    }
  }
  kernel.return
}

// -----

// expected-error@+1 {{'kernel.func' op has an scf.parallel outside of scf.forall; the loop that blocks share is around it}}
kernel.func @alone(%x: memref<?xf32>, %n: index, %c0: index, %c1: index, %v: f32) {
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    memref.store %v, %x[%j] : memref<?xf32>
  }
  kernel.return
}
