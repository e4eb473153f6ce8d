// What decisions look like, and where they stand. (Whether they can be carried out: test/Schedule.)
// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @no_number(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) {
  // expected-error@+1 {{'kernel.epilogue' is the number of an operand of a linalg.generic, got 0 : i64}}
  %y = nn.linear %x, %w {kernel.epilogue = 0 : i64} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return
}

// -----

#id = affine_map<(i) -> (i)>
func.func @negative(%x: tensor<4xf32>) {
  // expected-error@+1 {{'kernel.epilogue' is the number of an operand of a linalg.generic, got -1 : i64}}
  %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : tensor<4xf32>) attrs = {kernel.epilogue = -1 : i64} {
  ^bb0(%o: f32):
    linalg.yield %o : f32
  } -> tensor<4xf32>
  return
}

// -----

func.func @one_of_two(%x: tensor<?x8xf32>, %layout: !moe.layout<2>, %w: tensor<2x8x8xf32>) {
  // expected-error@+1 {{'kernel.tiles' is a #kernel.tiles of an nn.linear or nn.attention, or a list of two of a moe.expert, got #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>}}
  %y = moe.expert %x, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } {kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>} : tensor<?x8xf32>, !moe.layout<2>, tensor<2x8x8xf32>, tensor<2x8x8xf32> -> tensor<?x8xf32>
  return
}

// -----

// expected-error@+1 {{'kernel.tiles' is a #kernel.tiles of an nn.linear or nn.attention, or a list of two of a moe.expert, got 6 : i64}}
func.func @elsewhere() attributes {kernel.tiles = 6 : i64} {
  return
}

// -----

// expected-error@+1 {{'columns' is 48; those of a tile divide the 64 of a weight block}}
#tiles = #kernel.tiles<rows = 6, columns = 48, block_columns = 64, depth = 1>

// -----

// expected-error@+1 {{'chunk_rows' is 50; it must be whole tiles of 6 rows}}
#tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1, chunk_rows = 50>

// -----

// expected-error@+1 {{'rows' is 0; it must be in 1..65536}}
#tiles = #kernel.tiles<rows = 0, columns = 64, block_columns = 64, depth = 1>
