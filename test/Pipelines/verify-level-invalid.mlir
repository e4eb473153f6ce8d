// RUN: split-file %s %t
// RUN: moe-opt %t/graph.mlir --verify-diagnostics --moe-verify-level=level=graph
// RUN: moe-opt %t/ranks.mlir --split-input-file --verify-diagnostics --moe-verify-level=level=spmd
// RUN: moe-opt %t/ranks.mlir --split-input-file --verify-diagnostics --moe-verify-level=level=scheduled
// RUN: moe-opt %t/kernel.mlir --verify-diagnostics --moe-verify-level=level=kernel
// RUN: moe-opt %t/runtime.mlir --verify-diagnostics --moe-verify-level=level=runtime

//--- graph.mlir
// expected-error@+1 {{level graph: 'shard.grid' is not an op of this level}}
shard.grid @ep(shape = 1)

// One message per kind of op.
func.func @foreign(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{level graph: 'memref.alloc' is not an op of this level (2 ops, this is the first)}}
  %m = memref.alloc() : memref<4xf32>
  %n = memref.alloc() : memref<4xf32>
  // expected-error@+1 {{level graph: 'moe.dispatch' is divided among ranks, which level spmd decides}}
  %s, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<1>
  // expected-error@+1 {{level graph: 'moe.dispatch' has an order of its experts, which level spmd decides}}
  %o, %ol = moe.dispatch %x, %e num_experts(2) order(<[1, 0]>) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  // expected-error@+1 {{level graph: 'shard.all_reduce' is not an op of this level}}
  %a = shard.all_reduce %x on @ep grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-error@+1 {{level graph: 'moe.all_to_all' is not an op of this level}}
  %0, %1 = moe.all_to_all %s, %l on @ep : tensor<?x4xf32>, !moe.layout<1> -> tensor<?x4xf32>, !moe.layout<1>
  return
}

func.func @rounding(%x: tensor<4xf64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = arith.truncf %x to_nearest_even : tensor<4xf64> to tensor<4xf32>
  // expected-error@+1 {{level graph: 'arith.truncf' has a rounding mode; programs round to the nearest number, ties to even (2 ops, this is the first)}}
  %b = arith.truncf %x downward : tensor<4xf64> to tensor<4xf32>
  %c = arith.truncf %x to_nearest_away : tensor<4xf64> to tensor<4xf32>
  return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

func.func @region(%x: tensor<4xi32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%a: i32, %b: i32):
    // expected-error@+1 {{level graph: 'math.ipowi' cannot stand in a scalar region; it holds}}
    %p = math.ipowi %a, %a : i32
    linalg.yield %p : i32
  } -> tensor<4xi32>
  return %y : tensor<4xi32>
}

func.func @reduced(%x: tensor<?x4xf32>, %e: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{level graph: 'linalg.generic' has a result with an index of a dimension that it reduces; make that dimension parallel, or take it out of the result's map}}
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

//--- ranks.mlir
shard.grid @ep(shape = 2)

func.func @rows_to(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{'moe.dispatch' has rows for ranks that another op than moe.all_to_all reads; they exist on their way only}}
  %s, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  return %s : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)

func.func @sum_of_nothing(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{'moe.dispatch' has a layout of ranks, of which moe.combine sums what its moe.all_to_all 'return' gives; nothing else uses it}}
  %s, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  %y = moe.combine %x, %l : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)

func.func @sum_of_received(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %s, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  // expected-error@+1 {{'moe.all_to_all' received rows whose layout another op than its moe.all_to_all 'return' uses}}
  %r, %rl = moe.all_to_all %s, %l on @ep : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>
  %y = moe.combine %r, %rl : tensor<?x4xf32>, !moe.layout<1> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)

func.func @ids_stayed(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %s, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  %r, %rl = moe.all_to_all %s, %l on @ep : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>
  // expected-error@+1 {{'moe.dispatch' stands at a rank and reads what a moe.all_to_all on its grid received, or on the axes of its grid one after the other: tokens, and companions of the same exchange}}
  %a, %al = moe.dispatch %r, %e num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return %a : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)

func.func @tokens_of_others(%x: tensor<?x4xf32> {moe.split = @ep}, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %n = arith.negf %x : tensor<?x4xf32>
  // expected-error@+1 {{'moe.dispatch' stands at a rank, but its tokens are divided among the ranks; exchange them before, or take 'moe.split' from the inputs}}
  %a, %al = moe.dispatch %n, %e num_experts(8) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<4>
  return %a : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)

func.func @experts_of_others(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %s, %l = moe.dispatch %x, %e num_experts(8) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  %r, %rl, %re = moe.all_to_all %s, %l on @ep with(%e : tensor<?x2xi32>) via(direct)
      : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x2xi32>
  // expected-error@+1 {{'moe.dispatch' has another number or order of experts than the moe.dispatch 'to' the ranks whose rows it gets; give both one num_experts and one order}}
  %a, %al = moe.dispatch %r, %re num_experts(4) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  return %a : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)

