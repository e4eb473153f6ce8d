// What moe.generation says beside what the program says: its types and ranges hold, so the attribute must not contradict them.
// RUN: moe-opt %s --moe-verify-level=level=graph --split-input-file --verify-diagnostics

module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 32, cache_length = 8}} {
  func.func @main(%ids: tensor<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"], moe.range = [0, 31]},
                  %at: tensor<?xi64> {moe.name = "at", moe.dims = ["batch"], moe.range = [0, 7], moe.range_plus = "seq"},
                  %rows: tensor<?x?x2x4xf32>, %keys: tensor<?x2x8x4xf32> {moe.name = "keys", moe.state},
                  %s: tensor<?x?x32xf32>)
      -> (tensor<?x?x32xf32> {moe.name = "scores"}, tensor<?x2x8x4xf32> {moe.state_of = 3}) {
    %k = nn.cache_update %keys, %rows positions(%at) : tensor<?x2x8x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi64>
    return %s, %k : tensor<?x?x32xf32>, tensor<?x2x8x4xf32>
  }
}

// -----

module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 32, cache_length = 8}} {
  func.func @main(%ids: tensor<?x3xi64> {moe.name = "ids", moe.dims = ["batch", ""], moe.range = [0, 31]},
                  %at: tensor<?xi64> {moe.name = "at", moe.dims = ["batch"], moe.range = [0, 5]},
                  %rows: tensor<?x?x2x4xf32>, %keys: tensor<?x2x8x4xf32> {moe.name = "keys", moe.state},
                  %s: tensor<?x?x32xf32>)
      -> (tensor<?x?x32xf32> {moe.name = "scores"}, tensor<?x2x8x4xf32> {moe.state_of = 3}) {
    %k = nn.cache_update %keys, %rows positions(%at) : tensor<?x2x8x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi64>
    return %s, %k : tensor<?x?x32xf32>, tensor<?x2x8x4xf32>
  }
}

// -----

// expected-error @+1 {{level graph: 'moe.generation' says cache_length = 9, but the range of 'at' ends at 7, with room for 8 tokens; write one length (caches keep theirs: export again for another)}}
module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 32, cache_length = 9}} {
  func.func @main(%ids: tensor<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"], moe.range = [0, 31]},
                  %at: tensor<?xi64> {moe.name = "at", moe.dims = ["batch"], moe.range = [0, 7], moe.range_plus = "seq"},
                  %rows: tensor<?x?x2x4xf32>, %keys: tensor<?x2x8x4xf32> {moe.name = "keys", moe.state},
                  %s: tensor<?x?x32xf32>)
      -> (tensor<?x?x32xf32> {moe.name = "scores"}, tensor<?x2x8x4xf32> {moe.state_of = 3}) {
    %k = nn.cache_update %keys, %rows positions(%at) : tensor<?x2x8x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi64>
    return %s, %k : tensor<?x?x32xf32>, tensor<?x2x8x4xf32>
  }
}

// -----

// expected-error @+1 {{level graph: 'moe.generation' says cache_length = 7, but the range of 'at' ends at 7, with room for 8 tokens}}
module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 32, cache_length = 7}} {
  func.func @main(%ids: tensor<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"], moe.range = [0, 31]},
                  %at: tensor<?xi64> {moe.name = "at", moe.dims = ["batch"], moe.range = [0, 7], moe.range_plus = "seq"},
                  %rows: tensor<?x?x2x4xf32>, %keys: tensor<?x2x8x4xf32> {moe.name = "keys", moe.state},
                  %s: tensor<?x?x32xf32>)
      -> (tensor<?x?x32xf32> {moe.name = "scores"}, tensor<?x2x8x4xf32> {moe.state_of = 3}) {
    %k = nn.cache_update %keys, %rows positions(%at) : tensor<?x2x8x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi64>
    return %s, %k : tensor<?x?x32xf32>, tensor<?x2x8x4xf32>
  }
}

// -----

// expected-error @+1 {{level graph: 'moe.generation' says cache_length = 8, but the range of 'at' ends at 7, with room for 10 tokens}}
module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 32, cache_length = 8}} {
  func.func @main(%ids: tensor<?x3xi64> {moe.name = "ids", moe.dims = ["batch", ""], moe.range = [0, 31]},
                  %at: tensor<?xi64> {moe.name = "at", moe.dims = ["batch"], moe.range = [0, 7]},
                  %rows: tensor<?x?x2x4xf32>, %keys: tensor<?x2x8x4xf32> {moe.name = "keys", moe.state},
                  %s: tensor<?x?x32xf32>)
      -> (tensor<?x?x32xf32> {moe.name = "scores"}, tensor<?x2x8x4xf32> {moe.state_of = 3}) {
    %k = nn.cache_update %keys, %rows positions(%at) : tensor<?x2x8x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi64>
    return %s, %k : tensor<?x?x32xf32>, tensor<?x2x8x4xf32>
  }
}

// -----

