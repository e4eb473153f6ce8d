// What stands in an epilogue by hand must be able to.
// RUN: moe-opt %s --split-input-file --verify-diagnostics --moe-verify-level=level=scheduled
// RUN: moe-opt %s --split-input-file --verify-diagnostics --convert-graph-to-kernel

#id = affine_map<(i, j) -> (i, j)>
#transposed = affine_map<(i, j) -> (j, i)>
#tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1, chunk_rows = 48>

func.func @places(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  // expected-error@+1 {{'linalg.generic' op has 1 inputs, so it cannot run in the epilogue of operand 2}}
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) attrs = {kernel.epilogue = 2 : i64} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<8x8xf32>
  // expected-error@+1 {{'linalg.generic' op runs in the epilogue of operand 0, which is no result of nn.linear, nn.batch_linear or moe.combine, or a reshape of one; other kernels have no epilogue}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) attrs = {kernel.epilogue = 0 : i64} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<8x8xf32>
  %a = nn.linear %x, %w {kernel.tiles = #tiles} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  // expected-error@+1 {{'linalg.generic' op runs in an epilogue, but is not elementwise with scalars in its body}}
  %2 = linalg.generic {indexing_maps = [#transposed, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) attrs = {kernel.epilogue = 0 : i64} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<8x8xf32>
  %b = nn.linear %x, %w {kernel.tiles = #tiles} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %late = nn.linear %x, %x {kernel.tiles = #tiles} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  // expected-error@+1 {{'linalg.generic' op runs in an epilogue, but reads what is computed after its producer}}
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%b, %late : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) attrs = {kernel.epilogue = 0 : i64} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    linalg.yield %q : f32
  } -> tensor<8x8xf32>
  %c = nn.linear %x, %w {kernel.tiles = #tiles} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  // expected-error@+1 {{'linalg.generic' op runs in an epilogue, but another op reads what it consumes}}
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) attrs = {kernel.epilogue = 0 : i64} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<8x8xf32>
  return %0, %1, %2, %3, %4, %c : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

#one = affine_map<(i) -> (i)>
#id = affine_map<(i, j) -> (i, j)>
#tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1, chunk_rows = 48>

func.func @shapes(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<64xf32>, tensor<8x8xf32>) {
  %a = nn.linear %x, %w {kernel.tiles = #tiles} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %flat = tensor.collapse_shape %a [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  %e = tensor.empty() : tensor<64xf32>
  // expected-error@+1 {{'linalg.generic' op runs in an epilogue, but its last dimension is not the static one of its producer}}
  %0 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%flat : tensor<64xf32>) outs(%e : tensor<64xf32>) attrs = {kernel.epilogue = 0 : i64} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<64xf32>
  %b = nn.linear %x, %w {kernel.tiles = #tiles} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %cube = tensor.expand_shape %b [[0, 1], [2]] output_shape [2, 4, 8] : tensor<8x8xf32> into tensor<2x4x8xf32>
  %again = tensor.collapse_shape %cube [[0, 1], [2]] : tensor<2x4x8xf32> into tensor<8x8xf32>
  %f = tensor.empty() : tensor<8x8xf32>
  // expected-error@+1 {{'linalg.generic' op runs in an epilogue behind a reshape, but has no other operand of its shape}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%again : tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) attrs = {kernel.epilogue = 0 : i64} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<8x8xf32>
  return %0, %1 : tensor<64xf32>, tensor<8x8xf32>
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>
#tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1, chunk_rows = 48>

func.func @late_size(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %r: tensor<?x?x8xf32>, %n: tensor<index>) -> tensor<?x?x8xf32> {
  %a = nn.linear %x, %w {kernel.tiles = #tiles} : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %i = tensor.extract %n[] : tensor<index>
  %j = tensor.extract %n[] : tensor<index>
  %cube = tensor.expand_shape %a [[0, 1], [2]] output_shape [%i, %j, 8] : tensor<?x8xf32> into tensor<?x?x8xf32>
  %e = tensor.empty(%i, %j) : tensor<?x?x8xf32>
  // expected-error@+1 {{'linalg.generic' op runs in an epilogue behind a reshape, whose sizes are computed after its producer}}
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cube, %r : tensor<?x?x8xf32>, tensor<?x?x8xf32>) outs(%e : tensor<?x?x8xf32>) attrs = {kernel.epilogue = 0 : i64} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<?x?x8xf32>
  return %0 : tensor<?x?x8xf32>
}

// -----

#scalar = affine_map<(i, j) -> ()>
#id = affine_map<(i, j) -> (i, j)>
#tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1, chunk_rows = 48>

func.func @broadcast(%x: tensor<1x8xf32>, %w: tensor<1x8xf32>, %y: tensor<5x1xf32>) -> tensor<5x1xf32> {
  %a = nn.linear %x, %w {kernel.tiles = #tiles} : tensor<1x8xf32>, tensor<1x8xf32> -> tensor<1x1xf32>
  %q = tensor.collapse_shape %a [] : tensor<1x1xf32> into tensor<f32>
  %e = tensor.empty() : tensor<5x1xf32>
  // expected-error@+1 {{'linalg.generic' op runs in an epilogue, but takes one element of its producer for all of its own}}
  %r = linalg.generic {indexing_maps = [#scalar, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%q, %y : tensor<f32>, tensor<5x1xf32>) outs(%e : tensor<5x1xf32>) attrs = {kernel.epilogue = 0 : i64} {
  ^bb0(%p: f32, %t: f32, %o: f32):
    %z = arith.mulf %p, %t : f32
    linalg.yield %z : f32
  } -> tensor<5x1xf32>
  return %r : tensor<5x1xf32>
}
