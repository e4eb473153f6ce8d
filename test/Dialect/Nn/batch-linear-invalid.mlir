// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @scalar(%x: tensor<8xf32>, %w: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'nn.batch_linear' op expected x of shape [..., G, K], got 'tensor<8xf32>'}}
  %0 = nn.batch_linear %x, %w : tensor<8xf32>, tensor<2x4x8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rank(%x: tensor<3x2x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error@+1 {{'nn.batch_linear' op expected weight of shape [G, N, K], got 'tensor<4x8xf32>'}}
  %0 = nn.batch_linear %x, %w : tensor<3x2x8xf32>, tensor<4x8xf32> -> tensor<3x2x4xf32>
  return
}

// -----

func.func @matrices(%x: tensor<3x2x8xf32>, %w: tensor<5x4x8xf32>) {
  // expected-error@+1 {{'nn.batch_linear' op G is 2 in x but 5 in weight}}
  %0 = nn.batch_linear %x, %w : tensor<3x2x8xf32>, tensor<5x4x8xf32> -> tensor<3x2x4xf32>
  return
}

// -----

func.func @k(%x: tensor<3x2x8xf32>, %w: tensor<2x4x9xf32>) {
  // expected-error@+1 {{'nn.batch_linear' op K is 8 in x but 9 in weight}}
  %0 = nn.batch_linear %x, %w : tensor<3x2x8xf32>, tensor<2x4x9xf32> -> tensor<3x2x4xf32>
  return
}

// -----

func.func @n(%x: tensor<3x2x8xf32>, %w: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'nn.batch_linear' op N is 4 in weight but 5 in result}}
  %0 = nn.batch_linear %x, %w : tensor<3x2x8xf32>, tensor<2x4x8xf32> -> tensor<3x2x5xf32>
  return
}

// -----

func.func @rows(%x: tensor<3x2x8xf32>, %w: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'nn.batch_linear' op dimension 0 is 3 in x but 7 in result}}
  %0 = nn.batch_linear %x, %w : tensor<3x2x8xf32>, tensor<2x4x8xf32> -> tensor<7x2x4xf32>
  return
}

// -----

func.func @bias_of_one(%x: tensor<3x2x8xf32>, %w: tensor<2x4x8xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'nn.batch_linear' op expected bias of shape [G, N], got 'tensor<4xf32>'}}
  %0 = nn.batch_linear %x, %w bias(%b) : tensor<3x2x8xf32>, tensor<2x4x8xf32>, tensor<4xf32> -> tensor<3x2x4xf32>
  return
}

// -----

func.func @bias(%x: tensor<3x2x8xf32>, %w: tensor<2x4x8xf32>, %b: tensor<2x5xf32>) {
  // expected-error@+1 {{'nn.batch_linear' op N is 4 in weight but 5 in bias}}
  %0 = nn.batch_linear %x, %w bias(%b) : tensor<3x2x8xf32>, tensor<2x4x8xf32>, tensor<2x5xf32> -> tensor<3x2x4xf32>
  return
}

// -----

func.func @element(%x: tensor<3x2x8xf32>, %w: tensor<2x4x8xbf16>) {
  // expected-error@+1 {{'nn.batch_linear' op expected one element type, but x has 'f32' and weight has 'bf16'}}
  %0 = nn.batch_linear %x, %w : tensor<3x2x8xf32>, tensor<2x4x8xbf16> -> tensor<3x2x4xf32>
  return
}

// -----

func.func @bias_element(%x: tensor<3x2x8xf32>, %w: tensor<2x4x8xf32>, %b: tensor<2x4xbf16>) {
  // expected-error@+1 {{'nn.batch_linear' op expected one element type, but weight has 'f32' and bias has 'bf16'}}
  %0 = nn.batch_linear %x, %w bias(%b) : tensor<3x2x8xf32>, tensor<2x4x8xf32>, tensor<2x4xbf16> -> tensor<3x2x4xf32>
  return
}
