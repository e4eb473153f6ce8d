// Attention, dense layers, the embedding and the head, shared by ranks (tp).
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=tp=2})" -o %t.tp && FileCheck %s --check-prefixes=CHECK,TP < %t.tp
// RUN: moe-opt %t.tp --moe-verify-level=level=spmd --moe-schedule --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled -o %t.scheduled
// RUN: moe-opt %t.scheduled --scheduled-to-kernel --moe-verify-level=level=kernel --kernel-verify-windows | FileCheck %s --check-prefix=KERNEL
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tp=2,etp=2,sums=bf16})" | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=tp=1})" -o %t.one
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=1})" | diff %t.one -
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=tp=2})" --remarks-filter=moe-partition --remark-format=emitRemark -o %t.remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// TP: shard.grid @tp(shape = 2) {moe.axes = ["tp"]}
// TP-NOT: shard.grid
// Ranks that share attention share each expert.
// BOTH: shard.grid @ep(shape = 2) {moe.axes = ["ep"]}
// BOTH-NEXT: shard.grid @tp(shape = 2) {moe.axes = ["tp"]}
// BOTH-NOT: shard.grid

// Of the caches a rank has its heads.
// CHECK-LABEL: func.func @model
// CHECK-SAME: tensor<?x1x16x4xbf16> {moe.dims = ["batch", "", "", ""], moe.state}, %{{.*}}: tensor<?x1x16x4xbf16> {moe.dims = ["batch", "", "", ""], moe.state})
// CHECK-SAME: -> (tensor<?x?x32xbf16> {moe.dims = ["batch", "seq", ""]{{.*}}}, tensor<?x1x16x4xbf16> {moe.state_of = 4 : i64}, tensor<?x1x16x4xbf16> {moe.state_of = 5 : i64})
func.func @model(%ids: tensor<?x?xi64> {moe.dims = ["batch", "seq"]}, %start: tensor<?xi64> {moe.dims = ["batch"]},
                 %cos: tensor<?x?x4xbf16> {moe.dims = ["batch", "seq", ""]}, %sin: tensor<?x?x4xbf16> {moe.dims = ["batch", "seq", ""]},
                 %keys: tensor<?x2x16x4xbf16> {moe.dims = ["batch", "", "", ""], moe.state}, %values: tensor<?x2x16x4xbf16> {moe.dims = ["batch", "", "", ""], moe.state})
    -> (tensor<?x?x32xbf16> {moe.dims = ["batch", "seq", ""]}, tensor<?x2x16x4xbf16> {moe.state_of = 4}, tensor<?x2x16x4xbf16> {moe.state_of = 5}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %ids, %c0 : tensor<?x?xi64>
  %seq = tensor.dim %ids, %c1 : tensor<?x?xi64>

  // Rows of the table that other ranks have are zeros, so their sum is exact.
  // CHECK: %[[TABLE:.*]] = moe.parameter ["embed.weight"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<16x8xbf16>
  // CHECK: %[[ROWS:.*]] = nn.embedding %{{.*}}, %[[TABLE]] at @tp : tensor<?x?xi64>, tensor<16x8xbf16> -> tensor<?x?x8xbf16>
  // CHECK: %[[SUM:.*]] = shard.all_reduce %[[ROWS]] on @tp grid_axes = [0] : tensor<?x?x8xbf16> -> tensor<?x?x8xf32>
  // CHECK: %[[X:.*]] = arith.truncf %[[SUM]] : tensor<?x?x8xf32> to tensor<?x?x8xbf16>
  %table = moe.parameter ["embed.weight"] : tensor<32x8xbf16>
  %x = nn.embedding %ids, %table : tensor<?x?xi64>, tensor<32x8xbf16> -> tensor<?x?x8xbf16>

  // Columns of queries, keys and values are heads; a norm of each head needs nothing.
  // CHECK: %[[WQ:.*]] = moe.parameter ["q.weight"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<8x8xbf16>
  // CHECK: %[[BQ:.*]] = moe.parameter ["q.bias"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<8xbf16>
  // CHECK: %[[Q:.*]] = nn.linear %[[X]], %[[WQ]] bias(%[[BQ]]) : {{.*}} -> tensor<?x?x8xbf16>
  // CHECK: tensor.expand_shape %[[Q]] {{.*}} output_shape [%{{.*}}, %{{.*}}, 2, 4] : tensor<?x?x8xbf16> into tensor<?x?x2x4xbf16>
  // CHECK: nn.rms_norm {{.*}} : tensor<?x?x2x4xbf16>, tensor<4xbf16>
  // CHECK: nn.rope {{.*}} : tensor<?x?x2x4xbf16>
  // CHECK: nn.cache_update {{.*}} : tensor<?x1x16x4xbf16>, tensor<?x?x1x4xbf16>
  // CHECK: nn.cache_update {{.*}} : tensor<?x1x16x4xbf16>, tensor<?x?x1x4xbf16>
  // CHECK: %[[O:.*]] = nn.attention {{.*}} -> tensor<?x?x2x4xbf16>
  // CHECK: %[[HEADS:.*]] = tensor.collapse_shape %[[O]] {{.*}} into tensor<?x?x8xbf16>
  %wq = moe.parameter ["q.weight"] : tensor<16x8xbf16>
  %bq = moe.parameter ["q.bias"] : tensor<16xbf16>
  %wk = moe.parameter ["k.weight"] : tensor<8x8xbf16>
  %wv = moe.parameter ["v.weight"] : tensor<8x8xbf16>
  %qn = moe.parameter ["q_norm.weight"] : tensor<4xbf16>
  %q = nn.linear %x, %wq bias(%bq) : tensor<?x?x8xbf16>, tensor<16x8xbf16>, tensor<16xbf16> -> tensor<?x?x16xbf16>
  %k = nn.linear %x, %wk : tensor<?x?x8xbf16>, tensor<8x8xbf16> -> tensor<?x?x8xbf16>
  %v = nn.linear %x, %wv : tensor<?x?x8xbf16>, tensor<8x8xbf16> -> tensor<?x?x8xbf16>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [%batch, %seq, 4, 4] : tensor<?x?x16xbf16> into tensor<?x?x4x4xbf16>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [%batch, %seq, 2, 4] : tensor<?x?x8xbf16> into tensor<?x?x2x4xbf16>
  %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [%batch, %seq, 2, 4] : tensor<?x?x8xbf16> into tensor<?x?x2x4xbf16>
  %qq = nn.rms_norm %qh, %qn eps(1.0e-5) : tensor<?x?x4x4xbf16>, tensor<4xbf16>
  %qr = nn.rope %qq, %cos, %sin : tensor<?x?x4x4xbf16>, tensor<?x?x4xbf16>, tensor<?x?x4xbf16>
  %kr = nn.rope %kh, %cos, %sin : tensor<?x?x2x4xbf16>, tensor<?x?x4xbf16>, tensor<?x?x4xbf16>
  %k1 = nn.cache_update %keys, %kr positions(%start) : tensor<?x2x16x4xbf16>, tensor<?x?x2x4xbf16>, tensor<?xi64>
  %v1 = nn.cache_update %values, %vh positions(%start) : tensor<?x2x16x4xbf16>, tensor<?x?x2x4xbf16>, tensor<?xi64>
  %o = nn.attention %qr, %k1, %v1 positions(%start : tensor<?xi64>) scale(0.5) causal
      : tensor<?x?x4x4xbf16>, tensor<?x2x16x4xbf16>, tensor<?x2x16x4xbf16> -> tensor<?x?x4x4xbf16>
  %heads = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<?x?x4x4xbf16> into tensor<?x?x16xbf16>

  // The product that follows sums over a part. One rank adds the bias, and all is rounded once.
  // CHECK: %[[WO:.*]] = moe.parameter ["o.weight"] recipe [#moe.shard<dim = 1, grid = @tp, ranks = 2>] : tensor<8x8xbf16>
  // CHECK: %[[BO:.*]] = moe.parameter ["o.bias"] recipe [#moe.once<grid = @tp, ranks = 2>] : tensor<8xbf16>
  // TP: %[[PART:.*]] = nn.linear %[[HEADS]], %[[WO]] bias(%[[BO]]) : tensor<?x?x8xbf16>, tensor<8x8xbf16>, tensor<8xbf16> -> tensor<?x?x8xf32>
  // TP: %[[ALL:.*]] = shard.all_reduce %[[PART]] on @tp grid_axes = [0] : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  // BOTH: %[[PART:.*]] = nn.linear %[[HEADS]], %[[WO]] bias(%[[BO]]) : {{.*}} -> tensor<?x?x8xbf16>
  // BOTH: %[[ALL:.*]] = shard.all_reduce %[[PART]] on @tp grid_axes = [0] : tensor<?x?x8xbf16> -> tensor<?x?x8xf32>
  // CHECK: %[[Y:.*]] = arith.truncf %[[ALL]] : tensor<?x?x8xf32> to tensor<?x?x8xbf16>
  %wo = moe.parameter ["o.weight"] : tensor<8x16xbf16>
  %bo = moe.parameter ["o.bias"] : tensor<8xbf16>
  %y = nn.linear %heads, %wo bias(%bo) : tensor<?x?x16xbf16>, tensor<8x16xbf16>, tensor<8xbf16> -> tensor<?x?x8xbf16>
  %flat = tensor.collapse_shape %y [[0, 1], [2]] : tensor<?x?x8xbf16> into tensor<?x8xbf16>

  // A dense layer; the factors of its hidden columns are cut, too. Of what it shares with others it gets its own.
  // CHECK: %[[FACTORS:.*]] = moe.parameter ["factors"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<6xbf16>
  // CHECK: %[[GATE:.*]] = nn.linear %{{.*}} : tensor<?x8xbf16>, tensor<6x8xbf16> -> tensor<?x6xbf16>
  // CHECK: %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x6xbf16>
  // CHECK: linalg.generic {{.*}} ins(%[[GATE]], %{{.*}}, %[[FACTORS]] : tensor<?x6xbf16>, tensor<?x6xbf16>, tensor<6xbf16>) outs(%[[EMPTY]] : tensor<?x6xbf16>)
  // CHECK: nn.linear %{{.*}} : tensor<?x6xbf16>, tensor<8x6xbf16> -> tensor<?x8x{{f32|bf16}}>
  // CHECK: shard.all_reduce
  %wg = moe.parameter ["gate.weight"] : tensor<12x8xbf16>
  %wu = moe.parameter ["up.weight"] : tensor<12x8xbf16>
  %wd = moe.parameter ["down.weight"] : tensor<8x12xbf16>
  %factors = moe.parameter ["factors"] : tensor<12xbf16>
  %tokens = arith.muli %batch, %seq : index
  %g = nn.linear %flat, %wg : tensor<?x8xbf16>, tensor<12x8xbf16> -> tensor<?x12xbf16>
  %u = nn.linear %flat, %wu : tensor<?x8xbf16>, tensor<12x8xbf16> -> tensor<?x12xbf16>
  %empty = tensor.empty(%tokens) : tensor<?x12xbf16>
  %h = linalg.generic {indexing_maps = [affine_map<(t, h) -> (t, h)>, affine_map<(t, h) -> (t, h)>, affine_map<(t, h) -> (h)>, affine_map<(t, h) -> (t, h)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%g, %u, %factors : tensor<?x12xbf16>, tensor<?x12xbf16>, tensor<12xbf16>) outs(%empty : tensor<?x12xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %f: bf16, %out: bf16):
    %s = nn.silu %a : bf16
    %m = arith.mulf %s, %b : bf16
    %r = arith.mulf %m, %f : bf16
    linalg.yield %r : bf16
  } -> tensor<?x12xbf16>
  %d = nn.linear %h, %wd : tensor<?x12xbf16>, tensor<8x12xbf16> -> tensor<?x8xbf16>

  // The router's logits are read whole.
  // CHECK: nn.linear %{{.*}} : tensor<?x8xbf16>, tensor<4x8xbf16> -> tensor<?x4xbf16>
  // TP: !moe.layout<4>, tensor<4x16x8xbf16>, tensor<4x8x16xbf16> ->
  // BOTH: !moe.layout<2>, tensor<2x8x8xbf16>, tensor<2x8x8xbf16> ->
  // BOTH: shard.all_reduce {{.*}} on @tp
  %router = moe.parameter ["router.weight"] : tensor<4x8xbf16>
  %w1 = moe.parameter ["up"] : tensor<4x16x8xbf16>
  %w2 = moe.parameter ["down"] : tensor<4x8x16xbf16>
  %scores = nn.linear %d, %router : tensor<?x8xbf16>, tensor<4x8xbf16> -> tensor<?x4xbf16>
  %w, %e = moe.gate %scores top_k(2) score(softmax) : tensor<?x4xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %d, %e num_experts(4) : tensor<?x8xbf16>, tensor<?x2xi32> -> tensor<?x8xbf16>, !moe.layout<4>
  %made = moe.expert %rows, %layout, %w1, %w2 {
  ^bb0(%value: f32):
    moe.yield %value : f32
  } : tensor<?x8xbf16>, !moe.layout<4>, tensor<4x16x8xbf16>, tensor<4x8x16xbf16> -> tensor<?x8xbf16>
  %sum = moe.combine %made, %layout weights(%w : tensor<?x2xbf16>) : tensor<?x8xbf16>, !moe.layout<4> -> tensor<?x8xbf16>

  // Every rank makes a part of the logits, and all have all.
  // CHECK: %[[HEAD:.*]] = moe.parameter ["lm_head.weight"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<16x8xbf16>
  // CHECK: %[[COLUMNS:.*]] = nn.linear %{{.*}}, %[[HEAD]] : {{.*}} -> tensor<?x?x16xbf16>
  // CHECK: %[[LOGITS:.*]] = shard.all_gather %[[COLUMNS]] on @tp grid_axes = [0] gather_axis = 2 : tensor<?x?x16xbf16> -> tensor<?x?x32xbf16>
  // CHECK: return %[[LOGITS]],
  %last = tensor.expand_shape %sum [[0, 1], [2]] output_shape [%batch, %seq, 8] : tensor<?x8xbf16> into tensor<?x?x8xbf16>
  %head = moe.parameter ["lm_head.weight"] : tensor<32x8xbf16>
  %logits = nn.linear %last, %head : tensor<?x?x8xbf16>, tensor<32x8xbf16> -> tensor<?x?x32xbf16>
  return %logits, %k1, %v1 : tensor<?x?x32xbf16>, tensor<?x2x16x4xbf16>, tensor<?x2x16x4xbf16>
}

