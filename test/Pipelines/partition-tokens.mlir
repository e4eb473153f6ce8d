// Which inputs are divided, and what an op may do to their dimension 0.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2})" | FileCheck %s
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2})" --remarks-filter=moe-partition --remark-format=emitRemark -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// A model: positions and caches follow the batch. A cache is each rank's own; a size of another name is everywhere the same.
// CHECK-LABEL: func.func @model
// CHECK-SAME: "ids", moe.split = @ep}
// CHECK-SAME: "start", moe.split = @ep}
// CHECK-SAME: %{{.*}}: tensor<?xi64> {moe.dims = ["keep"], moe.name = "keep"}
// CHECK-SAME: tensor<?x1x16x8xf32> {moe.dims = ["batch", "", "", ""], moe.state}
// CHECK-SAME: -> (tensor<?x?x8xf32> {moe.dims = ["batch", "seq", ""], moe.name = "y", moe.split = @ep}, tensor<?x1x16x8xf32> {moe.state_of = 3 : i64})
// CHECK: tensor.collapse_shape
// CHECK: moe.all_to_all {{.*}} via(direct)
// CHECK: tensor.expand_shape
// CHECK: nn.cache_update
func.func @model(%ids: tensor<?x?xi64> {moe.dims = ["batch", "seq"], moe.name = "ids"}, %start: tensor<?xi64> {moe.dims = ["batch"], moe.name = "start"},
                 %keep: tensor<?xi64> {moe.dims = ["keep"], moe.name = "keep"}, %cache: tensor<?x1x16x8xf32> {moe.dims = ["batch", "", "", ""], moe.state})
    -> (tensor<?x?x8xf32> {moe.dims = ["batch", "seq", ""], moe.name = "y"}, tensor<?x1x16x8xf32> {moe.state_of = 3}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %table = moe.parameter ["embed"] : tensor<32x8xf32>
  %norm = moe.parameter ["norm"] : tensor<8xf32>
  %router = moe.parameter ["router"] : tensor<4x8xf32>
  %w1 = moe.parameter ["up"] : tensor<4x8x8xf32>
  %batch = tensor.dim %ids, %c0 : tensor<?x?xi64>
  %seq = tensor.dim %ids, %c1 : tensor<?x?xi64>
  %x = nn.embedding %ids, %table : tensor<?x?xi64>, tensor<32x8xf32> -> tensor<?x?x8xf32>
  %xn = nn.rms_norm %x, %norm eps(1.0e-5) : tensor<?x?x8xf32>, tensor<8xf32>
  %flat = tensor.collapse_shape %xn [[0, 1], [2]] : tensor<?x?x8xf32> into tensor<?x8xf32>
  %logits = nn.linear %flat, %router : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %w, %e = moe.gate %logits top_k(2) score(softmax) capacity(<0.0, tutel>) : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %flat, %e num_experts(4) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x8x8xf32>, tensor<4x8x8xf32> -> tensor<?x8xf32>
  %sum = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
  %back = tensor.expand_shape %sum [[0, 1], [2]] output_shape [%batch, %seq, 8] : tensor<?x8xf32> into tensor<?x?x8xf32>
  %empty = tensor.empty(%batch, %seq) : tensor<?x?x8xf32>
  %out = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>, affine_map<(b, s, h) -> (h)>, affine_map<(b, s, h) -> (b, s, h)>],
                         iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%back, %norm : tensor<?x?x8xf32>, tensor<8xf32>) outs(%empty : tensor<?x?x8xf32>) {
  ^bb0(%a: f32, %n: f32, %o: f32):
    %b = linalg.index 0 : index
    %p = tensor.extract %start[%b] : tensor<?xi64>
    %f = arith.sitofp %p : i64 to f32
    %r = arith.addf %a, %f : f32
    linalg.yield %r : f32
  } -> tensor<?x?x8xf32>
  %heads = tensor.expand_shape %out [[0], [1], [2, 3]] output_shape [%batch, %seq, 1, 8] : tensor<?x?x8xf32> into tensor<?x?x1x8xf32>
  %next = nn.cache_update %cache, %heads positions(%start) : tensor<?x1x16x8xf32>, tensor<?x?x1x8xf32>, tensor<?xi64>
  return %out, %next : tensor<?x?x8xf32>, tensor<?x1x16x8xf32>
}

