// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel-set-target{target=cuda:sm_90a},graph-decide,convert-graph-to-kernel)' -o /dev/null \
// RUN:   --remarks-filter=graph-choose-tiles --remark-format=emitRemark 2>&1 | FileCheck %s
// RUN: moe-opt %s --pass-pipeline='builtin.module(kernel-set-target{target=cuda:sm_90a},graph-decide,convert-graph-to-kernel)' 2>&1 | FileCheck %s --check-prefix=QUIET

// The width of a tile is chosen per weight, by a model of the kernels: narrow for a router, whose few columns would leave multiprocessors
// idle, and wide for a large matrix. It is the block of the packed weight, too.
// Products of f32 are limited by the threads' multiply-adds, and a step has half as many elements.
// CHECK: tile-choice.mlir:[[#@LINE+18]]:{{.*}}8192 rows by 128x2048, tiles of 64 columns: about {{[0-9.]+}} us, at least 7.5 us on H200 SXM
// CHECK: tile-choice.mlir:[[#@LINE+17]]:{{.*}}"8 rows by 128x2048, tiles of 64 columns
// CHECK: tile-choice.mlir:[[#@LINE+17]]:{{.*}}8192 rows by 12288x4096, tiles of 256 columns: about {{[0-9.]+}} us, at least 833.4 us on H200 SXM
// CHECK: tile-choice.mlir:[[#@LINE+16]]:{{.*}}"8 rows by 12288x4096, tiles of 256 columns: about {{[0-9.]+}} us, at least 21.0 us on H200 SXM
// CHECK: tile-choice.mlir:[[#@LINE+16]]:{{.*}}8192 rows by 128x2048, tiles of {{[0-9]+}} columns: about {{[0-9.]+}} us, at least 69.5 us on H200 SXM

// QUIET-NOT: remark
// QUIET: moe.parameter {{.*}} : memref<2x32x64x64xbf16>
// QUIET: moe.parameter {{.*}} : memref<48x64x256x64xbf16>
// QUIET: moe.parameter {{.*}} : memref<2x64x64x32xf32>
// QUIET-NOT: remark

func.func @main(%x: tensor<?x2048xbf16> {moe.dims = ["tokens", ""], moe.name = "x"}, %z: tensor<?x4096xbf16> {moe.dims = ["tokens", ""], moe.name = "z"},
                %s: tensor<?x2048xf32> {moe.dims = ["tokens", ""], moe.name = "s"})
    -> (tensor<?x128xbf16> {moe.name = "a"}, tensor<?x12288xbf16> {moe.name = "b"}, tensor<?x128xf32> {moe.name = "c"}) {
  %router = moe.parameter ["router"] : tensor<128x2048xbf16>
  %large = moe.parameter ["large"] : tensor<12288x4096xbf16>
  %small = moe.parameter ["small"] : tensor<128x2048xf32>
  %a = nn.linear %x, %router : tensor<?x2048xbf16>, tensor<128x2048xbf16> -> tensor<?x128xbf16>
  %b = nn.linear %z, %large : tensor<?x4096xbf16>, tensor<12288x4096xbf16> -> tensor<?x12288xbf16>
  %c = nn.linear %s, %small : tensor<?x2048xf32>, tensor<128x2048xf32> -> tensor<?x128xf32>
  return %a, %b, %c : tensor<?x128xbf16>, tensor<?x12288xbf16>, tensor<?x128xf32>
}
