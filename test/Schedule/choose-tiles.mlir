// Each target has its own tiles; what is there already stands, and a second run changes nothing.
// RUN: moe-opt %s --graph-choose-tiles | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --graph-choose-tiles | FileCheck %s --check-prefixes=CHECK,V3
// RUN: moe-opt %s --kernel-set-target=target=cpu:sapphirerapids --graph-choose-tiles | FileCheck %s --check-prefixes=CHECK,AMX
// RUN: moe-opt %s --kernel-set-target=target=cuda:h200 --graph-choose-tiles | FileCheck %s --check-prefixes=CHECK,CUDA
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --graph-choose-tiles -o %t && moe-opt %t --graph-choose-tiles | diff %t -

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<?x64xbf16>, %s: tensor<?x64xf32>, %w: tensor<256x64xbf16>, %f: tensor<256x64xf32>, %w1: tensor<8x512x64xbf16>, %w2: tensor<8x64x256xbf16>, %layout: !moe.layout<8>)
    -> (tensor<?x256xbf16>, tensor<?x256xf32>, tensor<?x64xbf16>, tensor<?x256xbf16>) {
  // CHECK: nn.linear
  // PLAIN-SAME: kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 2, chunk_rows = 48>
  // V3-SAME: kernel.tiles = #kernel.tiles<rows = 6, columns = 16, block_columns = 64, depth = 2, chunk_rows = 48>
  // AMX-SAME: kernel.tiles = #kernel.tiles<rows = 32, columns = 64, block_columns = 64, depth = 2, chunk_rows = 64, matrix = true>
  // CUDA-SAME: kernel.tiles = #kernel.tiles<rows = 128, columns = [[C:[0-9]+]], block_columns = [[C]], depth = 64, chunk_rows = 1024>
  %a = nn.linear %x, %w : tensor<?x64xbf16>, tensor<256x64xbf16> -> tensor<?x256xbf16>
  // CHECK: nn.linear
  // PLAIN-SAME: depth = 1, chunk_rows = 48>
  // AMX-SAME: kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 1, chunk_rows = 48>
  // CUDA-SAME: depth = 32,
  %b = nn.linear %s, %f : tensor<?x64xf32>, tensor<256x64xf32> -> tensor<?x256xf32>
  // Rows of experts come as routing has them: no chunks.
  // CHECK: moe.expert
  // V3: kernel.tiles = [#kernel.tiles<rows = 6, columns = 16, block_columns = 64, depth = 2>, #kernel.tiles<rows = 6, columns = 16, block_columns = 64, depth = 2>]
  // CUDA: kernel.tiles = [#kernel.tiles<rows = 128, columns = {{128|256}}, block_columns = {{128|256}}, depth = 64>, #kernel.tiles<
  %c = moe.expert %x, %layout, %w1, %w2 gated {
  ^bb0(%g: f32, %u: f32):
    %v = arith.mulf %g, %u : f32
    moe.yield %v : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x512x64xbf16>, tensor<8x64x256xbf16> -> tensor<?x64xbf16>
  // CHECK: nn.linear {{.*}} {kernel.tiles = #kernel.tiles<rows = 3, columns = 32, block_columns = 64, depth = 2, chunk_rows = 9>}
  %d = nn.linear %x, %w {kernel.tiles = #kernel.tiles<rows = 3, columns = 32, block_columns = 64, depth = 2, chunk_rows = 9>}
      : tensor<?x64xbf16>, tensor<256x64xbf16> -> tensor<?x256xbf16>
  return %a, %b, %c, %d : tensor<?x256xbf16>, tensor<?x256xf32>, tensor<?x64xbf16>, tensor<?x256xbf16>
}

// Keys and values are packed by attention itself, in blocks of 64. On a GPU it takes them as they are, a query at a time.
// CUDA-LABEL: func.func @attention
// CUDA: nn.attention {{.*}} {kernel.by_rows} :
// V3-LABEL: func.func @attention
// V3: nn.attention {{.*}} {kernel.tiles = #kernel.tiles<rows = 6, columns = 16, block_columns = 64, depth = 1, chunk_rows = 48>}
func.func @attention(%q: tensor<1x1x2x4xf32>, %k: tensor<1x2x8x4xf32>) -> tensor<1x1x2x4xf32> {
  %o = nn.attention %q, %k, %k scale(1.0) : tensor<1x1x2x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32> -> tensor<1x1x2x4xf32>
  return %o : tensor<1x1x2x4xf32>
}
