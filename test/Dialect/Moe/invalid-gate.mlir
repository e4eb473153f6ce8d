// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @logits_rank(%l: tensor<8xf32>) {
  // expected-error@+1 {{'moe.gate' op expected logits of shape [T, E], got 'tensor<8xf32>'}}
  %w, %e = moe.gate %l top_k(2) score(softmax) : tensor<8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @dynamic_experts(%l: tensor<4x?xf32>) {
  // expected-error@+1 {{'moe.gate' op needs a static number of experts, got logits of type 'tensor<4x?xf32>'}}
  %w, %e = moe.gate %l top_k(2) score(softmax) : tensor<4x?xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @top_k_zero(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op top_k must be at least 1, got 0}}
  %w, %e = moe.gate %l top_k(0) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @top_k_negative(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op top_k must be at least 1, got -1}}
  %w, %e = moe.gate %l top_k(-1) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @k_differs(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op k is 3 in top_k(3) of 8 experts but 2 in weights}}
  %w, %e = moe.gate %l top_k(3) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @k_is_clipped(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op k is 8 in top_k(9) of 8 experts but 9 in weights}}
  %w, %e = moe.gate %l top_k(9) score(softmax) : tensor<?x8xf32> -> tensor<?x9xf32>, tensor<?x9xi32>
  return
}

// -----

func.func @experts_k(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op k is 2 in top_k(2) of 8 experts but 3 in experts}}
  %w, %e = moe.gate %l top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x3xi32>
  return
}

// -----

func.func @tokens_differ(%l: tensor<4x8xf32>) {
  // expected-error@+1 {{'moe.gate' op T is 4 in logits but 5 in weights}}
  %w, %e = moe.gate %l top_k(2) score(softmax) : tensor<4x8xf32> -> tensor<5x2xf32>, tensor<4x2xi32>
  return
}

// -----

func.func @bias_size(%l: tensor<?x8xf32>, %b: tensor<7xf32>) {
  // expected-error@+1 {{'moe.gate' op E is 8 in logits but 7 in bias}}
  %w, %e = moe.gate %l bias(%b : tensor<7xf32>) top_k(2) score(sigmoid) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @bias_rank(%l: tensor<?x8xf32>, %b: tensor<1x8xf32>) {
  // expected-error@+1 {{'moe.gate' op expected bias of shape [E], got 'tensor<1x8xf32>'}}
  %w, %e = moe.gate %l bias(%b : tensor<1x8xf32>) top_k(2) score(sigmoid) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @ids_k(%l: tensor<?x8xf32>, %i: tensor<?x3xi32>) {
  // expected-error@+1 {{'moe.gate' op k is 2 in top_k(2) of 8 experts but 3 in ids}}
  %w, %e = moe.gate %l ids(%i : tensor<?x3xi32>) top_k(2) score(softmax) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @pnorm_without_p(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op renormalize(pnorm) needs p}}
  %w, %e = moe.gate %l top_k(2) score(softmax) renormalize(pnorm) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @p_without_pnorm(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op p goes with renormalize(pnorm), not with sum}}
  %w, %e = moe.gate %l top_k(2) score(softmax) renormalize(sum) p(2.0) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @p_small(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op p must be finite and at least 1, got 5.000000e-01}}
  %w, %e = moe.gate %l top_k(2) score(softmax) renormalize(pnorm) p(0.5) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @eps_without_sum(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op eps goes with renormalize(sum), not with before}}
  %w, %e = moe.gate %l top_k(2) score(softmax) renormalize(before) eps(1.0e-20) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @eps_negative(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op eps must be finite and not negative, got -1.000000e+00}}
  %w, %e = moe.gate %l top_k(2) score(softmax) renormalize(sum) eps(-1.0) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @scale_infinite(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op scale must be finite}}
  %w, %e = moe.gate %l top_k(2) score(softmax) scale(0x7FF0000000000000) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @groups_divide(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op 3 groups do not divide 8 experts}}
  %w, %e = moe.gate %l top_k(2) score(softmax) groups(<3, keep = 1, max>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @groups_too_few(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op cannot choose 2 of the 1 experts in 1 groups}}
  %w, %e = moe.gate %l top_k(2) score(softmax) groups(<8, keep = 1, max>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @groups_of_one(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op top2_sum needs groups of at least 2 experts, got 1}}
  %w, %e = moe.gate %l top_k(2) score(softmax) groups(<8, keep = 2, top2_sum>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @no_groups(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{number of groups must be at least 1, got 0}}
  %w, %e = moe.gate %l top_k(2) score(softmax) groups(<0, keep = 1, max>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @keep_zero(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{expected to keep 1 to 4 groups, got 0}}
  %w, %e = moe.gate %l top_k(2) score(softmax) groups(<4, keep = 0, max>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @keep_many(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{expected to keep 1 to 4 groups, got 5}}
  %w, %e = moe.gate %l top_k(2) score(softmax) groups(<4, keep = 5, max>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @rounding(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{unknown rounding 'up'; one of tutel, deepspeed, megablocks}}
  %w, %e = moe.gate %l top_k(2) score(softmax) capacity(<1.0, up>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @factor(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{capacity factor must be finite}}
  %w, %e = moe.gate %l top_k(2) score(softmax) capacity(<1.0e999, tutel>) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @score(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{unknown score function 'relu'; one of softmax, softmax_after, sigmoid, sigmoid_after, sqrt_softplus, sparsemixer}}
  %w, %e = moe.gate %l top_k(2) score(relu) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @renormalize(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{unknown renormalisation 'max'; one of none, sum, before, after, pnorm}}
  %w, %e = moe.gate %l top_k(2) score(softmax) renormalize(max) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @element(%l: tensor<?x8xf64>) {
  // expected-error@+1 {{operand #0 must be tensor of 32-bit float or bfloat16 type or 16-bit float values, but got 'tensor<?x8xf64>'}}
  %w, %e = moe.gate %l top_k(2) score(softmax) : tensor<?x8xf64> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @gate_of_many(%logits: tensor<?x3000000000xf32>) {
  // expected-error@+1 {{'moe.gate' op chooses among 3000000000 experts; at most 2147483647 have ids of i32}}
  %w, %e = moe.gate %logits top_k(2) score(softmax) : tensor<?x3000000000xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @mixer_without_jitter(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op score(sparsemixer) needs jitter}}
  %w, %e = moe.gate %l top_k(2) score(sparsemixer) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @jitter_alone(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op jitter goes with score(sparsemixer), not with softmax}}
  %w, %e = moe.gate %l top_k(2) score(softmax) jitter(0.1) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @jitter_negative(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op jitter must be finite and not negative, got -5.000000e-01}}
  %w, %e = moe.gate %l top_k(2) score(sparsemixer) jitter(-0.5) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @jitter_nan(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op jitter must be finite and not negative, got}}
  %w, %e = moe.gate %l top_k(2) score(sparsemixer) jitter(0x7FF8000000000000) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @least_alone(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op least goes with renormalize(sum), not with before}}
  %w, %e = moe.gate %l top_k(2) score(softmax) renormalize(before) least(0.1) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @least_zero(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op least must be finite and positive, got 0}}
  %w, %e = moe.gate %l top_k(2) score(softmax) renormalize(sum) least(0.0) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}

// -----

func.func @least_infinite(%l: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gate' op least must be finite and positive, got INF}}
  %w, %e = moe.gate %l top_k(2) score(softmax) renormalize(sum) least(0x7FF0000000000000) : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return
}