// Dimension 0 has no name: every rank has all tokens.
// CHECK-LABEL: func.func @unnamed
// CHECK-NOT: moe.split
// CHECK: at @ep : tensor<3x8xf32>, tensor<3x2xi32> -> tensor<6x8xf32>, !moe.layout<2>
// CHECK: moe.combine {{.*}} -> tensor<3x8xf32>
// CHECK: shard.all_reduce
// REMARK: remark: [Analysis] tokens | Category:moe-partition | Function=unnamed | Remark="tokens=replicated: dimension 0 of the first input has no name, so it is not divided"
// REMARK: remark: [Analysis] layer | Category:moe-partition | Function=unnamed | Remark="2 of 4 experts on each of 2 ranks; all have all tokens, and add 32 bytes per token", experts=2, groups=4, ranks=2
func.func @unnamed(%x: tensor<3x8xf32>, %e: tensor<3x2xi32>) -> tensor<3x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<4x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(4) : tensor<3x8xf32>, tensor<3x2xi32> -> tensor<6x8xf32>, !moe.layout<4>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<6x8xf32>, !moe.layout<4>, tensor<4x8x8xf32>, tensor<4x8x8xf32> -> tensor<6x8xf32>
  %sum = moe.combine %y, %layout : tensor<6x8xf32>, !moe.layout<4> -> tensor<3x8xf32>
  return %sum : tensor<3x8xf32>
}

// Each rank checks its own indices: all hold if all of them do.
// CHECK-LABEL: func.func @computed_indices
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<?xi1> {moe.dims = ["tokens"], moe.split = @ep}
// CHECK: %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[M]]
// CHECK: tensor.extract %[[ALL]]
// CHECK: cf.assert
func.func @computed_indices(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %m: tensor<?xi1> {moe.dims = ["tokens"]}, %and: i1) -> tensor<?x8xf32> {
  %true = arith.constant true
  %none = tensor.empty() : tensor<i1>
  %init = linalg.fill ins(%true : i1) outs(%none : tensor<i1>) -> tensor<i1>
  %all = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%m : tensor<?xi1>) outs(%init : tensor<i1>) {
  ^bb0(%in: i1, %out: i1):
    %both = arith.andi %out, %in : i1
    linalg.yield %both : i1
  } -> tensor<i1>
  %holds = tensor.extract %all[] : tensor<i1>
  %also = arith.andi %holds, %and : i1
  cf.assert %also, "not all"
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %w, %e = moe.gate %x top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// Arithmetic of whole tensors has the sizes of its operands, behind and before a layer.
// CHECK-LABEL: func.func @residual
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32> {moe.dims = ["tokens", ""], moe.split = @ep}
// CHECK-SAME: -> (tensor<?x8xf32> {moe.split = @ep}, tensor<?x8xf32> {moe.split = @ep})
// CHECK: %[[S:.*]] = moe.combine {{.*}} sum(<tree, groups = 2>)
// CHECK: %[[Y:.*]] = arith.addf %[[S]], %[[X]] : tensor<?x8xf32>
// CHECK: arith.select %{{.*}}, %[[Y]], %{{.*}} : tensor<?x8xf32>
func.func @residual(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %c: i1) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %z = math.tanh %x : tensor<?x8xf32>
  %rows, %layout = moe.dispatch %z, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %r = arith.addf %s, %x : tensor<?x8xf32>
  %t = arith.select %c, %r, %z : tensor<?x8xf32>
  return %r, %t : tensor<?x8xf32>, tensor<?x8xf32>
}
