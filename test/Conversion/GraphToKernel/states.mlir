// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

// A state is written after those that take its old value, whatever the order of the results.
// CHECK-LABEL: func.func @order
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>, %[[A:[a-z0-9]+]]: memref<4xf32> {moe.state}, %[[B:[a-z0-9]+]]: memref<4xf32> {moe.state}, %[[C:[a-z0-9]+]]: memref<4xf32> {moe.state})
// CHECK-NOT: memref.alloc
// CHECK: kernel.launch @copy_4_f32(%[[B]], %[[C]]
// CHECK: kernel.launch @copy_4_f32(%[[A]], %[[B]]
// CHECK: kernel.launch @copy_4_f32(%[[X]], %[[A]]
// CHECK-NOT: kernel.launch
// CHECK: return
func.func @order(%x: tensor<4xf32>, %a: tensor<4xf32> {moe.state}, %b: tensor<4xf32> {moe.state}, %c: tensor<4xf32> {moe.state})
    -> (tensor<4xf32> {moe.state_of = 1}, tensor<4xf32> {moe.state_of = 2}, tensor<4xf32> {moe.state_of = 3}) {
  return %x, %a, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A cycle is broken by one value in scratch memory. A result that is an old state is taken before.
// CHECK-LABEL: func.func @swap
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<4xf32> {moe.state}, %[[B:[a-z0-9]+]]: memref<4xf32> {moe.state})
// CHECK: %[[RESULT:.*]] = memref.alloc
// CHECK: kernel.launch @copy_4_f32(%[[A]], %[[RESULT]]
// CHECK: %[[ASIDE:.*]] = memref.alloc
// CHECK: kernel.launch @copy_4_f32(%[[B]], %[[ASIDE]]
// CHECK: kernel.launch @copy_4_f32(%[[A]], %[[B]]
// CHECK: kernel.launch @copy_4_f32(%[[ASIDE]], %[[A]]
// CHECK-NOT: kernel.launch
// CHECK: return %[[RESULT]]
func.func @swap(%a: tensor<4xf32> {moe.state}, %b: tensor<4xf32> {moe.state})
    -> (tensor<4xf32> {moe.state_of = 0}, tensor<4xf32> {moe.state_of = 1}, tensor<4xf32>) {
  return %b, %a, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A view of a state reads its memory.
// CHECK-LABEL: func.func @view
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<2x2xf32> {moe.state}, %[[B:[a-z0-9]+]]: memref<4xf32> {moe.state}, %[[X:[a-z0-9]+]]: memref<2x2xf32>)
// CHECK: %[[VIEW:.*]] = memref.collapse_shape %[[A]]
// CHECK: kernel.launch @copy_4_f32(%[[VIEW]], %[[B]]
// CHECK: %[[FLAT_X:.*]] = memref.collapse_shape %[[X]]
// CHECK: %[[FLAT_A:.*]] = memref.collapse_shape %[[A]]
// CHECK: kernel.launch @copy_4_f32(%[[FLAT_X]], %[[FLAT_A]]
func.func @view(%a: tensor<2x2xf32> {moe.state}, %b: tensor<4xf32> {moe.state}, %x: tensor<2x2xf32>)
    -> (tensor<2x2xf32> {moe.state_of = 0}, tensor<4xf32> {moe.state_of = 1}) {
  %v = tensor.collapse_shape %a [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  return %x, %v : tensor<2x2xf32>, tensor<4xf32>
}

// -----

// No update happens in place while a view of the old cache is read later.
// CHECK-LABEL: func.func @view_read_later
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<1x2x8x4xf32> {moe.state}
// CHECK: %[[OLD:.*]] = memref.collapse_shape %[[C]]
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: kernel.launch @copy_64_f32
// CHECK: kernel.launch @cache_update_2x4_f32(%[[NEW]],
// CHECK: kernel.launch @{{.*}}(%[[OLD]],
func.func @view_read_later(%c: tensor<1x2x8x4xf32> {moe.state}, %r: tensor<1x1x2x4xf32>, %p: tensor<1xi64>)
    -> (tensor<1x2x8x4xf32> {moe.state_of = 0}, tensor<4xf32>) {
  %old = tensor.collapse_shape %c [[0, 1, 2, 3]] : tensor<1x2x8x4xf32> into tensor<64xf32>
  %n = nn.cache_update %c, %r positions(%p) : tensor<1x2x8x4xf32>, tensor<1x1x2x4xf32>, tensor<1xi64>
  %s = tensor.extract_slice %old[0] [4] [1] : tensor<64xf32> to tensor<4xf32>
  return %n, %s : tensor<1x2x8x4xf32>, tensor<4xf32>
}

// -----

// Nor while the rows that it writes are rows of the cache itself.
// CHECK-LABEL: func.func @own_rows
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<1x1x8x4xf32> {moe.state}
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: kernel.launch @cache_update_1x4_f32(%[[NEW]],
func.func @own_rows(%c: tensor<1x1x8x4xf32> {moe.state}, %p: tensor<1xi64>) -> (tensor<1x1x8x4xf32> {moe.state_of = 0}) {
  %flat = tensor.collapse_shape %c [[0, 1], [2], [3]] : tensor<1x1x8x4xf32> into tensor<1x8x4xf32>
  %r = tensor.expand_shape %flat [[0], [1, 2], [3]] output_shape [1, 8, 1, 4] : tensor<1x8x4xf32> into tensor<1x8x1x4xf32>
  %n = nn.cache_update %c, %r positions(%p) : tensor<1x1x8x4xf32>, tensor<1x8x1x4xf32>, tensor<1xi64>
  return %n : tensor<1x1x8x4xf32>
}

// -----

// A state that gets no next value keeps the one it has.
// CHECK-LABEL: func.func @not_written
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<1x2x8x4xf32> {moe.state}
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: kernel.launch @cache_update_2x4_f32(%[[NEW]],
// CHECK: return %[[NEW]]
func.func @not_written(%c: tensor<1x2x8x4xf32> {moe.state}, %r: tensor<1x1x2x4xf32>, %p: tensor<1xi64>) -> tensor<1x2x8x4xf32> {
  %n = nn.cache_update %c, %r positions(%p) : tensor<1x2x8x4xf32>, tensor<1x1x2x4xf32>, tensor<1xi64>
  return %n : tensor<1x2x8x4xf32>
}

// -----

// A state whose next value has the plain form has it too.
// CHECK-LABEL: func.func @plain_next
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<1x2x64x16xf32> {moe.state},
// CHECK-NOT: moe.encoding
func.func @plain_next(%q: tensor<1x1x2x16xf32>, %k: tensor<1x2x64x16xf32> {moe.state}, %v: tensor<1x2x64x16xf32>)
    -> (tensor<1x1x2x16xf32>, tensor<1x2x64x16xf32> {moe.state_of = 1}) {
  %o = nn.attention %q, %k, %v scale(0.25)
      : tensor<1x1x2x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32> -> tensor<1x1x2x16xf32>
  return %o, %v : tensor<1x1x2x16xf32>, tensor<1x2x64x16xf32>
}
