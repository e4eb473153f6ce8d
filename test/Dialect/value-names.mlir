// RUN: moe-opt --allow-unregistered-dialect %s -o /dev/null
// RUN: moe-opt --allow-unregistered-dialect %s | moe-opt --allow-unregistered-dialect -o /dev/null
// RUN: moe-opt --allow-unregistered-dialect --mlir-print-op-generic %s | moe-opt --allow-unregistered-dialect -o /dev/null

// Names that are used before their definition, and names of which one region does not know that another has them: what no text is
// refused for.

// A block that stands in front of the one that defines, and a region in it.
func.func @blocks(%yes: i1) -> i32 {
  cf.br ^bb2
^bb1:
  scf.if %yes {
    "test.use"(%x#1, %y) : (i32, i32) -> ()
  }
  return %y : i32
^bb2:
  %x:2, %y = "test.three"() : () -> (i32, i32, i32)
  cf.cond_br %yes, ^bb1, ^bb3(%y : i32)
^bb3(%z: i32):
  return %z : i32
}

// Arguments that ops give to their regions, and other regions with values of those names.
func.func @given(%n: index, %x: tensor<4x4xf32>, %m: memref<4xf32>, %f: f32) {
  scf.for %i = %n to %n step %n {
    %0 = arith.addi %i, %n : index
  }
  %sum = scf.for %i = %n to %n step %n iter_args(%a = %f) -> (f32) {
    %b = arith.addf %a, %f : f32
    scf.yield %b : f32
  }
  affine.for %j = max affine_map<(d0) -> (d0, 2)>(%n) to 4 {
    %0 = arith.addi %j, %n : index
  }
  affine.parallel (%k, %l) = (0, 0) to (4, 4) {
    %0 = arith.addi %k, %l : index
  }
  scf.forall (%k, %l) in (4, 4) {
    %0 = arith.addi %k, %l : index
  }
  scf.parallel (%p) = (%n) to (%n) step (%n) init (%f) -> f32 {
    scf.reduce(%f : f32) {
    ^bb0(%b: f32, %a: f32):
      %c = arith.addf %a, %b : f32
      scf.reduce.return %c : f32
    }
  }
  %w:2 = scf.while (%s = %n, %t = %f) : (index, f32) -> (index, f32) {
    %yes = arith.cmpi eq, %s, %n : index
    scf.condition(%yes) %s, %t : index, f32
  } do {
  ^bb0(%u: index, %v: f32):
    scf.yield %u, %v : index, f32
  }
  %mapped = linalg.map ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) (%in: f32, %out: f32) {
    %q = arith.negf %in : f32
    linalg.yield %q : f32
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    %0 = arith.addi %bx, %tx : index
    gpu.terminator
  }
  %token, %later = async.execute -> !async.value<f32> {
    async.yield %f : f32
  }
  %token2 = async.execute (%later as %now: !async.value<f32>) {
    %r = arith.negf %now : f32
    async.yield
  }
  %g = tensor.generate %n {
  ^bb0(%k: index):
    %i = arith.addi %k, %k : index
    %j = arith.addi %i, %k : index
    %now = arith.addi %i, %j : index
    %bx = arith.addi %now, %j : index
    %in = arith.addi %bx, %j : index
    %p = arith.addi %in, %j : index
    %s = arith.addi %p, %j : index
    tensor.yield %s : index
  } : tensor<?xindex>
  return
}

// Functions do not know each other's names.
func.func @"one more"(%k: index {test.name}, %now: f32) attributes {test.name} {
  scf.execute_region {
    %x = arith.negf %now : f32
    scf.yield
  }
  return
}

func.func @two(%x: f32) {
  "test.region"() ({
  ^bb0(%now: f32, %q: f32):
    "test.use"(%now, %x) : (f32, f32) -> ()
  }) : () -> ()
  return
}
