// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @conv_rank(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error@+1 {{'nn.causal_conv' op expected x of shape [B, C, L], got 'tensor<2x8xf32>'}}
  %0 = nn.causal_conv %x, %w : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @conv_weight(%x: tensor<2x8x3xf32>, %w: tensor<7x4xf32>) {
  // expected-error@+1 {{'nn.causal_conv' op C is 8 in x but 7 in weight}}
  %0 = nn.causal_conv %x, %w : tensor<2x8x3xf32>, tensor<7x4xf32> -> tensor<2x8x3xf32>
  return
}

// -----

func.func @conv_bias(%x: tensor<2x8x3xf32>, %w: tensor<8x4xf32>, %b: tensor<9xf32>) {
  // expected-error@+1 {{'nn.causal_conv' op C is 8 in x but 9 in bias}}
  %0 = nn.causal_conv %x, %w bias(%b : tensor<9xf32>) : tensor<2x8x3xf32>, tensor<8x4xf32> -> tensor<2x8x3xf32>
  return
}

// -----

func.func @conv_result(%x: tensor<2x8x3xf32>, %w: tensor<8x4xf32>) {
  // expected-error@+1 {{'nn.causal_conv' op L is 3 in x but 4 in result}}
  %0 = nn.causal_conv %x, %w : tensor<2x8x3xf32>, tensor<8x4xf32> -> tensor<2x8x4xf32>
  return
}

// -----

func.func @conv_element(%x: tensor<2x8x3xf32>, %w: tensor<8x4xf32>) {
  // expected-error@+1 {{'nn.causal_conv' op expected one element type, but x has 'f32' and result has 'bf16'}}
  %0 = nn.causal_conv %x, %w : tensor<2x8x3xf32>, tensor<8x4xf32> -> tensor<2x8x3xbf16>
  return
}

// -----

func.func @conv_dynamic(%x: tensor<2x8x3xf32>, %w: tensor<8x?xf32>) {
  // expected-error@+1 {{'nn.causal_conv' op needs a static number of columns that it sums, at least 1, got a weight of type 'tensor<8x?xf32>'}}
  %0 = nn.causal_conv %x, %w : tensor<2x8x3xf32>, tensor<8x?xf32> -> tensor<2x8x3xf32>
  return
}

// -----

func.func @conv_empty(%x: tensor<2x8x3xf32>, %w: tensor<8x0xf32>) {
  // expected-error@+1 {{'nn.causal_conv' op needs a static number of columns that it sums, at least 1, got a weight of type 'tensor<8x0xf32>'}}
  %0 = nn.causal_conv %x, %w : tensor<2x8x3xf32>, tensor<8x0xf32> -> tensor<2x8x3xf32>
  return
}

// -----

func.func @scan_rank(%q: tensor<2x3x16xf32>, %k: tensor<2x3x16xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op expected query of shape [B, S, M, K], got 'tensor<2x3x16xf32>'}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_key(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x4x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op M is 2 in query but 4 in key}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_value(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x5x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op S is 3 in query but 5 in value}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x5x4x16xf32> -> tensor<2x5x4x16xf32>
  return
}

// -----

func.func @scan_decay(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x2xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op N is 4 in value but 2 in decay}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x2xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_decay_rank(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op expected decay of shape [B, S, N], got 'tensor<2x3xf32>'}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_channels(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4x16xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op K is 8 in query but 16 in decay}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4x16xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_elements(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4x8xf32>, %r: tensor<4x8x16xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op V is 16 in value but 8 in decay}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4x8xf32>) rates(%r : tensor<4x8x16xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_rates(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4x16xf32>, %r: tensor<4x16x8xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op K is 8 in query but 16 in rates}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4x16xf32>) rates(%r : tensor<4x16x8xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_rates_alone(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %r: tensor<4x8x16xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op expected decay of shape [B, S, N, V], got 'tensor<2x3x4xf32>'}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) rates(%r : tensor<4x8x16xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_beta(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %b: tensor<2x3x2xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op N is 4 in value but 2 in beta}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) beta(%b : tensor<2x3x2xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_state(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x16x8xf32>) {
  // expected-error@+1 {{'nn.scan' op K is 8 in query but 16 in state}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x16x8xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_result(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op V is 16 in value but 8 in result}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x8xf32>
  return
}

// -----

func.func @scan_keys_element(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xbf16>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op expected one element type, but query has 'f32' and key has 'bf16'}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xbf16>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_values_element(%q: tensor<2x3x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op expected one element type, but value has 'f32' and result has 'bf16'}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xbf16>
  return
}

// -----

func.func @scan_dynamic(%q: tensor<2x3x?x8xf32>, %k: tensor<2x3x?x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op needs static numbers of heads and a static size of their matrices}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x?x8xf32>, tensor<2x3x?x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_heads(%q: tensor<2x3x3x8xf32>, %k: tensor<2x3x3x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op 4 heads of values do not share 3 heads of keys evenly}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_no_heads(%q: tensor<2x3x0x8xf32>, %k: tensor<2x3x0x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x8x16xf32>) {
  // expected-error@+1 {{'nn.scan' op 4 heads of values do not share 0 heads of keys evenly}}
  %0, %n = nn.scan %q, %k, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x8x16xf32>) : tensor<2x3x0x8xf32>, tensor<2x3x0x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}

// -----

func.func @scan_state_element(%q: tensor<2x3x2x8xf32>, %v: tensor<2x3x4x16xf32>, %d: tensor<2x3x4xf32>, %h: tensor<2x4x8x16xbf16>) {
  // expected-error@+1 {{'nn.scan' op operand #4 must be tensor of 32-bit float values, but got 'tensor<2x4x8x16xbf16>'}}
  %0, %n = nn.scan %q, %q, %v decay(%d : tensor<2x3x4xf32>) state(%h : tensor<2x4x8x16xbf16>) : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x16xf32> -> tensor<2x3x4x16xf32>
  return
}
