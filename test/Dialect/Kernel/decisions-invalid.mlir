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
  // expected-error@+1 {{'kernel.tiles' is a #kernel.tiles of an nn.linear, nn.batch_linear or nn.attention, or a list of two of a moe.expert, got #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>}}
  %y = moe.expert %x, %layout, %w, %w {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } {kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1>} : tensor<?x8xf32>, !moe.layout<2>, tensor<2x8x8xf32>, tensor<2x8x8xf32> -> tensor<?x8xf32>
  return
}

// -----

// expected-error@+1 {{'kernel.tiles' is a #kernel.tiles of an nn.linear, nn.batch_linear or nn.attention, or a list of two of a moe.expert, got 6 : i64}}
func.func @elsewhere() attributes {kernel.tiles = 6 : i64} {
  return
}

// -----

// expected-error@+1 {{'kernel.by_rows' is a unit attribute of nn.attention}}
func.func @by_rows() attributes {kernel.by_rows} {
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

// -----

shard.grid @ep(shape = 2)
func.func @no_tokens(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{'kernel.pass_tokens' is the number of tokens of a pass, at least 1, of a moe.all_to_all that is no 'return', or of a shard.all_reduce or shard.all_gather, got 0 : i64}}
  %y = shard.all_reduce %x on @ep grid_axes = [0] {kernel.pass_tokens = 0 : i64} : tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

shard.grid @ep(shape = 2)
func.func @unsigned_tokens(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{'kernel.pass_tokens' is the number of tokens of a pass, at least 1, of a moe.all_to_all that is no 'return', or of a shard.all_reduce or shard.all_gather, got 4 : ui64}}
  %y = shard.all_reduce %x on @ep grid_axes = [0] {kernel.pass_tokens = 4 : ui64} : tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @no_exchange(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>) {
  // expected-error@+1 {{'kernel.pass_tokens' is the number of tokens of a pass, at least 1, of a moe.all_to_all that is no 'return', or of a shard.all_reduce or shard.all_gather, got 64 : i64}}
  %rows, %layout = moe.dispatch %x, %ids num_experts(4) {kernel.pass_tokens = 64 : i64} : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
  return
}

// -----

func.func @with_a_result(%n: index) -> index {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'kernel.passes' is a unit attribute of an scf.for without results}}
  %sum = scf.for %i = %c0 to %n step %n iter_args(%before = %c0) -> index {
    scf.yield %before : index
  } {kernel.passes}
  return %sum : index
}

// -----

func.func @without_a_body(%n: index) {
  // expected-error@+1 {{'kernel.passes' is a unit attribute of an scf.for without results}}
  "scf.for"(%n, %n, %n) ({
  }) {kernel.passes} : (index, index, index) -> ()
  return
}

// -----

func.func @loop_in_loop(%n: index) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    // expected-error@+1 {{is a loop over passes inside a region; a host function has them at its top level}}
    scf.for %j = %c0 to %n step %n {
    } {kernel.passes}
  }
  return
}

// -----

func.func @makes_memory(%n: index) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    // expected-error@+1 {{stands in a loop over passes, which holds launches and what computes their operands}}
    %x = memref.alloc() : memref<4xf32>
  } {kernel.passes}
  return
}
