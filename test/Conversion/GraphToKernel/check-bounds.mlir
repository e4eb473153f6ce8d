// RUN: moe-opt %s --graph-check-bounds --split-input-file | FileCheck %s

// Sizes of one name are one size, and so are those that follow from them: nothing to check.
// CHECK-LABEL: func.func @proved
// CHECK-NOT: kernel.check
func.func @proved(%x: tensor<?x8xf32> {moe.dims = ["t", ""]}, %e: tensor<?x2xi32> {moe.dims = ["t", ""]},
                  %w: tensor<?x2xf32> {moe.dims = ["t", ""]}, %y: tensor<?x8xf32> {moe.dims = ["t", ""]}) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %rows, %layout = moe.dispatch %x, %e num_experts(4) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
  %t2 = tensor.dim %rows, %c0 : tensor<?x8xf32>
  %t = arith.divui %t2, %c2 : index
  %pairs = tensor.expand_shape %rows [[0, 1], [2]] output_shape [%t, 2, 8] : tensor<?x8xf32> into tensor<?x2x8xf32>
  %sum = moe.combine %rows, %layout weights(%w : tensor<?x2xf32>) : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
  %wide = arith.index_cast %t : index to i64
  %back = arith.index_cast %wide : i64 to index
  %most = arith.minsi %back, %c2 : index
  %first = tensor.extract_slice %sum[0, 0] [%most, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
  %out = linalg.add ins(%sum, %y : tensor<?x8xf32>, tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %out : tensor<?x8xf32>
}

// -----

// Rows of another dispatch than the layout's, and weights of other tokens. The checks stand before everything.
// CHECK-LABEL: func.func @combine
// CHECK-SAME:  %[[X:.*]]: tensor<?x8xf32>, %[[E:.*]]: tensor<?x2xi32>, %[[W:.*]]: tensor<?x2xf32>, %[[Y:.*]]: tensor<?x8xf32>
// CHECK: %[[TE:.*]] = tensor.dim %[[E]]
// CHECK: %[[TX:.*]] = tensor.dim %[[X]]
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[TE]], %[[TX]]
// CHECK: kernel.check %[[SAME]], "T is {0} in the layout but {1} in tokens (moe.dispatch at {{.*}}check-bounds.mlir:{{[0-9]+}})"(%[[TE]], %[[TX]])
// CHECK: "R is {0} in the layout but {1} in rows (moe.combine
// CHECK: "T is {0} in the layout but {1} in weights (moe.combine
// CHECK-NOT: kernel.check
// CHECK: moe.dispatch
func.func @combine(%x: tensor<?x8xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %rows, %layout = moe.dispatch %x, %e num_experts(4) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
  %sum = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
  return %sum : tensor<?x8xf32>
}

// -----

