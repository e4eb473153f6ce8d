// A decision that cannot be carried out is refused with a sentence, at level scheduled and before kernels are made.
// RUN: moe-opt %s --split-input-file --verify-diagnostics --moe-verify-level=level=scheduled
// RUN: moe-opt %s --split-input-file --verify-diagnostics --convert-graph-to-kernel

func.func @no_tiles(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{'nn.linear' op has no 'kernel.tiles'; run graph-choose-tiles}}
  %y = nn.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @chunks(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{'nn.linear' op has tiles without 'chunk_rows'; a block takes so many rows at a time}}
  %y = nn.linear %x, %w {kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>}
      : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @halves(%t: tensor<?x8xf32>, %ids: tensor<?x2xi32>, %w1: tensor<2x8x8xf32>, %w2: tensor<2x8x4xf32>) -> tensor<?x8xf32> {
  %x, %layout = moe.dispatch %t, %ids num_experts(2) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<2>
  // expected-error@+1 {{'moe.expert' op has tiles of an odd number of columns; gate and up have half of them each}}
  %y = moe.expert %x, %layout, %w1, %w2 gated schedule(<plain>) {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } {kernel.tiles = [#kernel.tiles<rows = 6, columns = 1, block_columns = 64, depth = 1>, #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>]}
    : tensor<?x8xf32>, !moe.layout<2>, tensor<2x8x8xf32>, tensor<2x8x4xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @chunks_of_experts(%t: tensor<?x8xf32>, %ids: tensor<?x2xi32>, %w1: tensor<2x8x8xf32>, %w2: tensor<2x8x4xf32>) -> tensor<?x8xf32> {
  %x, %layout = moe.dispatch %t, %ids num_experts(2) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<2>
  // expected-error@+1 {{'moe.expert' op has tiles with 'chunk_rows', which only a linear and an attention use; routing gives an expert its rows}}
  %y = moe.expert %x, %layout, %w1, %w2 gated schedule(<plain>) {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } {kernel.tiles = [#kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1, chunk_rows = 12>, #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>]}
    : tensor<?x8xf32>, !moe.layout<2>, tensor<2x8x8xf32>, tensor<2x8x4xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @keys(%q: tensor<1x1x2x4xf32>, %k: tensor<1x2x8x4xf32>) -> tensor<1x1x2x4xf32> {
  // expected-error@+1 {{'nn.attention' op has blocks of 32 columns; those of keys have 64}}
  %o = nn.attention %q, %k, %k scale(1.0) {kernel.tiles = #kernel.tiles<rows = 6, columns = 32, block_columns = 32, depth = 1, chunk_rows = 48>}
      : tensor<1x1x2x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32> -> tensor<1x1x2x4xf32>
  return %o : tensor<1x1x2x4xf32>
}

// -----

module attributes {kernel.target = #x86.target<rows = 6, columns = 64, vector = 16>} {
  func.func @cpu(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<4x8xbf16>, %v: tensor<8x8xbf16>) {
    // expected-error@+1 {{'nn.linear' op has blocks of 128 columns; weights for a CPU have 64}}
    %0 = nn.linear %x, %w {kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 128, depth = 1, chunk_rows = 48>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    // expected-error@+1 {{'nn.linear' op has steps of 2 elements; on a CPU they are of 1, or of 2 of bf16}}
    %1 = nn.linear %x, %w {kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 2, chunk_rows = 48>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    // expected-error@+1 {{'nn.linear' op has tiles of one column; on a CPU they have 2..64}}
    %2 = nn.linear %x, %w {kernel.tiles = #kernel.tiles<rows = 6, columns = 1, block_columns = 64, depth = 1, chunk_rows = 48>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    // expected-error@+1 {{'nn.linear' op has tiles of 48 rows; on a CPU they have 1..32}}
    %3 = nn.linear %x, %w {kernel.tiles = #kernel.tiles<rows = 48, columns = 64, block_columns = 64, depth = 1, chunk_rows = 48>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    // expected-error@+1 {{'nn.linear' op is for matrix registers, which a CPU has not for steps of 2 elements}}
    %4 = nn.linear %b, %v {kernel.tiles = #kernel.tiles<rows = 32, columns = 64, block_columns = 64, depth = 2, chunk_rows = 64, matrix = true>} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
    return
  }
}

// -----

module attributes {kernel.target = #x86.target<rows = 6, columns = 64, vector = 16, matrix_rows = 32>} {
  func.func @matrix(%b: tensor<4x8xbf16>, %v: tensor<8x8xbf16>) {
    // expected-error@+1 {{'nn.linear' op has tiles of 32 rows; matrix registers compute those of more than 6}}
    %0 = nn.linear %b, %v {kernel.tiles = #kernel.tiles<rows = 32, columns = 64, block_columns = 64, depth = 2, chunk_rows = 64>} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
    // expected-error@+1 {{'nn.linear' op has tiles of 6 rows with 'matrix'; matrix registers compute those of more than 6}}
    %1 = nn.linear %b, %v {kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 2, chunk_rows = 48, matrix = true>} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
    return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  func.func @gpu(%b: tensor<4x8xbf16>, %v: tensor<8x8xbf16>) {
    // expected-error@+1 {{'nn.linear' op has tiles of 64 rows in steps of 64; kernels for sm_90a have 128 in steps of 64}}
    %0 = nn.linear %b, %v {kernel.tiles = #kernel.tiles<rows = 64, columns = 64, block_columns = 64, depth = 64, chunk_rows = 64>} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
    // expected-error@+1 {{'nn.linear' op has tiles of 64 columns in blocks of 128; on a GPU a tile has those of its block}}
    %1 = nn.linear %b, %v {kernel.tiles = #kernel.tiles<rows = 128, columns = 64, block_columns = 128, depth = 64, chunk_rows = 1024>} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
    // expected-error@+1 {{'nn.linear' op has tiles of 8 columns; kernels for sm_90a have multiples of 16, at most 256}}
    %2 = nn.linear %b, %v {kernel.tiles = #kernel.tiles<rows = 128, columns = 8, block_columns = 8, depth = 64, chunk_rows = 1024>} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
    return
  }
}

// -----

func.func @placed(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>, %s: tensor<?x2xf32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{'moe.dispatch' op has placement(in_place), but its rows carry weights, which change them; they are gathered}}
  %w, %l = moe.dispatch %x, %ids weights(%s : tensor<?x2xf32>) num_experts(2) placement(in_place) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<2>
  // expected-error@+1 {{'moe.dispatch' op has placement(apart), but 'func.return' reads its rows; only experts with its layout find them by index}}
  %r, %m = moe.dispatch %x, %ids num_experts(2) placement(apart) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<2>
  return %r : tensor<?x8xf32>
}

// -----

func.func @updates(%c: tensor<1x1x8x2xf32>, %k: tensor<1x1x8x2xf32> {moe.state}, %s: tensor<1x1x8x2xf32> {moe.state}, %r: tensor<1x1x1x2xf32>, %p: tensor<1xi64>)
    -> (tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32> {moe.state_of = 2}) {
  // expected-error@+1 {{'nn.cache_update' op in place writes into an argument that is no state}}
  %a = nn.cache_update %c, %r positions(%p) in_place : tensor<1x1x8x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi64>
  // expected-error@+1 {{'nn.cache_update' op in place writes into a state that keeps its value}}
  %b = nn.cache_update %k, %r positions(%p) in_place : tensor<1x1x8x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi64>
  // expected-error@+1 {{'nn.cache_update' op in place writes into a cache whose old rows are read later}}
  %d = nn.cache_update %s, %r positions(%p) in_place : tensor<1x1x8x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi64>
  %e = tensor.empty() : tensor<1x1x8x2xf32>
  // expected-error@+1 {{'nn.cache_update' op in place writes into a cache that is neither a state nor the result of another update}}
  %f = nn.cache_update %e, %r positions(%p) in_place : tensor<1x1x8x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi64>
  return %s, %b, %f, %d : tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>
}

// -----

func.func @scans(%x: tensor<1x3x1x8xf32>, %d: tensor<1x3x1xf32>, %i: tensor<1x1x8x8xf32>, %s: tensor<1x1x8x8xf32> {moe.state})
    -> (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32> {moe.state_of = 3}) {
  // expected-error@+1 {{'nn.scan' op in place writes into an argument that is no state}}
  %0, %a = nn.scan %x, %x, %x decay(%d : tensor<1x3x1xf32>) state(%i : tensor<1x1x8x8xf32>) in_place
      : tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32> -> tensor<1x3x1x8xf32>
  // expected-error@+1 {{'nn.scan' op in place writes into a state whose old elements are read later}}
  %1, %b = nn.scan %x, %x, %x decay(%d : tensor<1x3x1xf32>) state(%s : tensor<1x1x8x8xf32>) in_place
      : tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32> -> tensor<1x3x1x8xf32>
  %e = tensor.empty() : tensor<1x1x8x8xf32>
  // expected-error@+1 {{'nn.scan' op in place writes into a state that is neither an argument nor the result of another update}}
  %2, %c = nn.scan %x, %x, %x decay(%d : tensor<1x3x1xf32>) state(%e : tensor<1x1x8x8xf32>) in_place
      : tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32> -> tensor<1x3x1x8xf32>
  return %s, %a, %c, %b : tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>
}

// -----

// expected-error@+1 {{'func.func' op has a value of an encoded type; attention reads it as "key"}}
func.func @other_form(%k: tensor<1x1x8x2xf32, "value"> {moe.state}, %r: tensor<1x1x1x2xf32>, %v: tensor<1x1x8x2xf32>) -> tensor<1x1x1x2xf32> {
  %o = nn.attention %r, %k, %v scale(1.0) {kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1, chunk_rows = 48>}
      : tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32, "value">, tensor<1x1x8x2xf32> -> tensor<1x1x1x2xf32>
  return %o : tensor<1x1x1x2xf32>
}

// -----

// expected-error@+1 {{'func.func' op has a value of an encoded type; only states that nothing but nn.cache_update and nn.attention, not by rows ('kernel.by_rows'), uses have encodings}}
func.func @no_state(%k: tensor<1x1x8x2xf32, "key">) {
  return
}

// -----

func.func @both(%q: tensor<1x1x2x4xf32>, %k: tensor<1x2x8x4xf32>) {
  // expected-error@+1 {{'nn.attention' op has 'kernel.tiles' and 'kernel.by_rows'; leave one of them out}}
  %o = nn.attention %q, %k, %k scale(1.0) {kernel.by_rows, kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1, chunk_rows = 48>}
      : tensor<1x1x2x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32> -> tensor<1x1x2x4xf32>
  return
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>} {
  func.func @tiles_of_attention(%q: tensor<1x1x2x4xf32>, %k: tensor<1x2x8x4xf32>) {
    // expected-error@+1 {{'nn.attention' op has no 'kernel.by_rows', without which attention has no form for GPU 'h200'}}
    %o = nn.attention %q, %k, %k scale(1.0) {kernel.tiles = #kernel.tiles<rows = 128, columns = 64, block_columns = 64, depth = 32, chunk_rows = 128>}
        : tensor<1x1x2x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32> -> tensor<1x1x2x4xf32>
    return
  }
}

// -----

// expected-error@+1 {{'func.func' op has a value of an encoded type; only states that nothing but nn.cache_update and nn.attention, not by rows ('kernel.by_rows'), uses have encodings}}
func.func @encoded(%k: tensor<1x1x8x2xf32, "key"> {moe.state}, %v: tensor<1x1x8x2xf32> {moe.state}, %r: tensor<1x1x1x2xf32>)
    -> (tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32, "key"> {moe.state_of = 0}, tensor<1x1x8x2xf32> {moe.state_of = 1}) {
  %o = nn.attention %r, %k, %v scale(1.0) {kernel.by_rows} : tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32, "key">, tensor<1x1x8x2xf32> -> tensor<1x1x1x2xf32>
  return %o, %k, %v : tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32, "key">, tensor<1x1x8x2xf32>
}
