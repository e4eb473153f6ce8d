// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @operand(%x: tensor<4xf32>) {
  // expected-error@+1 {{'aten.call' op argument names operand 1, but the call has 1}}
  %0 = aten.call "aten.neg.default"(%x) {self = #aten.arg<1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @operand_in_list(%x: tensor<4xf32>) {
  // expected-error@+1 {{'aten.call' op argument names operand 7, but the call has 1}}
  %0 = aten.call "aten.cat.default"(%x) {tensors = [#aten.arg<0>, #aten.arg<7>]} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @vector(%x: vector<4xf32>) {
  // expected-error@+1 {{'aten.call' op operand 0 is 'vector<4xf32>'; calls take and give tensors and numbers}}
  %0 = aten.call "aten.neg.default"(%x) {self = #aten.arg<0>} : (vector<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unknown_rank(%x: tensor<4xf32>) {
  // expected-error@+1 {{'aten.call' op result 0 is 'tensor<*xf32>'; calls take and give tensors and numbers}}
  %0 = aten.call "aten.view.default"(%x) {self = #aten.arg<0>, size = [-1]} : (tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @number(%x: tensor<4xf32>) {
  // expected-error@+1 {{'aten.call' op 'aten.rsqrt.default' gives tensors, but result 0 is 'f64'}}
  %0 = aten.call "aten.rsqrt.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> f64
  return
}

// -----

func.func @operand_is_a_number(%x: i64) {
  // expected-error@+1 {{'aten.call' op 'aten.cat.default' takes a tensor as 'tensors', got 'i64'}}
  %0 = aten.call "aten.cat.default"(%x) {tensors = [#aten.arg<0>]} : (i64) -> tensor<4xf32>
  return
}

// -----

func.func @nothing(%x: tensor<4xf32>) {
  aten.call "aten._assert_tensor_metadata.default"(%x) {a = #aten.arg<0>} : (tensor<4xf32>) -> ()
  // expected-error@+1 {{'aten.call' op 'aten.silu.default' gives nothing, as only assertions do}}
  aten.call "aten.silu.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @same_rank(%x: tensor<?x512xf32>) {
  // expected-error@+1 {{'aten.call' op 'aten.topk.default' of 'tensor<?x512xf32>' cannot give 'tensor<f32>'}}
  %0:2 = aten.call "aten.topk.default"(%x) {self = #aten.arg<0>, k = 8 : i64} : (tensor<?x512xf32>) -> (tensor<f32>, tensor<?x8xi64>)
  return
}

// -----

func.func @rank_below(%x: tensor<f32>) {
  // expected-error@+1 {{'aten.call' op 'aten.select.int' of 'tensor<f32>' cannot give 'tensor<8xf32>'}}
  %0 = aten.call "aten.select.int"(%x) {self = #aten.arg<0>, dim = 0 : i64, index = 4 : i64} : (tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @rank_above(%x: tensor<4xf32>) {
  // expected-error@+1 {{'aten.call' op 'aten.stack.default' of 'tensor<4xf32>' cannot give 'tensor<4xf32>'}}
  %0 = aten.call "aten.stack.default"(%x) {tensors = [#aten.arg<0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @missing(%c: tensor<1x2x16x8xf32>, %r: tensor<1x2x4x8xf32>) {
  // expected-error@+1 {{'aten.call' op 'aten.index_copy.default' needs a tensor as 'index'}}
  %0 = aten.call "aten.index_copy.default"(%c, %r) {self = #aten.arg<0>, dim = 2 : i64, source = #aten.arg<1>} : (tensor<1x2x16x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x16x8xf32>
  return
}

// -----

func.func @missing_weights(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'aten.call' op 'moe_mlir.experts.default' needs a tensor as 'ids'}}
  %0 = aten.call "moe_mlir.experts.default"(%x) {hidden = #aten.arg<0>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @permutation_twice(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'aten.call' op 'aten.permute.default' needs 'dims' that name each of 2 dimensions once}}
  %0 = aten.call "aten.permute.default"(%x) {self = #aten.arg<0>, dims = [0, 0, 7]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @permutation_outside(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'aten.call' op 'aten.permute.default' needs 'dims' that name each of 2 dimensions once}}
  %0 = aten.call "aten.permute.default"(%x) {self = #aten.arg<0>, dims = [0, -9]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @permutation_short(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'aten.call' op 'aten.permute.default' needs 'dims' that name each of 2 dimensions once}}
  %0 = aten.call "aten.permute.default"(%x) {self = #aten.arg<0>, dims = [0]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
