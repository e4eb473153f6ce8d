// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @tokens_rank(%x: tensor<8xf32>, %e: tensor<3x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op expected tokens of shape [T, H], got 'tensor<8xf32>'}}
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<8xf32>, tensor<3x2xi32> -> tensor<6x8xf32>, !moe.layout<4>
  return
}

// -----

func.func @experts_rank(%x: tensor<3x8xf32>, %e: tensor<3xi32>) {
  // expected-error@+1 {{'moe.dispatch' op expected experts of shape [T, k], got 'tensor<3xi32>'}}
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<3x8xf32>, tensor<3xi32> -> tensor<6x8xf32>, !moe.layout<4>
  return
}

// -----

func.func @tokens_differ(%x: tensor<3x8xf32>, %e: tensor<4x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op T is 3 in tokens but 4 in experts}}
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<3x8xf32>, tensor<4x2xi32> -> tensor<6x8xf32>, !moe.layout<4>
  return
}

// -----

func.func @hidden(%x: tensor<3x8xf32>, %e: tensor<3x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op H is 8 in tokens but 9 in rows}}
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<3x8xf32>, tensor<3x2xi32> -> tensor<6x9xf32>, !moe.layout<4>
  return
}

// -----

func.func @rows(%x: tensor<3x8xf32>, %e: tensor<3x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op R is 6 in T.k of experts but 5 in rows}}
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<3x8xf32>, tensor<3x2xi32> -> tensor<5x8xf32>, !moe.layout<4>
  return
}

// -----

func.func @layout_experts(%x: tensor<3x8xf32>, %e: tensor<3x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op E is 4 in num_experts but 8 in layout}}
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<3x8xf32>, tensor<3x2xi32> -> tensor<6x8xf32>, !moe.layout<8>
  return
}

// -----

func.func @no_experts(%x: tensor<3x8xf32>, %e: tensor<3x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op num_experts must be at least 1, got 0}}
  %r, %l = moe.dispatch %x, %e num_experts(0) : tensor<3x8xf32>, tensor<3x2xi32> -> tensor<6x8xf32>, !moe.layout<4>
  return
}

// -----

func.func @element(%x: tensor<3x8xf32>, %e: tensor<3x2xi32>) {
  // expected-error@+1 {{'moe.dispatch' op expected one element type, but tokens has 'f32' and rows has 'bf16'}}
  %r, %l = moe.dispatch %x, %e num_experts(4) : tensor<3x8xf32>, tensor<3x2xi32> -> tensor<6x8xbf16>, !moe.layout<4>
  return
}

// -----

func.func @weights(%x: tensor<3x8xf32>, %e: tensor<3x2xi32>, %w: tensor<3x3xf32>) {
  // expected-error@+1 {{'moe.dispatch' op k is 2 in experts but 3 in weights}}
  %r, %l = moe.dispatch %x, %e weights(%w : tensor<3x3xf32>) num_experts(4) : tensor<3x8xf32>, tensor<3x2xi32> -> tensor<6x8xf32>, !moe.layout<4>
  return
}

// -----

// expected-error@+1 {{number of experts must be at least 1, got 0}}
func.func private @layout(!moe.layout<0>)

// -----

func.func @combine_rows_rank(%r: tensor<8xf32>, %l: !moe.layout<4>, %w: tensor<3x2xf32>) {
  // expected-error@+1 {{'moe.combine' op expected rows of shape [R, H], got 'tensor<8xf32>'}}
  %0 = moe.combine %r, %l weights(%w : tensor<3x2xf32>) : tensor<8xf32>, !moe.layout<4> -> tensor<3x8xf32>
  return
}

// -----

func.func @combine_rows(%r: tensor<5x8xf32>, %l: !moe.layout<4>, %w: tensor<3x2xf32>) {
  // expected-error@+1 {{'moe.combine' op R is 5 in rows but 6 in T.k of weights}}
  %0 = moe.combine %r, %l weights(%w : tensor<3x2xf32>) : tensor<5x8xf32>, !moe.layout<4> -> tensor<3x8xf32>
  return
}

// -----

func.func @combine_tokens(%r: tensor<6x8xf32>, %l: !moe.layout<4>, %w: tensor<3x2xf32>) {
  // expected-error@+1 {{'moe.combine' op T is 3 in weights but 4 in result}}
  %0 = moe.combine %r, %l weights(%w : tensor<3x2xf32>) : tensor<6x8xf32>, !moe.layout<4> -> tensor<4x8xf32>
  return
}

// -----

func.func @combine_hidden(%r: tensor<6x8xf32>, %l: !moe.layout<4>, %w: tensor<3x2xf32>) {
  // expected-error@+1 {{'moe.combine' op H is 8 in rows but 9 in result}}
  %0 = moe.combine %r, %l weights(%w : tensor<3x2xf32>) : tensor<6x8xf32>, !moe.layout<4> -> tensor<3x9xf32>
  return
}

// -----

// expected-error@+1 {{number of experts must be at most 2147483647, as their ids are i32, got 2147483648}}
func.func private @many_experts(!moe.layout<2147483648>)

// -----

func.func @dispatch_to_many(%x: tensor<?x4xf32>, %i: tensor<?x1xi32>) {
  // expected-error@+1 {{'moe.dispatch' op num_experts must be at most 2147483647, as ids are i32, got 4611686018427387904}}
  %r, %l = moe.dispatch %x, %i num_experts(4611686018427387904) : tensor<?x4xf32>, tensor<?x1xi32> -> tensor<?x4xf32>, !moe.layout<8>
  return
}

// -----

func.func @placement(%x: tensor<3x8xf32>, %e: tensor<3x2xi32>) {
  // expected-error@+1 {{unknown placement 'here'; one of gathered, in_place, apart}}
  %r, %l = moe.dispatch %x, %e num_experts(4) placement(here) : tensor<3x8xf32>, tensor<3x2xi32> -> tensor<6x8xf32>, !moe.layout<4>
  return
}

// -----

func.func @sum_of_none(%r: tensor<?x8xf32>, %l: !moe.layout<6>) {
  // expected-error@+1 {{number of groups of a sum must be at least 1, got 0}}
  %0 = moe.combine %r, %l sum(<tree, groups = 0>) : tensor<?x8xf32>, !moe.layout<6> -> tensor<?x8xf32>
  return
}

// -----

func.func @sum_does_not_divide(%r: tensor<?x8xf32>, %l: !moe.layout<6>) {
  // expected-error@+1 {{'moe.combine' op sums by 4 ranges, which do not divide the 6 groups of its layout}}
  %0 = moe.combine %r, %l sum(<tree, groups = 4>) : tensor<?x8xf32>, !moe.layout<6> -> tensor<?x8xf32>
  return
}
