// Rules of nn.attention.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @attention_heads(%q: tensor<2x3x8x16xf32>, %k: tensor<2x3x32x16xf32>, %v: tensor<2x3x32x16xf32>) {
  // expected-error@+1 {{'nn.attention' op 8 query heads do not share 3 key heads evenly}}
  %0 = nn.attention %q, %k, %v scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x3x32x16xf32>, tensor<2x3x32x16xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_no_heads(%q: tensor<2x3x8x16xf32>, %k: tensor<2x0x32x16xf32>, %v: tensor<2x0x32x16xf32>) {
  // expected-error@+1 {{'nn.attention' op 8 query heads do not share 0 key heads evenly}}
  %0 = nn.attention %q, %k, %v scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x0x32x16xf32>, tensor<2x0x32x16xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_dynamic(%q: tensor<2x3x?x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x16xf32>) {
  // expected-error@+1 {{'nn.attention' op needs static numbers of heads and a static head size}}
  %0 = nn.attention %q, %k, %v scale(0.25) : tensor<2x3x?x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x3x?x16xf32>
  return
}

// -----

func.func @attention_value(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x31x16xf32>) {
  // expected-error@+1 {{'nn.attention' op L is 32 in key but 31 in value}}
  %0 = nn.attention %q, %k, %v scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x31x16xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_size(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x8xf32>, %v: tensor<2x4x32x8xf32>) {
  // expected-error@+1 {{'nn.attention' op D is 16 in query but 8 in key}}
  %0 = nn.attention %q, %k, %v scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_positions(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x16xf32>, %p: tensor<3xi64>) {
  // expected-error@+1 {{'nn.attention' op B is 2 in query but 3 in positions}}
  %0 = nn.attention %q, %k, %v positions(%p : tensor<3xi64>) scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_lengths(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x16xf32>, %l: tensor<2x1xi64>) {
  // expected-error@+1 {{'nn.attention' op expected lengths of shape [B], got 'tensor<2x1xi64>'}}
  %0 = nn.attention %q, %k, %v lengths(%l : tensor<2x1xi64>) scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_mask(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x16xf32>, %m: tensor<2x4x3x32xi1>) {
  // expected-error@+1 {{'nn.attention' op N is 8 in query but 4 in mask}}
  %0 = nn.attention %q, %k, %v mask(%m : tensor<2x4x3x32xi1>) scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_bias(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x16xf32>, %b: tensor<1x1x3x16xf32>) {
  // expected-error@+1 {{'nn.attention' op L is 32 in key but 16 in bias}}
  %0 = nn.attention %q, %k, %v bias(%b : tensor<1x1x3x16xf32>) scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_bias_type(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x16xf32>, %b: tensor<1x1x3x32xi1>) {
  // expected-error@+1 {{'nn.attention' op operand #3 must be}}
  %0 = nn.attention %q, %k, %v bias(%b : tensor<1x1x3x32xi1>) scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_sinks(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x16xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{'nn.attention' op N is 8 in query but 4 in sinks}}
  %0 = nn.attention %q, %k, %v sinks(%s : tensor<4xf32>) scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_width(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x24xf32>) {
  // expected-error@+1 {{'nn.attention' op Dv is 24 in value but 16 in result}}
  %0 = nn.attention %q, %k, %v scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x24xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_dynamic_width(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x?xf32>) {
  // expected-error@+1 {{'nn.attention' op needs static numbers of heads and a static head size}}
  %0 = nn.attention %q, %k, %v scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x?xf32> -> tensor<2x3x8x?xf32>
  return
}

// -----

func.func @attention_result(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x16xf32>) {
  // expected-error@+1 {{'nn.attention' op S is 3 in query but 4 in result}}
  %0 = nn.attention %q, %k, %v scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @attention_element(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xbf16>, %v: tensor<2x4x32x16xbf16>) {
  // expected-error@+1 {{'nn.attention' op expected one element type, but query has 'f32' and key has 'bf16'}}
  %0 = nn.attention %q, %k, %v scale(0.25) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xbf16>, tensor<2x4x32x16xbf16> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_scale(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x16xf32>) {
  // expected-error@+1 {{'nn.attention' op scale must be finite}}
  %0 = nn.attention %q, %k, %v scale(0x7FF8000000000000) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x3x8x16xf32>
  return
}

// -----

func.func @attention_window(%q: tensor<2x3x8x16xf32>, %k: tensor<2x4x32x16xf32>, %v: tensor<2x4x32x16xf32>) {
  // expected-error@+1 {{'nn.attention' op window must be at least 1, got 0}}
  %0 = nn.attention %q, %k, %v scale(0.25) window(0) : tensor<2x3x8x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32> -> tensor<2x3x8x16xf32>
  return
}
