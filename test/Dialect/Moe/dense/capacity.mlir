// RUN: moe-opt %s --moe-reference-to-llvm \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_libs | FileCheck %s

// Capacity and its rounding: moe-semantics C1, C2, C3, C13, T = 10, E = 4.
// Prints how many pairs have an expert.
func.func @show_kept(%e: tensor<?x?xi32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %empty = tensor.empty() : tensor<i32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<i32>) -> tensor<i32>
  %n = linalg.generic {indexing_maps = [affine_map<(t, j) -> (t, j)>, affine_map<(t, j) -> ()>],
                       iterator_types = ["reduction", "reduction"]} ins(%e : tensor<?x?xi32>) outs(%init : tensor<i32>) {
  ^bb0(%id: i32, %acc: i32):
    %some = arith.cmpi sge, %id, %zero : i32
    %next = arith.addi %acc, %one : i32
    %r = arith.select %some, %next, %acc : i32
    linalg.yield %r : i32
  } -> tensor<i32>
  %v = tensor.extract %n[] : tensor<i32>
  vector.print %v : i32
  return
}

func.func @main() {
  %l = arith.constant dense<0.0> : tensor<10x4xf32>
  // Every pair asks for expert 0, so that the number that is left is the capacity.
  %one = arith.constant dense<0> : tensor<10x1xi32>
  %two = arith.constant dense<0> : tensor<10x2xi32>
  // CHECK: {{^}}3{{$}}
  %w0, %e0 = moe.gate %l ids(%one : tensor<10x1xi32>) top_k(1) score(softmax) capacity(<1.25, tutel>) : tensor<10x4xf32> -> tensor<10x1xf32>, tensor<10x1xi32>
  %ed0 = tensor.cast %e0 : tensor<10x1xi32> to tensor<?x?xi32>
  call @show_kept(%ed0) : (tensor<?x?xi32>) -> ()
  // CHECK: {{^}}4{{$}}
  %w1, %e1 = moe.gate %l ids(%one : tensor<10x1xi32>) top_k(1) score(softmax) capacity(<1.25, deepspeed>) : tensor<10x4xf32> -> tensor<10x1xf32>, tensor<10x1xi32>
  %ed1 = tensor.cast %e1 : tensor<10x1xi32> to tensor<?x?xi32>
  call @show_kept(%ed1) : (tensor<?x?xi32>) -> ()
  // CHECK: {{^}}3{{$}}
  %w2, %e2 = moe.gate %l ids(%one : tensor<10x1xi32>) top_k(1) score(softmax) capacity(<1.25, megablocks>) : tensor<10x4xf32> -> tensor<10x1xf32>, tensor<10x1xi32>
  %ed2 = tensor.cast %e2 : tensor<10x1xi32> to tensor<?x?xi32>
  call @show_kept(%ed2) : (tensor<?x?xi32>) -> ()
  // CHECK: {{^}}6{{$}}
  %w3, %e3 = moe.gate %l ids(%two : tensor<10x2xi32>) top_k(2) score(softmax) capacity(<1.0, tutel>) : tensor<10x4xf32> -> tensor<10x2xf32>, tensor<10x2xi32>
  %ed3 = tensor.cast %e3 : tensor<10x2xi32> to tensor<?x?xi32>
  call @show_kept(%ed3) : (tensor<?x?xi32>) -> ()
  // CHECK: {{^}}5{{$}}
  %w4, %e4 = moe.gate %l ids(%two : tensor<10x2xi32>) top_k(2) score(softmax) capacity(<1.0, deepspeed>) : tensor<10x4xf32> -> tensor<10x2xf32>, tensor<10x2xi32>
  %ed4 = tensor.cast %e4 : tensor<10x2xi32> to tensor<?x?xi32>
  call @show_kept(%ed4) : (tensor<?x?xi32>) -> ()
  // CHECK: {{^}}5{{$}}
  %w5, %e5 = moe.gate %l ids(%two : tensor<10x2xi32>) top_k(2) score(softmax) capacity(<1.0, megablocks>) : tensor<10x4xf32> -> tensor<10x2xf32>, tensor<10x2xi32>
  %ed5 = tensor.cast %e5 : tensor<10x2xi32> to tensor<?x?xi32>
  call @show_kept(%ed5) : (tensor<?x?xi32>) -> ()
  // A factor of 0 drops nothing (C2, C13).
  // CHECK: {{^}}20{{$}}
  %w6, %e6 = moe.gate %l ids(%two : tensor<10x2xi32>) top_k(2) score(softmax) capacity(<0.0, tutel>) : tensor<10x4xf32> -> tensor<10x2xf32>, tensor<10x2xi32>
  %ed6 = tensor.cast %e6 : tensor<10x2xi32> to tensor<?x?xi32>
  call @show_kept(%ed6) : (tensor<?x?xi32>) -> ()
  // Nine rows are needed: fewer than the clip at -4.0, more than the one at -1.5 (C3).
  %nine = arith.constant dense<[[0, 0], [0, 0], [0, 0], [0, 0], [0, -1], [-1, -1], [-1, -1], [-1, -1], [-1, -1], [-1, -1]]> : tensor<10x2xi32>
  // CHECK: {{^}}8{{$}}
  %w7, %e7 = moe.gate %l ids(%nine : tensor<10x2xi32>) top_k(2) score(softmax) capacity(<-1.5, tutel>) : tensor<10x4xf32> -> tensor<10x2xf32>, tensor<10x2xi32>
  %ed7 = tensor.cast %e7 : tensor<10x2xi32> to tensor<?x?xi32>
  call @show_kept(%ed7) : (tensor<?x?xi32>) -> ()
  // CHECK: {{^}}9{{$}}
  %w8, %e8 = moe.gate %l ids(%nine : tensor<10x2xi32>) top_k(2) score(softmax) capacity(<-4.0, tutel>) : tensor<10x4xf32> -> tensor<10x2xf32>, tensor<10x2xi32>
  %ed8 = tensor.cast %e8 : tensor<10x2xi32> to tensor<?x?xi32>
  call @show_kept(%ed8) : (tensor<?x?xi32>) -> ()
  // Evaluated from left to right: 0.6 * 35 / 3 is 7, while 0.6 * (35 / 3) is a little less and would truncate to 6.
  %l3 = arith.constant dense<0.0> : tensor<35x3xf32>
  %all = arith.constant dense<0> : tensor<35x1xi32>
  // CHECK: {{^}}7{{$}}
  %w11, %e11 = moe.gate %l3 ids(%all : tensor<35x1xi32>) top_k(1) score(softmax) capacity(<0.6, megablocks>) : tensor<35x3xf32> -> tensor<35x1xf32>, tensor<35x1xi32>
  %ed11 = tensor.cast %e11 : tensor<35x1xi32> to tensor<?x?xi32>
  call @show_kept(%ed11) : (tensor<?x?xi32>) -> ()
  // More rows than any number of tokens: no overflow.
  // CHECK: {{^}}20{{$}}
  %w9, %e9 = moe.gate %l ids(%two : tensor<10x2xi32>) top_k(2) score(softmax) capacity(<1.0e300, tutel>) : tensor<10x4xf32> -> tensor<10x2xf32>, tensor<10x2xi32>
  %ed9 = tensor.cast %e9 : tensor<10x2xi32> to tensor<?x?xi32>
  call @show_kept(%ed9) : (tensor<?x?xi32>) -> ()
  // CHECK: {{^}}20{{$}}
  %w10, %e10 = moe.gate %l ids(%two : tensor<10x2xi32>) top_k(2) score(softmax) capacity(<1.0e300, megablocks>) : tensor<10x4xf32> -> tensor<10x2xf32>, tensor<10x2xi32>
  %ed10 = tensor.cast %e10 : tensor<10x2xi32> to tensor<?x?xi32>
  call @show_kept(%ed10) : (tensor<?x?xi32>) -> ()
  return
}
