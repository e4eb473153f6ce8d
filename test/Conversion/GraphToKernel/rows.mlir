// RUN: moe-opt %s --graph-decide --convert-graph-to-kernel --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @embedding
// CHECK: kernel.launch @embedding_256x32_f32(%{{.*}}, %{{.*}}, %{{.*}}) rows(%[[ROWS:.*]]) work(%{{.*}}) : memref<?xi64>, memref<256x32xf32>, memref<?x32xf32>
// CHECK: kernel.func @embedding_256x32_f32
// CHECK: scf.forall (%[[R:.*]]) in
// CHECK: %[[ID:.*]] = memref.load %{{.*}}[%[[R]]]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[ID]] : i64 to index
// CHECK: memref.load %{{.*}}[%[[INDEX]], %{{.*}}]
func.func @embedding(%ids: tensor<?x?xi64>) -> tensor<?x?x32xf32> {
  %t = moe.parameter ["emb"] : tensor<256x32xf32>
  %x = nn.embedding %ids, %t : tensor<?x?xi64>, tensor<256x32xf32> -> tensor<?x?x32xf32>
  return %x : tensor<?x?x32xf32>
}

// -----

// The normalised value is rounded before the weight, as the model rounds it.
// CHECK-LABEL: kernel.func @rms_norm_32_bf16
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc>
// CHECK: math.rsqrt
// CHECK: arith.mulf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.mulf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @rms_norm(%x: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %n = moe.parameter ["n"] : tensor<32xbf16>
  %y = nn.rms_norm %x, %n eps(1.0e-5) : tensor<?x32xbf16>, tensor<32xbf16>
  return %y : tensor<?x32xbf16>
}

// -----

// CHECK-LABEL: kernel.func @rms_norm_32_bf16
// CHECK-COUNT-1: arith.truncf
// CHECK-NOT: arith.truncf
func.func @fused_scale(%x: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %n = moe.parameter ["n"] : tensor<32xbf16>
  %y = nn.rms_norm %x, %n eps(1.0e-5) fused_scale : tensor<?x32xbf16>, tensor<32xbf16>
  return %y : tensor<?x32xbf16>
}

// -----

// CHECK-LABEL: kernel.func @rope_4x32_f32
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?x?x4x32xf32>, %[[COS:[a-z0-9]+]]: memref<1x?x32xf32>,
// CHECK: scf.forall (%[[B:.*]], %[[S:.*]], %[[N:.*]]) in (%{{.*}}, %{{.*}}, 4)
// CHECK: scf.for %[[D:.*]] = %c0 to %c16 step %c1
// CHECK: memref.load %[[COS]][%c0, %[[S]], %[[D]]]
// CHECK: arith.subf
// CHECK: arith.addf
func.func @rope(%x: tensor<?x?x4x32xf32>, %c: tensor<1x?x32xf32>, %s: tensor<1x?x32xf32>) -> tensor<?x?x4x32xf32> {
  %y = nn.rope %x, %c, %s : tensor<?x?x4x32xf32>, tensor<1x?x32xf32>, tensor<1x?x32xf32>
  return %y : tensor<?x?x4x32xf32>
}