// What was checked once is known: the same pair, and what follows from it.
// CHECK-LABEL: func.func @once
// CHECK-COUNT-2: kernel.check
// CHECK-NOT: kernel.check
func.func @once(%x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>) -> tensor<?xf32> {
  %a = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  %b = linalg.add ins(%y, %z : tensor<?xf32>, tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32>
  %c = linalg.mul ins(%x, %z : tensor<?xf32>, tensor<?xf32>) outs(%b : tensor<?xf32>) -> tensor<?xf32>
  return %c : tensor<?xf32>
}

// -----

// A size that is read from memory is checked behind its load.
// CHECK-LABEL: func.func @element
// CHECK: tensor.extract
// CHECK: arith.index_cast
// CHECK-DAG: kernel.check %{{.*}}, "the slice starts at {1} in dimension 0
// CHECK-DAG: kernel.check %{{.*}}, "dimension 0 must be at least {0} for the slice, but is {1}
// CHECK: tensor.extract_slice
func.func @element(%x: tensor<?xf32>, %at: tensor<i64>) -> tensor<2xf32> {
  %v = tensor.extract %at[] : tensor<i64>
  %i = arith.index_cast %v : i64 to index
  %y = tensor.extract_slice %x[%i] [2] [1] : tensor<?xf32> to tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// Ids that an argument holds are promised by it; others are looked at. What the import has looked at is left alone.
// CHECK-LABEL: func.func @ids
// CHECK-SAME:  %{{.*}}: tensor<?xi64> {moe.range = [0, 6]}
// CHECK:       %[[COUNT:.*]] = arith.constant 7 : index
// CHECK:       %[[ALL:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]
// CHECK:         arith.cmpi ult
// CHECK:       %[[HOLDS:.*]] = tensor.extract %[[ALL]][]
// CHECK:       kernel.check %[[HOLDS]], "an id is outside of the table (nn.embedding
// CHECK-NOT:   kernel.check
func.func @ids(%given: tensor<?xi64>, %two: tensor<i64>, %table: tensor<7x8xf32>)
    -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %a = nn.embedding %given, %table : tensor<?xi64>, tensor<7x8xf32> -> tensor<?x8xf32>
  %n = tensor.dim %given, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?xi64>
  %twice = linalg.add ins(%given, %given : tensor<?xi64>, tensor<?xi64>) outs(%e : tensor<?xi64>) -> tensor<?xi64>
  %b = nn.embedding %twice, %table : tensor<?xi64>, tensor<7x8xf32> -> tensor<?x8xf32>
  %three = linalg.add ins(%twice, %given : tensor<?xi64>, tensor<?xi64>) outs(%e : tensor<?xi64>) -> tensor<?xi64>
  %c = nn.embedding %three, %table {moe.in_bounds} : tensor<?xi64>, tensor<7x8xf32> -> tensor<?x8xf32>
  return %a, %b, %c : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// What the import claims of an argument holds by the argument's range, which may have been edited since.
// CHECK-LABEL: func.func @edited
// CHECK-SAME:  %{{.*}}: tensor<?xi64> {moe.range = [0, 6]}
// CHECK-SAME:  %[[AT:[a-z0-9]+]]: tensor<?xi64> {moe.dims
// CHECK-NOT:   kernel.check
// CHECK:       %[[ALL:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[AT]]
// CHECK:       kernel.check %{{.*}}, "a position leaves no room in the cache (nn.cache_update
// CHECK-NOT:   kernel.check
func.func @edited(%ids: tensor<?xi64> {moe.range = [0, 511]}, %table: tensor<7x8xf32>, %cache: tensor<?x4x32x8xf32> {moe.dims = ["b", "", "", ""], moe.state},
                  %rows: tensor<?x?x4x8xf32> {moe.dims = ["b", "s", "", ""]}, %at: tensor<?xi64> {moe.dims = ["b"], moe.range = [0, 63], moe.range_plus = "s"})
    -> (tensor<?x8xf32>, tensor<?x4x32x8xf32> {moe.dims = ["b", "", "", ""], moe.state_of = 2 : i64}) {
  %a = nn.embedding %ids, %table {moe.in_bounds} : tensor<?xi64>, tensor<7x8xf32> -> tensor<?x8xf32>
  %next = nn.cache_update %cache, %rows positions(%at) {moe.in_bounds} : tensor<?x4x32x8xf32>, tensor<?x?x4x8xf32>, tensor<?xi64>
  return %a, %next : tensor<?x8xf32>, tensor<?x4x32x8xf32>
}

// -----

// A position and the rows that follow it fit by the argument's promise.
// CHECK-LABEL: func.func @positions
// CHECK-NOT: kernel.check
// CHECK-NOT: linalg.generic
func.func @positions(%cache: tensor<?x4x32x8xf32> {moe.dims = ["b", "", "", ""], moe.state}, %rows: tensor<?x?x4x8xf32> {moe.dims = ["b", "s", "", ""]},
                     %at: tensor<?xi64> {moe.dims = ["b"], moe.range = [0, 31], moe.range_plus = "s"})
    -> (tensor<?x4x32x8xf32> {moe.dims = ["b", "", "", ""], moe.state_of = 0 : i64}) {
  %next = nn.cache_update %cache, %rows positions(%at) : tensor<?x4x32x8xf32>, tensor<?x?x4x8xf32>, tensor<?xi64>
  return %next : tensor<?x4x32x8xf32>
}

// -----

// Layers of ranks: slots of a dispatch to ranks are ranks, what arrives has as many rows as companions, and what comes back those
// that were sent.
// CHECK-LABEL: func.func @ranks
// CHECK-NOT: kernel.check
shard.grid @ep(shape = 2)
func.func @ranks(%x: tensor<?x8xf32> {moe.dims = ["t", ""]}, %e: tensor<?x3xi32> {moe.dims = ["t", ""]}, %w: tensor<?x3xf32> {moe.dims = ["t", ""]},
                 %y: tensor<?x8xf32> {moe.dims = ["t", ""]}) -> tensor<?x8xf32> {
  %send, %sent = moe.dispatch %x, %e num_experts(4) to @ep : tensor<?x8xf32>, tensor<?x3xi32> -> tensor<?x8xf32>, !moe.layout<2>
  %recv, %got, %re, %rw = moe.all_to_all %send, %sent on @ep with(%e, %w : tensor<?x3xi32>, tensor<?x3xf32>) : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>, !moe.layout<1>, tensor<?x3xi32>, tensor<?x3xf32>
  %rows, %here = moe.dispatch %recv, %re num_experts(4) at @ep : tensor<?x8xf32>, tensor<?x3xi32> -> tensor<?x8xf32>, !moe.layout<2>
  %part = moe.combine %rows, %here weights(%rw : tensor<?x3xf32>) sum(<tree, groups = 2>) : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>
  %back, %gone = moe.all_to_all %part, %got on @ep return : tensor<?x8xf32>, !moe.layout<1> -> tensor<?x8xf32>, !moe.layout<2>
  %sum = moe.combine %back, %gone sum(<tree, groups = 2>) : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>
  %all = shard.all_reduce %sum on @ep grid_axes = [0] : tensor<?x8xf32> -> tensor<?x8xf32>
  %out = linalg.add ins(%all, %y : tensor<?x8xf32>, tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %out : tensor<?x8xf32>
}

// -----

// Companions of other tokens, and rows that are not those that were received.
// CHECK-LABEL: func.func @other_rows
// CHECK: "T is {0} in the layout but {1} in companion 0 (moe.all_to_all
// CHECK: "S is {0} in the exchange but {1} in rows (moe.all_to_all
// CHECK-NOT: kernel.check
shard.grid @ep(shape = 2)
func.func @other_rows(%x: tensor<?x8xf32> {moe.dims = ["t", ""]}, %e: tensor<?x3xi32> {moe.dims = ["t", ""]}, %w: tensor<?x3xf32>) -> tensor<?x8xf32> {
  %send, %sent = moe.dispatch %x, %e num_experts(4) to @ep : tensor<?x8xf32>, tensor<?x3xi32> -> tensor<?x8xf32>, !moe.layout<2>
  %recv, %got, %rw = moe.all_to_all %send, %sent on @ep with(%w : tensor<?x3xf32>) : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>, !moe.layout<1>, tensor<?x3xf32>
  %back, %gone = moe.all_to_all %x, %got on @ep return : tensor<?x8xf32>, !moe.layout<1> -> tensor<?x8xf32>, !moe.layout<2>
  %sum = moe.combine %back, %gone : tensor<?x8xf32>, !moe.layout<2> -> tensor<?x8xf32>
  return %sum : tensor<?x8xf32>
}

// -----

// A result that is declared with the name of an argument's size has that size.
// CHECK-LABEL: func.func @results
// CHECK-COUNT-1: "'t' is {0}, but dimension 0 of result 1 with this name is {1} (func.return at {{.*}})"
// CHECK-NOT: kernel.check
func.func @results(%x: tensor<?x8xf32> {moe.dims = ["t", ""]}, %y: tensor<?x8xf32> {moe.dims = ["u", ""]})
    -> (tensor<?x8xf32> {moe.dims = ["t", ""]}, tensor<?x8xf32> {moe.dims = ["t", ""]}, tensor<?x8xf32> {moe.dims = ["2*t", ""]}) {
  %sum = linalg.add ins(%x, %x : tensor<?x8xf32>, tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %sum, %y, %y : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Sums and products of what a program loads: 64 bits may not hold them, and the checks say so.
// CHECK-LABEL: func.func @loaded
// CHECK-SAME:  %[[X:[a-z0-9]+]]: tensor<?xf32>
// CHECK-DAG:   %[[SUM:.*]] = arith.addi %[[I:.*]], %[[J:.*]] :
// CHECK-DAG:   arith.xori %[[I]], %[[SUM]]
// CHECK-DAG:   arith.xori %[[J]], %[[SUM]]
// CHECK-DAG:   kernel.check %{{.*}}, "makes a number that 64 bits do not hold (arith.addi at
// CHECK-DAG:   %[[LOW:.*]], %{{.*}} = arith.mulsi_extended
// CHECK-DAG:   arith.shrsi %[[LOW]], %c63
// CHECK-DAG:   kernel.check %{{.*}}, "makes a number that 64 bits do not hold (arith.muli at
// CHECK-DAG:   kernel.check %{{.*}}, "index {1} is negative (tensor.extract
// CHECK-DAG:   kernel.check %{{.*}}, "index {0} in dimension 0 is beyond the last, {1} (tensor.extract
// CHECK-DAG:   kernel.check %{{.*}}, "takes {1} elements of each row (nn.top_k
// CHECK:       tensor.extract %[[X]]
func.func @loaded(%x: tensor<?xf32>, %at: tensor<2xi64>, %rows: tensor<4x8xf32>) -> (f32, tensor<4x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %u = tensor.extract %at[%c0] : tensor<2xi64>
  %v = tensor.extract %at[%c1] : tensor<2xi64>
  %i = arith.index_cast %u : i64 to index
  %j = arith.index_cast %v : i64 to index
  %sum = arith.addi %i, %j : index
  %product = arith.muli %i, %j : index
  %y = tensor.extract %x[%sum] : tensor<?xf32>
  %values, %places = nn.top_k %rows count(%product) : tensor<4x8xf32> -> tensor<4x?xf32>, tensor<4x?xi64>
  return %y, %values : f32, tensor<4x?xf32>
}

// -----

// Of sizes of arguments neither is needed: they are less than 2^48.
// CHECK-LABEL: func.func @sizes
// CHECK-NOT: extended
// CHECK-NOT: arith.xori
// CHECK: kernel.check %{{.*}}, "dimension 0 must be at least {0} for the slice, but is {1}
func.func @sizes(%x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %s = tensor.dim %y, %c0 : tensor<?xf32>
  %t = tensor.dim %z, %c0 : tensor<?xf32>
  %slice = tensor.extract_slice %x[%s] [%t] [1] : tensor<?xf32> to tensor<?xf32>
  return %slice : tensor<?xf32>
}

// -----

// The next value of a state fills it.
// CHECK-LABEL: func.func @state
// CHECK: "dimension 0 of argument 0, a state, is {0} but its next value's is {1} (func.return at {{.*}})"
// CHECK-NOT: kernel.check
func.func @state(%h: tensor<?x8xf32> {moe.state, moe.dims = ["b", ""]}, %x: tensor<?x8xf32> {moe.dims = ["t", ""]})
    -> (tensor<?x8xf32> {moe.state_of = 0 : i64}) {
  return %x : tensor<?x8xf32>
}

// -----

// Without a sign a negative number is a large one: the quotient is no size that is known.
// CHECK-LABEL: func.func @quotient_of_a_negative_number
// CHECK: kernel.check
func.func @quotient_of_a_negative_number(%x: tensor<?x?xf32> {moe.dims = ["n", "n"]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n4 = arith.muli %n, %c4 : index
  %z = arith.subi %c0, %n4 : index
  %m = arith.divui %z, %c4 : index
  %s = arith.minsi %m, %c5 : index
  %p = arith.muli %s, %s : index
  %w = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %e = tensor.empty(%p) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%w : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// A size as a narrow divisor.
// CHECK-LABEL: func.func @narrow_divisor
// CHECK: kernel.check
func.func @narrow_divisor(%x: tensor<?xf32>) -> i32 {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %v = arith.index_cast %n : index to i32
  %r = arith.remui %v, %v : i32
  return %r : i32
}

// -----

// Elements of an argument along a size: what it promises is enough, whether negative ones count from the end or not.
// CHECK-LABEL: func.func @promised
// CHECK-NOT: kernel.check
// CHECK-LABEL: func.func @promised_another_size
// CHECK: kernel.check %{{.*}}, "an index is outside of the tensor that it reads
func.func @promised(%t: tensor<?xf32> {moe.dims = ["n"]}, %i: tensor<?xi64> {moe.dims = ["k"], moe.index_of = "n"}, %e: tensor<?xf32> {moe.dims = ["k"]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %t, %c0 : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%i : tensor<?xi64>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: i64, %b: f32):
    %at = arith.index_cast %a : i64 to index
    %negative = arith.cmpi slt, %at, %c0 : index
    %from_end = arith.addi %at, %n : index
    %place = arith.select %negative, %from_end, %at : index
    %v = tensor.extract %t[%place] {moe.in_bounds} : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func @promised_another_size(%t: tensor<?xf32> {moe.dims = ["n"]}, %i: tensor<?xi64> {moe.dims = ["k"], moe.index_of = "k"}, %e: tensor<?xf32> {moe.dims = ["k"]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %t, %c0 : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%i : tensor<?xi64>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: i64, %b: f32):
    %at = arith.index_cast %a : i64 to index
    %negative = arith.cmpi slt, %at, %c0 : index
    %from_end = arith.addi %at, %n : index
    %place = arith.select %negative, %from_end, %at : index
    %v = tensor.extract %t[%place] {moe.in_bounds} : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// In a region, too.
// CHECK-LABEL: func.func @promised_in_a_region
// CHECK-NOT: kernel.check
func.func @promised_in_a_region(%i: tensor<?xi64> {moe.dims = ["k"], moe.range = [0, 7]}, %t: tensor<8xf32>, %e: tensor<?xf32> {moe.dims = ["k"]}) -> tensor<?xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%i : tensor<?xi64>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: i64, %b: f32):
    %four = arith.constant 4 : i64
    %half = arith.constant 0.5 : f32
    %more = arith.cmpi sge, %a, %four : i64
    %r = scf.if %more -> f32 {
      %n = arith.index_cast %a : i64 to index
      %v = tensor.extract %t[%n] : tensor<8xf32>
      scf.yield %v : f32
    } else {
      scf.yield %half : f32
    }
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// 200 is -56 as an i8.
// CHECK-LABEL: func.func @narrowed
// CHECK: kernel.check %{{.*}}, "an index is outside of the tensor that it reads
func.func @narrowed(%i: tensor<?xi64> {moe.dims = ["k"], moe.range = [0, 299]}, %t: tensor<300xf32>, %e: tensor<?xf32> {moe.dims = ["k"]}) -> tensor<?xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%i : tensor<?xi64>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: i64, %b: f32):
    %wide = arith.index_cast %a : i64 to index
    %narrow = arith.index_cast %wide : index to i8
    %at = arith.index_cast %narrow : i8 to index
    %v = tensor.extract %t[%at] : tensor<300xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
