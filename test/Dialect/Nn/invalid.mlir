// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @table_rank(%i: tensor<2x3xi64>, %t: tensor<16xf32>) {
  // expected-error@+1 {{'nn.embedding' op expected table of shape [V, H], got 'tensor<16xf32>'}}
  %0 = nn.embedding %i, %t : tensor<2x3xi64>, tensor<16xf32> -> tensor<2x3x8xf32>
  return
}

// -----

func.func @embedding_grid(%i: tensor<2x3xi64>, %t: tensor<16x8xf32>) {
  // expected-error@+1 {{'nn.embedding' op names no shard.grid: @tp}}
  %0 = nn.embedding %i, %t at @tp : tensor<2x3xi64>, tensor<16x8xf32> -> tensor<2x3x8xf32>
  return
}

// -----

shard.grid @tp(shape = 2x2)
func.func @embedding_axes(%i: tensor<2x3xi64>, %t: tensor<16x8xf32>) {
  // expected-error@+1 {{'nn.embedding' op has a part of a table for each rank of a grid of one dimension, whose size is known: @tp}}
  %0 = nn.embedding %i, %t at @tp : tensor<2x3xi64>, tensor<16x8xf32> -> tensor<2x3x8xf32>
  return
}

// -----

shard.grid @tp(shape = 2)
func.func @embedding_size(%i: tensor<2x3xi64>, %t: tensor<?x8xf32>) {
  // expected-error@+1 {{'nn.embedding' op has a part of a table whose number of rows is not known}}
  %0 = nn.embedding %i, %t at @tp : tensor<2x3xi64>, tensor<?x8xf32> -> tensor<2x3x8xf32>
  return
}

// -----