func.func @order_of_others(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %s, %l = moe.dispatch %x, %e num_experts(2) to @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  %r, %rl, %re = moe.all_to_all %s, %l on @ep with(%e : tensor<?x2xi32>) via(direct)
      : tensor<?x4xf32>, !moe.layout<2> -> tensor<?x4xf32>, !moe.layout<1>, tensor<?x2xi32>
  // expected-error@+1 {{'moe.dispatch' has another number or order of experts than}}
  %a, %al = moe.dispatch %r, %re num_experts(2) order(<[1, 0]>) at @ep : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<1>
  return %a : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)

// expected-error@+1 {{argument 0 ('x') of 'part_of_whole' and result 0 ('y') of 'part_of_whole' share the size 'tokens', but one is divided on @ep and the other whole; give both one 'moe.split', or none}}
func.func @part_of_whole(%x: tensor<?x4xf32> {moe.name = "x", moe.dims = ["tokens", ""], moe.split = @ep})
    -> (tensor<?x4xf32> {moe.name = "y", moe.dims = ["tokens", ""]}) {
  return %x : tensor<?x4xf32>
}

// -----

shard.grid @dp(shape = 2)
shard.grid @ep(shape = 2)

// expected-error@+1 {{argument 0 of 'other_parts' and argument 2 of 'other_parts' share the size 'tokens', but one is divided on @ep and the other divided on [@dp, @ep]; give both one 'moe.split', or none}}
func.func @other_parts(%x: tensor<?x4xf32> {moe.dims = ["tokens", ""], moe.split = @ep}, %z: tensor<?x?xf32> {moe.dims = ["rows", "tokens"]},
                       %w: tensor<?x4xf32> {moe.dims = ["tokens", ""], moe.split = [@dp, @ep]}) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}

// -----

func.func @weights_by_number(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>) -> tensor<?x4xf32> {
  %w1 = moe.parameter ["up"] recipe [#moe.order<[1, 0]>] : tensor<2x4x4xf32>
  %w2 = moe.parameter ["down"] : tensor<2x4x4xf32>
  %r, %l = moe.dispatch %x, %e num_experts(2) order(<[1, 0]>) : tensor<?x4xf32>, tensor<?x2xi32> -> tensor<?x4xf32>, !moe.layout<2>
  // expected-error@+1 {{'moe.expert' has weights in another order of experts than its moe.dispatch; give both one #moe.order}}
  %y = moe.expert %r, %l, %w1, %w2 schedule(<plain>) {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x4xf32>, !moe.layout<2>, tensor<2x4x4xf32>, tensor<2x4x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)

func.func @other_collective(%x: tensor<4x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{'shard.reduce_scatter' is not an op of this level}}
  %y = shard.reduce_scatter %x on @ep grid_axes = [0] scatter_axis = 0 : tensor<4x4xf32> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// expected-error@+1 {{'shard.grid' has no number of ranks that is known; its sizes are numbers from 1 on whose product fits an integer}}
shard.grid @ep(shape = 2x?)
func.func @sum(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %r = shard.all_reduce %x on @ep grid_axes = [0] : tensor<?x64xf32> -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

//--- kernel.mlir
// Ranks are known to the kernels of a host program.
shard.grid @ep(shape = 2)

// expected-error@+1 {{level kernel: 'func.func' works on tensors; this level has buffers only}}
func.func @host(%x: tensor<4xf32>, %m: memref<4xf32>) {
  // expected-error@+1 {{level kernel: 'nn.silu' is not an op of this level}}
  %s = nn.silu %x : tensor<4xf32>
  // expected-error@+1 {{level kernel: 'moe.parameter' works on tensors; this level has buffers only}}
  %w = moe.parameter ["w"] : tensor<4xf32>
  %p = moe.parameter ["w"] : memref<4xf32>
  // expected-error@+1 {{level kernel: 'memref.alloc' has a buffer with a memory space; this level has one kind of memory, and a target chooses where what stands}}
  %a = memref.alloc() : memref<4xf32, 3>
  return
}

// expected-error@+1 {{level kernel: 'kernel.func' has a buffer with a memory space; this level has one kind of memory, and a target chooses where what stands}}
kernel.func @shared(%x: memref<?xf32, 3>) {
  kernel.return
}

//--- runtime.mlir
llvm.func @kernel(%args: !llvm.ptr, %block: i64, %blocks: i64) {
  // expected-error@+1 {{level runtime: 'arith.constant' is not an op of this level}}
  %0 = arith.constant 0 : i64
  // expected-error@+1 {{level runtime: 'builtin.unrealized_conversion_cast' is not an op of this level}}
  %1 = builtin.unrealized_conversion_cast %0 : i64 to index
  llvm.return
}

// expected-error@+1 {{level runtime: 'shard.grid' is not an op of this level}}
shard.grid @ep(shape = 2)

// expected-error@+1 {{level runtime: 'func.func' is not an op of this level}}
func.func @left_over() {
  return
}

llvm.func @elements(%p: !llvm.ptr, %i: i64) {
  %0 = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // expected-error@+1 {{level runtime: 'llvm.getelementptr' has elements of a type without a size in machine code (5 ops, this is the first)}}
  %1 = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, index
  %2 = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, tensor<4xf32>
  %3 = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.void
  %4 = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.func<void ()>
  %5 = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x struct<"unknown", opaque>>
  // expected-error@+1 {{level runtime: 'llvm.alloca' has elements of a type without a size in machine code}}
  %6 = llvm.alloca %i x index : (i64) -> !llvm.ptr
  llvm.return
}