// A norm over all that is divided adds its squares, a number per row.
// CHECK-LABEL: func.func @wide_norm
// CHECK: %[[N:.*]] = nn.linear {{.*}} -> tensor<?x3x4xf32>
// CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}} ins(%[[N]] : tensor<?x3x4xf32>)
// CHECK: %[[COLUMN:.*]] = tensor.expand_shape %[[SQUARES]] {{.*}} : tensor<?x3xf32> into tensor<?x3x1xf32>
// CHECK: shard.all_reduce %[[COLUMN]] on @tp grid_axes = [0] : tensor<?x3x1xf32> -> tensor<?x3x1xf32>
// CHECK: linalg.generic
// CHECK: arith.divf %{{.*}}, %[[WIDTH:.*]] : f32
// CHECK: nn.linear {{.*}} : tensor<?x3x4xf32>, tensor<4x4xf32> -> tensor<?x3x4x{{f32|bf16}}>
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @wide_norm(%x: tensor<?x3x4xf32> {moe.dims = ["batch", "", ""]}) -> (tensor<?x3x4xf32> {moe.dims = ["batch", "", ""]}) {
  %w1 = moe.parameter ["w1"] : tensor<8x4xf32>
  %n = moe.parameter ["norm"] : tensor<8xf32>
  %w2 = moe.parameter ["w2"] : tensor<4x8xf32>
  %a = nn.linear %x, %w1 : tensor<?x3x4xf32>, tensor<8x4xf32> -> tensor<?x3x8xf32>
  %b = nn.rms_norm %a, %n eps(1.0e-5) : tensor<?x3x8xf32>, tensor<8xf32>
  %c = nn.linear %b, %w2 : tensor<?x3x8xf32>, tensor<4x8xf32> -> tensor<?x3x4xf32>
  return %c : tensor<?x3x4xf32>
}

