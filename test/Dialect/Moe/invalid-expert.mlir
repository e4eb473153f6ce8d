// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @rows_rank(%r: tensor<8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op expected rows of shape [R, H], got 'tensor<8xf32>'}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @w_in_experts(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<5x32x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op E is 4 in layout but 5 in w_in}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<5x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @w_out_experts(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<3x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op E is 4 in layout but 3 in w_out}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<3x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @hidden(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x9xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op H is 8 in rows but 9 in w_in}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x9xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @gated_width(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x16x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op 2I is 16 in w_in but 32 in w_out}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x16x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @plain_width(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op I is 32 in w_in but 16 in w_out}}
  %y = moe.expert %r, %l, %w1, %w2 {
  ^bb0(%g: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @output(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op O is 8 in w_out but 9 in result}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x9xf32>
  return
}

// -----

func.func @rows_differ(%r: tensor<6x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op R is 6 in rows but 7 in result}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<6x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<7x8xf32>
  return
}

// -----

func.func @bias_in_width(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>, %b1: tensor<4x16xf32>) {
  // expected-error@+1 {{'moe.expert' op 2I is 32 in w_in but 16 in bias_in}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<4x16xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @bias_out_width(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>, %b2: tensor<4x16xf32>) {
  // expected-error@+1 {{'moe.expert' op O is 8 in w_out but 16 in bias_out}}
  %y = moe.expert %r, %l, %w1, %w2 bias_out(%b2 : tensor<4x16xf32>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @dynamic_weights(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x?x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op w_in needs a static shape, got 'tensor<4x?x8xf32>'}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x?x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @rows_element(%r: tensor<?x8xbf16>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op expected one element type, but rows has 'bf16' and w_in has 'f32'}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xbf16>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @w_out_element(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xbf16>) {
  // expected-error@+1 {{'moe.expert' op expected one element type, but w_in has 'f32' and w_out has 'bf16'}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xbf16> -> tensor<?x8xf32>
  return
}

// -----

func.func @bias_element(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>, %b1: tensor<4x32xbf16>) {
  // expected-error@+1 {{'moe.expert' op expected one element type, but w_in has 'f32' and bias_in has 'bf16'}}
  %y = moe.expert %r, %l, %w1, %w2 bias_in(%b1 : tensor<4x32xbf16>) gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @interleaved(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x16x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op interleaved needs gated: it orders gate and up columns}}
  %y = moe.expert %r, %l, %w1, %w2 interleaved {
  ^bb0(%g: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x16x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @gated_arguments(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op activation takes (gate: f32, up: f32), got ('f32')}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @plain_arguments(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x16x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op activation takes one f32, got ('f32', 'f32')}}
  %y = moe.expert %r, %l, %w1, %w2 {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x16x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @argument_type(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op activation takes (gate: f32, up: f32), got ('f32', 'bf16')}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: bf16):
    moe.yield %g : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @yield_two(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op activation yields one f32, got ('f32', 'f32')}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    moe.yield %g, %u : f32, f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @no_yield(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x16xf32>) {
  // expected-error@+1 {{'moe.expert' op activation must end in moe.yield}}
  %y = moe.expert %r, %l, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    llvm.unreachable
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @place_in_the_region(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x32xf32>, %t: tensor<?xf32>) {
  %y = moe.expert %r, %l, %w1, %w2 {
  ^bb0(%v: f32):
    %i = arith.fptosi %v : f32 to i32
    %at = arith.index_cast %i : i32 to index
    // expected-error@+1 {{'tensor.extract' op in an activation reads a place that may depend on the row: indices are constants, or values from outside}}
    %s = tensor.extract %t[%at] : tensor<?xf32>
    moe.yield %s : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x32xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @power(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x32xf32>) {
  %y = moe.expert %r, %l, %w1, %w2 {
  ^bb0(%v: f32):
    %i = arith.fptosi %v : f32 to i32
    // expected-error@+1 {{'math.ipowi' op cannot stand in a scalar region; it holds arith, math but math.ipowi, scf, nn.silu, linalg.index, tensor.extract and tensor.dim}}
    %p = math.ipowi %i, %i : i32
    %s = arith.sitofp %p : i32 to f32
    moe.yield %s : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x32xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @narrow(%r: tensor<?x8xf32>, %l: !moe.layout<4>, %w1: tensor<4x32x8xf32>, %w2: tensor<4x8x32xf32>) {
  %y = moe.expert %r, %l, %w1, %w2 {
  ^bb0(%v: f32):
    // expected-error@+1 {{'arith.fptosi' op cannot stand in a scalar region: its values are i1, i8, i16, i32, i64, index, f16, bf16, f32 or f64}}
    %i = arith.fptosi %v : f32 to i4
    %s = arith.sitofp %i : i4 to f32
    moe.yield %s : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x32x8xf32>, tensor<4x8x32xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @yield_elsewhere(%x: f32) {
  // expected-error@+1 {{'moe.yield' op expects parent op 'moe.expert'}}
  moe.yield %x : f32
}
