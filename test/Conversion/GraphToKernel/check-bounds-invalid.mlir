// RUN: moe-opt %s --graph-check-bounds --split-input-file --verify-diagnostics

func.func @combine(%x: tensor<5x8xf32>, %e: tensor<5x2xi32>, %w: tensor<5x2xf32>) -> tensor<5x8xf32> {
  %rows, %layout = moe.dispatch %x, %e num_experts(4) : tensor<5x8xf32>, tensor<5x2xi32> -> tensor<10x8xf32>, !moe.layout<4>
  // expected-error @+1 {{'moe.combine' op R is 10 in the layout but 5 in rows}}
  %sum = moe.combine %x, %layout : tensor<5x8xf32>, !moe.layout<4> -> tensor<5x8xf32>
  return %sum : tensor<5x8xf32>
}

// -----

func.func @foreign(%x: tensor<?x8xf32>, %layout: !moe.layout<4>) -> tensor<?x8xf32> {
  // expected-error @+1 {{'moe.combine' op needs a layout that a moe.dispatch of the same function makes}}
  %sum = moe.combine %x, %layout : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
  return %sum : tensor<?x8xf32>
}

// -----

func.func @zero(%x: tensor<?xf32>) -> index {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  // expected-error @+1 {{'arith.divui' op divides by 0}}
  %q = arith.divui %n, %c0 : index
  return %q : index
}

// -----

func.func @negative() -> tensor<?xf32> {
  %n = arith.constant -3 : index
  // expected-error @+1 {{'tensor.empty' op dimension 0 of the result would be -3}}
  %e = tensor.empty(%n) : tensor<?xf32>
  return %e : tensor<?xf32>
}

// -----

func.func @carried(%t: tensor<?xi32>, %z: tensor<4xi32>) -> tensor<i32> {
  %e = tensor.empty() : tensor<i32>
  // expected-error @+1 {{'linalg.generic' op reads a tensor at an index that depends on its own output, which cannot be checked}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%z : tensor<4xi32>) outs(%e : tensor<i32>) {
  ^bb0(%a: i32, %at: i32):
    %i = arith.index_cast %at : i32 to index
    %v = tensor.extract %t[%i] : tensor<?xi32>
    linalg.yield %v : i32
  } -> tensor<i32>
  return %y : tensor<i32>
}

// -----

func.func @in_a_region(%i: tensor<?xi64>, %t: tensor<?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'linalg.generic' op reads a tensor in a region of its body, at an index that is computed there and cannot be checked; read it before the region}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%i : tensor<?xi64>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: i64, %b: f32):
    %zero = arith.constant 0 : i64
    %half = arith.constant 0.5 : f32
    %more = arith.cmpi sge, %a, %zero : i64
    %r = scf.if %more -> f32 {
      %n = arith.index_cast %a : i64 to index
      %v = tensor.extract %t[%n] : tensor<?xf32>
      scf.yield %v : f32
    } else {
      scf.yield %half : f32
    }
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