func.func @embedding_rank(%i: tensor<2x3xi64>, %t: tensor<16x8xf32>) {
  // expected-error@+1 {{'nn.embedding' op ids has 2 leading dimensions but result has 1}}
  %0 = nn.embedding %i, %t : tensor<2x3xi64>, tensor<16x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @embedding_rows(%i: tensor<2x3xi64>, %t: tensor<16x8xf32>) {
  // expected-error@+1 {{'nn.embedding' op dimension 1 is 3 in ids but 4 in result}}
  %0 = nn.embedding %i, %t : tensor<2x3xi64>, tensor<16x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @embedding_width(%i: tensor<2x3xi64>, %t: tensor<16x8xf32>) {
  // expected-error@+1 {{'nn.embedding' op H is 8 in table but 9 in result}}
  %0 = nn.embedding %i, %t : tensor<2x3xi64>, tensor<16x8xf32> -> tensor<2x3x9xf32>
  return
}

// -----

func.func @embedding_element(%i: tensor<2x3xi64>, %t: tensor<16x8xf32>) {
  // expected-error@+1 {{'nn.embedding' op expected one element type, but table has 'f32' and result has 'bf16'}}
  %0 = nn.embedding %i, %t : tensor<2x3xi64>, tensor<16x8xf32> -> tensor<2x3x8xbf16>
  return
}

// -----

func.func @linear_scalar(%x: tensor<f32>, %w: tensor<4x8xf32>) {
  // expected-error@+1 {{'nn.linear' op expected x of shape [..., K], got 'tensor<f32>'}}
  %0 = nn.linear %x, %w : tensor<f32>, tensor<4x8xf32> -> tensor<2x3x4xf32>
  return
}

// -----

func.func @linear_k(%x: tensor<2x3x8xf32>, %w: tensor<4x9xf32>) {
  // expected-error@+1 {{'nn.linear' op K is 8 in x but 9 in weight}}
  %0 = nn.linear %x, %w : tensor<2x3x8xf32>, tensor<4x9xf32> -> tensor<2x3x4xf32>
  return
}

// -----

func.func @linear_bias(%x: tensor<2x3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<5xf32>) {
  // expected-error@+1 {{'nn.linear' op N is 4 in weight but 5 in bias}}
  %0 = nn.linear %x, %w bias(%b) : tensor<2x3x8xf32>, tensor<4x8xf32>, tensor<5xf32> -> tensor<2x3x4xf32>
  return
}

// -----

func.func @linear_n(%x: tensor<2x3x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error@+1 {{'nn.linear' op N is 4 in weight but 5 in result}}
  %0 = nn.linear %x, %w : tensor<2x3x8xf32>, tensor<4x8xf32> -> tensor<2x3x5xf32>
  return
}

// -----

func.func @linear_rows(%x: tensor<2x3x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error@+1 {{'nn.linear' op dimension 0 is 2 in x but 7 in result}}
  %0 = nn.linear %x, %w : tensor<2x3x8xf32>, tensor<4x8xf32> -> tensor<7x3x4xf32>
  return
}

// -----

func.func @linear_element(%x: tensor<2x3x8xf32>, %w: tensor<4x8xbf16>) {
  // expected-error@+1 {{'nn.linear' op expected one element type, but x has 'f32' and weight has 'bf16'}}
  %0 = nn.linear %x, %w : tensor<2x3x8xf32>, tensor<4x8xbf16> -> tensor<2x3x4xf32>
  return
}

// -----

func.func @linear_bias_element(%x: tensor<2x3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xbf16>) {
  // expected-error@+1 {{'nn.linear' op expected one element type, but weight has 'f32' and bias has 'bf16'}}
  %0 = nn.linear %x, %w bias(%b) : tensor<2x3x8xf32>, tensor<4x8xf32>, tensor<4xbf16> -> tensor<2x3x4xf32>
  return
}

// -----

func.func @norm_weight(%x: tensor<2x8xf32>, %w: tensor<4xf32>) {
  // expected-error@+1 {{'nn.rms_norm' op N is 8 in x but 4 in weight}}
  %0 = nn.rms_norm %x, %w eps(1.0e-6) : tensor<2x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @norm_element(%x: tensor<2x8xf32>, %w: tensor<8xbf16>) {
  // expected-error@+1 {{'nn.rms_norm' op expected one element type, but x has 'f32' and weight has 'bf16'}}
  %0 = nn.rms_norm %x, %w eps(1.0e-6) : tensor<2x8xf32>, tensor<8xbf16>
  return
}

// -----

func.func @norm_eps(%x: tensor<2x8xf32>, %w: tensor<8xf32>) {
  // expected-error@+1 {{'nn.rms_norm' op eps must be finite and not negative, got -1.000000e+00}}
  %0 = nn.rms_norm %x, %w eps(-1.0) : tensor<2x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rope_rank(%x: tensor<2x3x8xf32>, %c: tensor<2x3x8xf32>, %s: tensor<2x3x8xf32>) {
  // expected-error@+1 {{'nn.rope' op expected x of shape [B, S, N, D], got 'tensor<2x3x8xf32>'}}
  %0 = nn.rope %x, %c, %s : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
  return
}

// -----

func.func @rope_cos_rank(%x: tensor<2x3x4x8xf32>, %c: tensor<3x8xf32>, %s: tensor<3x8xf32>) {
  // expected-error@+1 {{'nn.rope' op expected cos of shape [1 or B, S, D], got 'tensor<3x8xf32>'}}
  %0 = nn.rope %x, %c, %s : tensor<2x3x4x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
  return
}

// -----

func.func @rope_batch(%x: tensor<2x3x4x8xf32>, %c: tensor<3x3x8xf32>, %s: tensor<3x3x8xf32>) {
  // expected-error@+1 {{'nn.rope' op B is 2 in x but 3 in cos}}
  %0 = nn.rope %x, %c, %s : tensor<2x3x4x8xf32>, tensor<3x3x8xf32>, tensor<3x3x8xf32>
  return
}

// -----

func.func @rope_sin(%x: tensor<2x3x4x8xf32>, %c: tensor<2x3x8xf32>, %s: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'nn.rope' op S is 3 in x but 4 in sin}}
  %0 = nn.rope %x, %c, %s : tensor<2x3x4x8xf32>, tensor<2x3x8xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @rope_tables(%x: tensor<2x3x4x8xf32>, %c: tensor<2x3x8xf32>, %s: tensor<2x3x8xbf16>) {
  // expected-error@+1 {{'nn.rope' op expected one element type, but cos has 'f32' and sin has 'bf16'}}
  %0 = nn.rope %x, %c, %s : tensor<2x3x4x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xbf16>
  return
}

// -----

func.func @rope_odd(%x: tensor<2x3x4x7xf32>, %c: tensor<2x3x7xf32>, %s: tensor<2x3x7xf32>) {
  // expected-error@+1 {{'nn.rope' op needs an even, static D to split a head in halves, got x of type 'tensor<2x3x4x7xf32>'}}
  %0 = nn.rope %x, %c, %s : tensor<2x3x4x7xf32>, tensor<2x3x7xf32>, tensor<2x3x7xf32>
  return
}

// -----

func.func @cache_heads(%c: tensor<2x4x16x8xf32>, %r: tensor<2x3x5x8xf32>, %p: tensor<2xi64>) {
  // expected-error@+1 {{'nn.cache_update' op N is 4 in cache but 5 in rows}}
  %0 = nn.cache_update %c, %r positions(%p) : tensor<2x4x16x8xf32>, tensor<2x3x5x8xf32>, tensor<2xi64>
  return
}

// -----

func.func @cache_positions(%c: tensor<2x4x16x8xf32>, %r: tensor<2x3x4x8xf32>, %p: tensor<3xi64>) {
  // expected-error@+1 {{'nn.cache_update' op B is 2 in cache but 3 in positions}}
  %0 = nn.cache_update %c, %r positions(%p) : tensor<2x4x16x8xf32>, tensor<2x3x4x8xf32>, tensor<3xi64>
  return
}

// -----

func.func @cache_element(%c: tensor<2x4x16x8xf32>, %r: tensor<2x3x4x8xbf16>, %p: tensor<2xi64>) {
  // expected-error@+1 {{'nn.cache_update' op expected one element type, but cache has 'f32' and rows has 'bf16'}}
  %0 = nn.cache_update %c, %r positions(%p) : tensor<2x4x16x8xf32>, tensor<2x3x4x8xbf16>, tensor<2xi64>
  return
}

// -----

func.func @cache_overflow(%c: tensor<2x4x16x8xf32>, %r: tensor<2x17x4x8xf32>, %p: tensor<2xi64>) {
  // expected-error@+1 {{'nn.cache_update' op writes 17 rows into a cache of 16}}
  %0 = nn.cache_update %c, %r positions(%p) : tensor<2x4x16x8xf32>, tensor<2x17x4x8xf32>, tensor<2xi64>
  return
}

// -----

func.func @double(%x: tensor<4xf64>, %w: tensor<4xf64>) {
  // expected-error@+1 {{operand #0 must be tensor of 32-bit float or bfloat16 type or 16-bit float values, but got 'tensor<4xf64>'}}
  %0 = nn.rms_norm %x, %w eps(0.0) : tensor<4xf64>, tensor<4xf64>
  return
}

// -----

func.func @silu_of_integers(%x: i32) {
  // expected-error@+1 {{'nn.silu' op operand #0 must be floating-point-like, but got 'i32'}}
  %0 = nn.silu %x : i32
  return
}

// -----

func.func @top_k_rows(%x: tensor<3x16xf32>) {
  // expected-error@+1 {{'nn.top_k' op dimension 0 is 3 in x but 4 in values}}
  %v, %i = nn.top_k %x : tensor<3x16xf32> -> tensor<4x2xf32>, tensor<4x2xi64>
  return
}

// -----

func.func @top_k_results(%x: tensor<3x16xf32>) {
  // expected-error@+1 {{'nn.top_k' op K is 2 in values but 3 in indices}}
  %v, %i = nn.top_k %x : tensor<3x16xf32> -> tensor<3x2xf32>, tensor<3x3xi64>
  return
}

// -----

func.func @top_k_element(%x: tensor<3x16xf32>) {
  // expected-error@+1 {{'nn.top_k' op expected one element type, but x has 'f32' and values has 'bf16'}}
  %v, %i = nn.top_k %x : tensor<3x16xf32> -> tensor<3x2xbf16>, tensor<3x2xi64>
  return
}

// -----

func.func @top_k_of_doubles(%x: tensor<3x16xf64>) {
  // expected-error@+1 {{'nn.top_k' op operand #0 must be tensor of 32-bit float or bfloat16 type or 16-bit float or 64-bit signless integer or 32-bit signless integer values, but got 'tensor<3x16xf64>'}}
  %v, %i = nn.top_k %x : tensor<3x16xf64> -> tensor<3x2xf64>, tensor<3x2xi64>
  return
}

// -----

func.func @top_k_too_many(%x: tensor<3x16xf32>) {
  // expected-error@+1 {{'nn.top_k' op takes 17 elements of rows that have 16}}
  %v, %i = nn.top_k %x : tensor<3x16xf32> -> tensor<3x17xf32>, tensor<3x17xi64>
  return
}

// -----

func.func @top_k_without_count(%x: tensor<3x16xf32>) {
  // expected-error@+1 {{'nn.top_k' op needs a count where its results do not say how many they are: 'tensor<3x?xi64>'}}
  %v, %i = nn.top_k %x : tensor<3x16xf32> -> tensor<3x?xf32>, tensor<3x?xi64>
  return
}

// -----

func.func @top_k_with_two_counts(%x: tensor<3x16xf32>, %n: index) {
  // expected-error@+1 {{'nn.top_k' op has a count, but its results say how many they are: 'tensor<3x2xi64>'}}
  %v, %i = nn.top_k %x count(%n) : tensor<3x16xf32> -> tensor<3x2xf32>, tensor<3x2xi64>
  return
}
