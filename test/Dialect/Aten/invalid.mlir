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