// expected-error @+1 {{level graph: 'moe.generation' says cache_length = 9, but the cache 'keys' has room for 8 tokens; write that length (export again for another)}}
module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 32, cache_length = 9}} {
  func.func @main(%ids: tensor<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"], moe.range = [0, 31]},
                  %at: tensor<?xi64> {moe.name = "at", moe.dims = ["batch"], moe.range = [0, 8], moe.range_plus = "seq"},
                  %rows: tensor<?x?x2x4xf32>, %keys: tensor<?x2x8x4xf32> {moe.name = "keys", moe.state},
                  %s: tensor<?x?x32xf32>)
      -> (tensor<?x?x32xf32> {moe.name = "scores"}, tensor<?x2x8x4xf32> {moe.state_of = 3}) {
    %k = nn.cache_update %keys, %rows positions(%at) : tensor<?x2x8x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi64>
    return %s, %k : tensor<?x?x32xf32>, tensor<?x2x8x4xf32>
  }
}

// -----

// A program that ends earlier than its caches do.
module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 32, cache_length = 4}} {
  func.func @main(%ids: tensor<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"], moe.range = [0, 31]},
                  %at: tensor<?xi64> {moe.name = "at", moe.dims = ["batch"], moe.range = [0, 3], moe.range_plus = "seq"},
                  %rows: tensor<?x?x2x4xf32>, %keys: tensor<?x2x8x4xf32> {moe.name = "keys", moe.state},
                  %s: tensor<?x?x32xf32>)
      -> (tensor<?x?x32xf32> {moe.name = "scores"}, tensor<?x2x8x4xf32> {moe.state_of = 3}) {
    %k = nn.cache_update %keys, %rows positions(%at) : tensor<?x2x8x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi64>
    return %s, %k : tensor<?x?x32xf32>, tensor<?x2x8x4xf32>
  }
}

// -----

// expected-error @+1 {{level graph: 'moe.generation' says vocab_size = 33, but 'scores' has 32 numbers for each token; write that size}}
module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 33, cache_length = 8}} {
  func.func @main(%ids: tensor<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"], moe.range = [0, 31]},
                  %at: tensor<?xi64> {moe.name = "at", moe.dims = ["batch"], moe.range = [0, 7], moe.range_plus = "seq"},
                  %rows: tensor<?x?x2x4xf32>, %keys: tensor<?x2x8x4xf32> {moe.name = "keys", moe.state},
                  %s: tensor<?x?x32xf32>)
      -> (tensor<?x?x32xf32> {moe.name = "scores"}, tensor<?x2x8x4xf32> {moe.state_of = 3}) {
    %k = nn.cache_update %keys, %rows positions(%at) : tensor<?x2x8x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi64>
    return %s, %k : tensor<?x?x32xf32>, tensor<?x2x8x4xf32>
  }
}

// -----

// expected-error @+1 {{level graph: 'moe.generation' says vocab_size = 32, but the range of 'ids' ends at 32; it has to end before the size}}
module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 32, cache_length = 8}} {
  func.func @main(%ids: tensor<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"], moe.range = [0, 32]},
                  %at: tensor<?xi64> {moe.name = "at", moe.dims = ["batch"], moe.range = [0, 7], moe.range_plus = "seq"},
                  %rows: tensor<?x?x2x4xf32>, %keys: tensor<?x2x8x4xf32> {moe.name = "keys", moe.state},
                  %s: tensor<?x?x32xf32>)
      -> (tensor<?x?x32xf32> {moe.name = "scores"}, tensor<?x2x8x4xf32> {moe.state_of = 3}) {
    %k = nn.cache_update %keys, %rows positions(%at) : tensor<?x2x8x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi64>
    return %s, %k : tensor<?x?x32xf32>, tensor<?x2x8x4xf32>
  }
}

// -----

// Not all ids may be given.
module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 32, cache_length = 8}} {
  func.func @main(%ids: tensor<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"], moe.range = [3, 30]},
                  %at: tensor<?xi64> {moe.name = "at", moe.dims = ["batch"], moe.range = [0, 7], moe.range_plus = "seq"},
                  %rows: tensor<?x?x2x4xf32>, %keys: tensor<?x2x8x4xf32> {moe.name = "keys", moe.state},
                  %s: tensor<?x?x32xf32>)
      -> (tensor<?x?x32xf32> {moe.name = "scores"}, tensor<?x2x8x4xf32> {moe.state_of = 3}) {
    %k = nn.cache_update %keys, %rows positions(%at) : tensor<?x2x8x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi64>
    return %s, %k : tensor<?x?x32xf32>, tensor<?x2x8x4xf32>
  }
}

// -----

// The layers of a model are functions of the same module, which generate nothing.
module attributes {moe.generation = {tokens = "ids", position = "at", logits = "scores", vocab_size = 32, cache_length = 9}} {
  func.func @layer0_moe(%at: tensor<?xi64> {moe.name = "at", moe.range = [0, 7]}) -> tensor<?xi64> {
    return %at : tensor<?xi64>
  }
}
