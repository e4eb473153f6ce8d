// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --canonicalize --split-input-file | FileCheck %s

// The gate counts the pairs that it chose by chunks of tokens, and the layout places them: two launches of all blocks.
// CHECK-LABEL: func.func @layer
// CHECK:     kernel.launch @gate_8_top2_softmax({{.*}}, %[[RANKS:.*]], %[[COUNTS:.*]]) rows
// CHECK:     kernel.launch @layout_8({{.*}}, %[[RANKS]], %[[COUNTS]], %{{.*}}, %{{.*}}) rows
// CHECK-NOT: kernel.launch @count
func.func @layer(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>) -> tensor<?x4xf32> {
  %w, %e = moe.gate %logits top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  return %rows : tensor<?x4xf32>
}

// Chunks of max(tokens / 16, 1), rounded up.
// CHECK-LABEL: kernel.func @gate_8_top2_softmax(
// CHECK-SAME:  %[[IDS:[a-z0-9]+]]: memref<?x2xi32>, %{{[a-z0-9]+}}: memref<?x2xf32>, %[[RANK:[a-z0-9]+]]: memref<?x2xi32>, %[[COUNT:[a-z0-9]+]]: memref<?x?xi32>)
// CHECK:       %[[SIZE:.*]] = arith.maxsi %{{.*}}, %c1
// CHECK:       scf.forall (%[[CHUNK:.*]]) in (%{{.*}}) {
// CHECK:         %[[FIRST:.*]] = arith.muli %[[CHUNK]], %[[SIZE]]
// CHECK:         %[[END:.*]] = arith.minsi
// CHECK:         scf.parallel (%{{.*}}) = (%[[FIRST]]) to (%[[END]])
// The largest of those that rank behind the choice before, and the lowest number that has it.
// CHECK:           scf.for %[[J:.*]] = %c0 to %c2 step %c1 iter_args(%[[LAST:.*]] = %{{.*}}, %[[LASTID:.*]] = %c-1_i32)
// CHECK:             %[[BEST:.*]] = scf.for
// CHECK:               %[[LOWER:.*]] = arith.cmpf olt, %[[V:.*]], %[[LAST]]
// CHECK:               %[[TIE:.*]] = arith.cmpf ole, %[[V]], %[[LAST]]
// CHECK:               %[[BEHIND:.*]] = arith.cmpi sgt, %{{.*}}, %[[LASTID]]
// CHECK:               arith.select %[[BEHIND]], %[[TIE]], %[[LOWER]]
// CHECK:               arith.maximumf {{.*}} fastmath<nnan,nsz>
// CHECK:             %[[ID:.*]] = scf.for
// CHECK:               arith.cmpf oeq, %{{.*}}, %[[BEST]]
// CHECK:               arith.minsi
// CHECK:             memref.store %{{.*}}, %[[IDS]][%{{.*}}, %[[J]]]
// CHECK:             scf.yield %[[BEST]], %[[ID]]
// Then the pairs of the chunk: how many of them stand before each at its expert.
// CHECK:         scf.reduce
// CHECK:         scf.for {{.*}} {
// CHECK-NEXT:      memref.store %c0_i32, %[[COUNT]][%[[CHUNK]]
// CHECK:         scf.for %[[PAIR:.*]] = %{{.*}} to
// CHECK-NEXT:      %[[T:.*]] = arith.divui %[[PAIR]], %c2
// CHECK-NEXT:      %[[S:.*]] = arith.remui %[[PAIR]], %c2
// CHECK:             %[[N:.*]] = memref.load %[[COUNT]][%[[CHUNK]], %[[EXPERT:.*]]]
// CHECK-NEXT:        %[[NEXT:.*]] = arith.addi %[[N]], %c1_i32
// CHECK-NEXT:        memref.store %[[NEXT]], %[[COUNT]][%[[CHUNK]], %[[EXPERT]]]
// CHECK-NEXT:        memref.store %[[N]], %[[RANK]][%[[T]], %[[S]]]

// CHECK-LABEL: kernel.func @layout_8(
// Without tokens, too, there is one chunk: it writes the offsets.
// CHECK:       arith.maxsi %{{.*}}, %c1
// CHECK:       %[[CHUNKS:.*]] = arith.maxsi %{{.*}}, %c1
// CHECK:       scf.forall (%[[CHUNK:.*]]) in (%[[CHUNKS]]) {
// CHECK:         scf.parallel
// CHECK:           scf.for %{{.*}} = %c0 to %[[CHUNK]]
// CHECK:         scf.for {{.*}} iter_args({{.*}}) -> (i32, i32) {
// CHECK:         } {kernel.independent}
// CHECK:         scf.parallel
// CHECK:           scf.for
// CHECK:           } {kernel.independent}

// -----

// Ids that no gate chose, or of other experts than the gate's, are counted by a kernel of their own; what a drop leaves, by the kernel that drops.
// CHECK-LABEL: func.func @given
// CHECK:      kernel.launch @count_8(
// CHECK:      kernel.launch @layout_8(
func.func @given(%x: tensor<?x4xf32>, %e: tensor<?x2xi64>) -> tensor<?x4xf32> {
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi64> -> tensor<?x4xf32>, !moe.layout<8>
  return %rows : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @dropped
// CHECK:      kernel.launch @gate_8_top2_softmax(
// CHECK:      kernel.launch @locations_8_top2({{.*}}) single
// CHECK:      kernel.launch @capacity_8_top2({{.*}}, %[[RANKS:[^ ]+]], %[[COUNTS:[^ ]+]]) rows
// CHECK-NOT:  kernel.launch @count_8
// CHECK:      kernel.launch @layout_8{{.*}}({{.*}}, %[[RANKS]], %[[COUNTS]], {{.*}})
func.func @dropped(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>) -> tensor<?x4xf32> {
  %w, %e = moe.gate %logits top_k(2) score(softmax) capacity(<1.0, tutel>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<8>
  return %rows : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @fewer_experts
// CHECK:      kernel.launch @count_6(
// CHECK:      kernel.launch @layout_6(
func.func @fewer_experts(%x: tensor<?x4xf32>, %logits: tensor<?x8xf32>) -> tensor<?x4xf32> {
  %w, %e = moe.gate %logits top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(6) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<6>
  return %rows : tensor<?x4xf32>
}
