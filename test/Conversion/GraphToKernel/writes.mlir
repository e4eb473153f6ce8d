// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

// Elements that an index names: the tensor is filled, and then only those are written.
// CHECK-LABEL: func.func @mask
// CHECK: kernel.launch @fill
// CHECK: kernel.launch @write_512_i1
// CHECK-LABEL: kernel.func @write_512_i1
// CHECK: scf.forall (%[[B:.*]], %{{.*}}) in (%{{.*}}, 1)
// CHECK: scf.for %[[R:.*]] = %c0 to %c8
// CHECK:   %[[PLACE:.*]] = memref.load %{{.*}}[%[[B]], %[[R]]]
// CHECK:   %[[AT:.*]] = arith.index_cast %[[PLACE]]
// CHECK:   %[[INSIDE:.*]] = arith.cmpi ult, %[[AT]], %c512
// CHECK:   scf.if %[[INSIDE]]
// CHECK:     memref.store %{{.*}}, %{{.*}}[%[[B]], %[[AT]]]
func.func @mask(%i: tensor<?x8xi64>) -> tensor<?x512xi1> {
  %c0 = arith.constant 0 : index
  %false = arith.constant false
  %true = arith.constant true
  %b = tensor.dim %i, %c0 : tensor<?x8xi64>
  %e = tensor.empty(%b) : tensor<?x512xi1>
  %f = linalg.fill ins(%true : i1) outs(%e : tensor<?x512xi1>) -> tensor<?x512xi1>
  %m = linalg.generic {indexing_maps = [affine_map<(b, l, r) -> (b, r)>, affine_map<(b, l, r) -> (b, l)>],
                       iterator_types = ["parallel", "parallel", "reduction"]} ins(%i : tensor<?x8xi64>) outs(%f : tensor<?x512xi1>) {
  ^bb0(%place: i64, %before: i1):
    %l = linalg.index 1 : index
    %here = arith.index_cast %l : index to i64
    %hit = arith.cmpi eq, %place, %here : i64
    %new = arith.select %hit, %false, %before : i1
    linalg.yield %new : i1
  } -> tensor<?x512xi1>
  return %m : tensor<?x512xi1>
}

// -----

// Rows of a tensor that is kept: it is copied first.
// CHECK-LABEL: func.func @rows
// CHECK: kernel.launch @copy
// CHECK: kernel.launch @write_
// CHECK-LABEL: kernel.func @write_
// CHECK: scf.forall (%{{.*}}, %[[D:.*]]) in (1, 4)
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}, %[[D]]]
func.func @rows(%x: tensor<512x4xf32>, %i: tensor<8xi64>, %s: tensor<8x4xf32>) -> tensor<512x4xf32> {
  %m = linalg.generic {indexing_maps = [affine_map<(n, d, r) -> (r)>, affine_map<(n, d, r) -> (r, d)>, affine_map<(n, d, r) -> (n, d)>],
                       iterator_types = ["parallel", "parallel", "reduction"]} ins(%i, %s : tensor<8xi64>, tensor<8x4xf32>) outs(%x : tensor<512x4xf32>) {
  ^bb0(%place: i64, %row: f32, %before: f32):
    %n = linalg.index 0 : index
    %here = arith.index_cast %n : index to i64
    %hit = arith.cmpi eq, %place, %here : i64
    %new = arith.select %hit, %row, %before : f32
    linalg.yield %new : f32
  } -> tensor<512x4xf32>
  return %m : tensor<512x4xf32>
}

// -----

// What is written depends on where it is written: a reduction.
// CHECK-LABEL: func.func @value_by_place
// CHECK-NOT: @write
func.func @value_by_place(%i: tensor<8xi64>, %y: tensor<512xf32>, %x: tensor<512xf32>) -> tensor<512xf32> {
  %m = linalg.generic {indexing_maps = [affine_map<(n, r) -> (r)>, affine_map<(n, r) -> (n)>, affine_map<(n, r) -> (n)>],
                       iterator_types = ["parallel", "reduction"]} ins(%i, %y : tensor<8xi64>, tensor<512xf32>) outs(%x : tensor<512xf32>) {
  ^bb0(%place: i64, %own: f32, %before: f32):
    %n = linalg.index 0 : index
    %here = arith.index_cast %n : index to i64
    %hit = arith.cmpi eq, %place, %here : i64
    %new = arith.select %hit, %own, %before : f32
    linalg.yield %new : f32
  } -> tensor<512xf32>
  return %m : tensor<512xf32>
}

// -----

// What stood there before is part of what is written.
// CHECK-LABEL: func.func @value_by_former
// CHECK-NOT: @write
func.func @value_by_former(%i: tensor<8xi64>, %x: tensor<512xf32>) -> tensor<512xf32> {
  %m = linalg.generic {indexing_maps = [affine_map<(n, r) -> (r)>, affine_map<(n, r) -> (n)>],
                       iterator_types = ["parallel", "reduction"]} ins(%i : tensor<8xi64>) outs(%x : tensor<512xf32>) {
  ^bb0(%place: i64, %before: f32):
    %n = linalg.index 0 : index
    %here = arith.index_cast %n : index to i64
    %hit = arith.cmpi eq, %place, %here : i64
    %twice = arith.addf %before, %before : f32
    %new = arith.select %hit, %twice, %before : f32
    linalg.yield %new : f32
  } -> tensor<512xf32>
  return %m : tensor<512xf32>
}

// -----

// Another comparison than of places.
// CHECK-LABEL: func.func @below
// CHECK-NOT: @write
func.func @below(%i: tensor<8xi64>, %x: tensor<512xf32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %m = linalg.generic {indexing_maps = [affine_map<(n, r) -> (r)>, affine_map<(n, r) -> (n)>],
                       iterator_types = ["parallel", "reduction"]} ins(%i : tensor<8xi64>) outs(%x : tensor<512xf32>) {
  ^bb0(%place: i64, %before: f32):
    %n = linalg.index 0 : index
    %here = arith.index_cast %n : index to i64
    %hit = arith.cmpi slt, %place, %here : i64
    %new = arith.select %hit, %zero, %before : f32
    linalg.yield %new : f32
  } -> tensor<512xf32>
  return %m : tensor<512xf32>
}

// -----

// Place 259 of 300 is 3 as an i8: the places that one number names are several.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: @write_
// CHECK: kernel.launch @reduce
func.func @narrow(%i: tensor<?xi8>, %f: tensor<300xf32>) -> tensor<300xf32> {
  %one = arith.constant 1.0 : f32
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>],
                       iterator_types = ["parallel", "reduction"]} ins(%i : tensor<?xi8>) outs(%f : tensor<300xf32>) {
  ^bb0(%a: i8, %o: f32):
    %n = linalg.index 0 : index
    %here = arith.index_cast %n : index to i8
    %hit = arith.cmpi eq, %here, %a : i8
    %r = arith.select %hit, %one, %o : f32
    linalg.yield %r : f32
  } -> tensor<300xf32>
  return %y : tensor<300xf32>
}
