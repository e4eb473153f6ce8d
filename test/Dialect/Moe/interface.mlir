// RUN: moe-opt %s --verify-roundtrip | FileCheck %s

// CHECK: module attributes {moe.generation = {cache_length = 64 : i64, eos = [0], keep = "last", logits = "logits", position = "start", tokens = "ids", vocab_size = 256 : i64, vocabulary = "bytes"}
// CHECK-SAME: moe.level = "graph", moe.name = "tiny", moe.weights = {id = "00ff", source = "tiny.pt2"}}
module attributes {
  moe.generation = {tokens = "ids", position = "start", keep = "last", logits = "logits", vocabulary = "bytes",
                    vocab_size = 256 : i64, cache_length = 64 : i64, eos = [0]},
  moe.level = "graph", moe.name = "tiny", moe.weights = {source = "tiny.pt2", id = "00ff"}} {
  // CHECK: moe.dim_ranges = {{\[\[}}1], [2, 64{{\]\]}}, moe.dims = ["batch", "seq"], moe.name = "ids", moe.range = [0, 255]
  // CHECK: moe.dims = ["batch"], moe.name = "start", moe.range = [0, 63], moe.range_plus = "seq", moe.uniform
  // CHECK: moe.dims = ["batch", "", "", ""], moe.encoding = "key", moe.name = "cache", moe.state
  // CHECK: moe.dims = ["batch", "seq", ""], moe.name = "logits"
  // CHECK: moe.state_of = 2
  func.func @main(%ids: tensor<?x?xi64> {moe.name = "ids", moe.dims = ["batch", "seq"], moe.dim_ranges = [[1], [2, 64]], moe.range = [0, 255]},
                  %start: tensor<?xi64> {moe.name = "start", moe.dims = ["batch"], moe.range = [0, 63], moe.range_plus = "seq", moe.uniform},
                  %cache: tensor<?x4x64x16xf32> {moe.name = "cache", moe.dims = ["batch", "", "", ""], moe.state, moe.encoding = "key"},
                  %logits: tensor<?x?x256xf32>)
      -> (tensor<?x?x256xf32> {moe.name = "logits", moe.dims = ["batch", "seq", ""]}, tensor<?x4x64x16xf32> {moe.state_of = 2}) {
    return %logits, %cache : tensor<?x?x256xf32>, tensor<?x4x64x16xf32>
  }
}