// Shapes that are computed say how many of the elements a rank has.
// CHECK-LABEL: func.func @reshaped
// CHECK: %[[R:.*]] = nn.linear {{.*}} -> tensor<?x8xf32>
// CHECK: %[[SPLIT:.*]] = tensor.from_elements %[[ROWS:.*]], %c2{{.*}}, %c4{{.*}} : tensor<3xindex>
// CHECK: tensor.reshape %[[R]](%[[SPLIT]]) : (tensor<?x8xf32>, tensor<3xindex>) -> tensor<?x2x4xf32>
// CHECK: %[[JOINED:.*]] = tensor.from_elements %[[ROWS]], %c8{{.*}} : tensor<2xindex>
// CHECK: tensor.reshape %{{.*}}(%[[JOINED]]) : (tensor<?x2x4xf32>, tensor<2xindex>) -> tensor<?x8xf32>
// CHECK: shard.all_reduce
func.func @reshaped(%x: tensor<?x4xf32> {moe.dims = ["tokens", ""]}) -> (tensor<?x4xf32> {moe.dims = ["tokens", ""]}) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %w1 = moe.parameter ["w1"] : tensor<16x4xf32>
  %w2 = moe.parameter ["w2"] : tensor<4x16xf32>
  %a = nn.linear %x, %w1 : tensor<?x4xf32>, tensor<16x4xf32> -> tensor<?x16xf32>
  %heads = tensor.from_elements %n, %c4, %c4 : tensor<3xindex>
  %h = tensor.reshape %a(%heads) : (tensor<?x16xf32>, tensor<3xindex>) -> tensor<?x4x4xf32>
  %s = nn.silu %h : tensor<?x4x4xf32>
  %flat = tensor.from_elements %n, %c16 : tensor<2xindex>
  %b = tensor.reshape %s(%flat) : (tensor<?x4x4xf32>, tensor<2xindex>) -> tensor<?x16xf32>
  %y = nn.linear %b, %w2 : tensor<?x16xf32>, tensor<4x16xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// What an op cannot take divided is whole, with all that meets it: here one half of the columns alone.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: recipe
