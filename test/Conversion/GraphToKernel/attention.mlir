// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

// Hidden states take the form of the attention program, are updated in place, and are no results any more.
// CHECK-LABEL: func.func @states
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x2x2x8x64x2xbf16> {moe.dims = ["batch", "", "", "", "", ""], moe.encoding = "key", moe.state}
// CHECK-SAME: %[[V:[a-z0-9]+]]: memref<?x2x35x16x2xbf16> {moe.encoding = "value", moe.state}) -> memref<?x?x4x16xbf16>
// CHECK: kernel.launch @cache_update_2x16_bf16_key(%[[K]],
// CHECK: kernel.launch @cache_update_2x16_bf16_value(%[[V]],
// CHECK-NOT: pack
// The work of the launch is counted row by row of the batch, from the position on.
// CHECK: %[[SEEN:.*]] = scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK-NEXT: memref.load %{{.*}}[%[[ROW]]] : memref<?xi64>
// CHECK: %[[PER_HEAD:.*]] = arith.constant 256 : index
// CHECK-NEXT: %[[WORK:.*]] = arith.muli %[[SEEN]], %[[PER_HEAD]]
// CHECK: kernel.launch @attention_4x16_group2_bf16(%{{.*}}, %[[K]], %[[V]],
// CHECK-SAME: work(%[[WORK]])
// CHECK: return %{{.*}} : memref<?x?x4x16xbf16>
func.func @states(%q: tensor<?x?x4x16xbf16>, %r: tensor<?x?x2x16xbf16>, %p: tensor<?xi64>,
                  %k: tensor<?x2x70x16xbf16> {moe.state, moe.dims = ["batch", "", "", ""]},
                  %v: tensor<?x2x70x16xbf16> {moe.state})
    -> (tensor<?x?x4x16xbf16>, tensor<?x2x70x16xbf16> {moe.state_of = 3}, tensor<?x2x70x16xbf16> {moe.state_of = 4}) {
  %k1 = nn.cache_update %k, %r positions(%p) : tensor<?x2x70x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?xi64>
  %v1 = nn.cache_update %v, %r positions(%p) : tensor<?x2x70x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?xi64>
  %o = nn.attention %q, %k1, %v1 positions(%p : tensor<?xi64>) scale(0.25) causal
      : tensor<?x?x4x16xbf16>, tensor<?x2x70x16xbf16>, tensor<?x2x70x16xbf16> -> tensor<?x?x4x16xbf16>
  return %o, %k1, %v1 : tensor<?x?x4x16xbf16>, tensor<?x2x70x16xbf16>, tensor<?x2x70x16xbf16>
}
// The loop over key blocks ends at the last key that a row of the block sees.
// CHECK-LABEL: kernel.func @attention_4x16_group2_bf16(
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (%{{.*}}, 2, %{{.*}}) {
// CHECK: %[[POSITION:.*]] = arith.index_cast
// CHECK: %[[END:.*]] = arith.minsi %c70, %{{.*}}
// CHECK: %[[PADDED:.*]] = arith.addi %[[END]], %c63
// CHECK: %[[BLOCKS:.*]] = arith.divui %[[PADDED]], %c64
// CHECK: scf.for %{{.*}} = %c0 to %[[BLOCKS]] step %c1
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c2 iter_args

// -----

// A cache that is an ordinary value is packed up to the visible keys; f32 values of full vectors are read as they are.
// CHECK-LABEL: func.func @plain
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x2x70x16xf32>, %[[V:[a-z0-9]+]]: memref<?x2x70x16xf32>
// CHECK: kernel.launch @visible_keys
// CHECK: kernel.launch @pack_key_2x70x16_f32(%[[K]], %[[PACKED:[a-z0-9_]+]],
// Where all rows start at 0, the work needs no loop.
// CHECK-NOT: scf.for
// CHECK: kernel.launch @attention_2x16_group1_f32(%{{.*}}, %[[PACKED]], %[[V]],
func.func @plain(%q: tensor<?x?x2x16xf32>, %k: tensor<?x2x70x16xf32>, %v: tensor<?x2x70x16xf32>) -> tensor<?x?x2x16xf32> {
  %o = nn.attention %q, %k, %v scale(0.25) causal
      : tensor<?x?x2x16xf32>, tensor<?x2x70x16xf32>, tensor<?x2x70x16xf32> -> tensor<?x?x2x16xf32>
  return %o : tensor<?x?x2x16xf32>
}

// -----

// A state that something else reads keeps its form; its update still happens in place.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<2x2x8x4xf32> {moe.state}
// CHECK: kernel.launch @cache_update_2x4_f32(%[[C]],
// CHECK: kernel.launch @copy_2x4_f32(%[[C]],
func.func @read_elsewhere(%c: tensor<2x2x8x4xf32> {moe.state}, %r: tensor<2x1x2x4xf32>, %p: tensor<2xi64>)
    -> (tensor<2x2x8x4xf32> {moe.state_of = 0}, tensor<2x4xf32>) {
  %n = nn.cache_update %c, %r positions(%p) : tensor<2x2x8x4xf32>, tensor<2x1x2x4xf32>, tensor<2xi64>
  %s = tensor.extract_slice %n[0, 0, 0, 0] [1, 2, 1, 4] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x4xf32>
  return %n, %s : tensor<2x2x8x4xf32>, tensor<2x4xf32>
}

// -----

// A bias is added to the scaled scores of a row.
// CHECK-LABEL: func.func @bias
// CHECK: kernel.launch @attention_4x16_bias_group2_f32(
// CHECK-LABEL: kernel.func @attention_4x16_bias_group2_f32(
// CHECK: %[[SCORE:.*]] = memref.load %{{.*}} : memref<?x128xf32>
// CHECK: %[[BIAS:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.addf %[[SCORE]], %[[BIAS]] : f32
func.func @bias(%q: tensor<?x?x4x16xf32>, %k: tensor<?x2x70x16xf32>, %b: tensor<1x4x?x70xbf16>) -> tensor<?x?x4x16xf32> {
  %o = nn.attention %q, %k, %k bias(%b : tensor<1x4x?x70xbf16>) scale(0.25) causal
      : tensor<?x?x4x16xf32>, tensor<?x2x70x16xf32>, tensor<?x2x70x16xf32> -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}

// -----

// Values of another width than keys, and a score per head whose weight is dropped.
// CHECK-LABEL: func.func @sinks
// CHECK-SAME: %[[S:[a-z0-9]+]]: memref<4xbf16>) -> memref<?x?x4x24xf32>
// CHECK: kernel.launch @attention_4x16x24_sinks_group2_f32(
// CHECK-SAME: %[[S]]
// CHECK-LABEL: kernel.func @attention_4x16x24_sinks_group2_f32(
// CHECK: %[[SINK:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[LARGEST:.*]] = arith.maximumf %{{.*}}, %[[SINK]] : f32
// CHECK: %[[TERM:.*]] = arith.subf %[[SINK]], %{{.*}} : f32
// CHECK: %[[EXP:.*]] = math.exp %[[TERM]] : f32
// CHECK: arith.addf %{{.*}}, %[[EXP]] : f32
func.func @sinks(%q: tensor<?x?x4x16xf32>, %k: tensor<?x2x70x16xf32>, %v: tensor<?x2x70x24xf32>, %s: tensor<4xbf16>) -> tensor<?x?x4x24xf32> {
  %o = nn.attention %q, %k, %v sinks(%s : tensor<4xbf16>) scale(0.25) causal
      : tensor<?x?x4x16xf32>, tensor<?x2x70x16xf32>, tensor<?x2x70x24xf32> -> tensor<?x?x4x24xf32>
  return %o : tensor<?x?x4x24xf32>
}

// -----

// A window of the largest number there is: the kernel has the number once, and a second layer shares the kernel.
// CHECK-LABEL: func.func @widest_window
// CHECK-COUNT-2: kernel.launch @attention_4x16_group2_f32(
// CHECK-LABEL: kernel.func @attention_4x16_group2_f32(
// CHECK: %[[WINDOW:.*]] = arith.constant 9223372036854775807 : index
// CHECK-NOT: arith.constant 9223372036854775807
// CHECK: scf.forall
// CHECK: arith.subi %{{.*}}, %[[WINDOW]] : index
// CHECK: %[[BEFORE:.*]] = arith.subi %{{.*}}, %[[WINDOW]] : index
// CHECK: arith.cmpi sgt, %{{.*}}, %[[BEFORE]] : index
// CHECK-NOT: kernel.func @attention
func.func @widest_window(%q: tensor<2x2x4x16xf32>, %k: tensor<2x2x32x16xf32>) -> (tensor<2x2x4x16xf32>, tensor<2x2x4x16xf32>) {
  %o = nn.attention %q, %k, %k scale(0.25) window(9223372036854775807)
      : tensor<2x2x4x16xf32>, tensor<2x2x32x16xf32>, tensor<2x2x32x16xf32> -> tensor<2x2x4x16xf32>
  %p = nn.attention %o, %k, %k scale(0.25) window(9223372036854775807)
      : tensor<2x2x4x16xf32>, tensor<2x2x32x16xf32>, tensor<2x2x32x16xf32> -> tensor<2x2x4x16xf32>
  return %o, %p : tensor<2x2x4x16xf32>, tensor<2x2x4x16xf32>
}