// CHECK-NOT: shard.
// CHECK: return
func.func @whole(%x: tensor<?x4xf32> {moe.dims = ["tokens", ""]}) -> (tensor<?x4xf32> {moe.dims = ["tokens", ""]}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %w1 = moe.parameter ["both.weight"] : tensor<8x4xf32>
  %a = nn.linear %x, %w1 : tensor<?x4xf32>, tensor<8x4xf32> -> tensor<?x8xf32>
  %b = tensor.extract_slice %a[0, 0] [%n, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
  %sum = arith.addf %b, %x : tensor<?x4xf32>
  return %sum : tensor<?x4xf32>
}

// REMARK: remark: [Analysis] tensors | Category:moe-partition | Function=model | Remark="each of 2 ranks makes a part of the columns of 6 products, sums over a part in 2, has a part of the heads of 2 states, and of the rows of 1 tables", columns=6, states=2, sums=2
// REMARK: remark: [Analysis] whole | Category:moe-partition | Function=model | Remark="'nn.linear' of 'router.weight' stays whole on every rank: 'moe.gate' is not known to compute a part by itself"
// REMARK: remark: [Analysis] whole | Category:moe-partition | Function=whole | Remark="'nn.linear' of 'both.weight' stays whole on every rank: 'tensor.extract_slice' takes a part of the dimension that is divided"

// KERNEL-LABEL: func.func @model
// KERNEL: kernel.launch @embedding_16x8_bf16_part(
// KERNEL: kernel.launch @give_sums{{.*}}moe.phase = "embed: sum over ranks"
// KERNEL: kernel.launch @give_sums{{.*}}moe.phase = "o: sum over ranks"
// KERNEL: kernel.launch @give_parts({{.*}}moe.phase = "lm_head: gather over ranks"
// KERNEL: kernel.launch @join_parts_32(
// KERNEL-LABEL: func.func @wide_norm
// KERNEL: kernel.launch @give_sums{{.*}}moe.phase = "w1: sum over ranks", {{.*}}row_bytes = 4
// KERNEL: kernel.launch @give_sums{{.*}}moe.phase = "w2: sum over ranks"
