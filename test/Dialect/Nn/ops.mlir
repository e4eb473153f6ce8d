// RUN: moe-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @block
func.func @block(%ids: tensor<?x?xi64>, %table: tensor<256x64xbf16>, %w: tensor<64xbf16>, %wq: tensor<128x64xbf16>,
                 %b: tensor<128xbf16>, %cos: tensor<1x?x16xf32>, %sin: tensor<1x?x16xf32>,
                 %cache: tensor<?x4x256x16xbf16>, %p: tensor<?xi64>, %n: tensor<?xi32>, %mask: tensor<1x1x?x256xi1>) {
  // CHECK: nn.embedding %{{.*}}, %{{.*}} : tensor<?x?xi64>, tensor<256x64xbf16> -> tensor<?x?x64xbf16>
  %h = nn.embedding %ids, %table : tensor<?x?xi64>, tensor<256x64xbf16> -> tensor<?x?x64xbf16>
  // CHECK: nn.rms_norm %{{.*}}, %{{.*}} eps(9.9999999999999995E-7) : tensor<?x?x64xbf16>, tensor<64xbf16>
  %x = nn.rms_norm %h, %w eps(1.0e-6) : tensor<?x?x64xbf16>, tensor<64xbf16>
  // CHECK: nn.rms_norm %{{.*}}, %{{.*}} eps(0.000000e+00) fused_scale :
  %x2 = nn.rms_norm %h, %w eps(0.0) fused_scale : tensor<?x?x64xbf16>, tensor<64xbf16>
  // CHECK: nn.linear %{{.*}}, %{{.*}} bias(%{{.*}}) : tensor<?x?x64xbf16>, tensor<128x64xbf16>, tensor<128xbf16> -> tensor<?x?x128xbf16>
  %q = nn.linear %x, %wq bias(%b) : tensor<?x?x64xbf16>, tensor<128x64xbf16>, tensor<128xbf16> -> tensor<?x?x128xbf16>
  // The logits of a router may stay in f32.
  // CHECK: nn.linear %{{.*}}, %{{.*}} : tensor<?x?x64xbf16>, tensor<128x64xbf16> -> tensor<?x?x128xf32>
  %l = nn.linear %x, %wq : tensor<?x?x64xbf16>, tensor<128x64xbf16> -> tensor<?x?x128xf32>
  return
}

// CHECK-LABEL: func.func @matrices
func.func @matrices(%x: tensor<?x?x4x16xbf16>, %w: tensor<4x24x16xbf16>, %b: tensor<4x24xbf16>, %one: tensor<4x16xbf16>) {
  // CHECK: nn.batch_linear %{{.*}}, %{{.*}} bias(%{{.*}}) : tensor<?x?x4x16xbf16>, tensor<4x24x16xbf16>, tensor<4x24xbf16> -> tensor<?x?x4x24xbf16>
  %0 = nn.batch_linear %x, %w bias(%b) : tensor<?x?x4x16xbf16>, tensor<4x24x16xbf16>, tensor<4x24xbf16> -> tensor<?x?x4x24xbf16>
  // One row, and a result that is not rounded.
  // CHECK: nn.batch_linear %{{.*}}, %{{.*}} : tensor<4x16xbf16>, tensor<4x24x16xbf16> -> tensor<4x24xf32>
  %1 = nn.batch_linear %one, %w : tensor<4x16xbf16>, tensor<4x24x16xbf16> -> tensor<4x24xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x?x8x16xbf16>, %k: tensor<?x?x4x16xbf16>, %cos: tensor<1x?x16xf32>, %sin: tensor<1x?x16xf32>,
                     %cache: tensor<?x4x256x16xbf16>, %p: tensor<?xi64>, %n: tensor<?xi32>, %mask: tensor<1x1x?x256xi1>,
                     %values: tensor<?x4x256x24xbf16>, %sinks: tensor<8xf32>, %bias: tensor<?x8x?x256xf32>) {
  // CHECK: nn.rope %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x8x16xbf16>, tensor<1x?x16xf32>, tensor<1x?x16xf32>
  %0 = nn.rope %q, %cos, %sin : tensor<?x?x8x16xbf16>, tensor<1x?x16xf32>, tensor<1x?x16xf32>
  // CHECK: nn.cache_update %{{.*}}, %{{.*}} positions(%{{.*}}) : tensor<?x4x256x16xbf16>, tensor<?x?x4x16xbf16>, tensor<?xi64>
  %1 = nn.cache_update %cache, %k positions(%p) : tensor<?x4x256x16xbf16>, tensor<?x?x4x16xbf16>, tensor<?xi64>
  // CHECK: nn.cache_update %{{.*}}, %{{.*}} positions(%{{.*}}) in_place : tensor<?x4x256x16xbf16>, tensor<?x?x4x16xbf16>, tensor<?xi64>
  %in_place = nn.cache_update %cache, %k positions(%p) in_place : tensor<?x4x256x16xbf16>, tensor<?x?x4x16xbf16>, tensor<?xi64>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} positions(%{{.*}} : tensor<?xi64>) lengths(%{{.*}} : tensor<?xi32>) mask(%{{.*}} : tensor<1x1x?x256xi1>) scale(2.500000e-01) causal window(32)
  %2 = nn.attention %0, %1, %1 positions(%p : tensor<?xi64>) lengths(%n : tensor<?xi32>) mask(%mask : tensor<1x1x?x256xi1>) scale(0.25) causal window(32)
      : tensor<?x?x8x16xbf16>, tensor<?x4x256x16xbf16>, tensor<?x4x256x16xbf16> -> tensor<?x?x8x16xbf16>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} scale(2.500000e-01) : {{.*}} -> tensor<?x?x8x16xbf16>
  %3 = nn.attention %0, %1, %1 scale(0.25) : tensor<?x?x8x16xbf16>, tensor<?x4x256x16xbf16>, tensor<?x4x256x16xbf16> -> tensor<?x?x8x16xbf16>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} sinks(%{{.*}} : tensor<8xf32>) scale(2.500000e-01) causal : {{.*}} -> tensor<?x?x8x24xbf16>
  %4 = nn.attention %0, %1, %values sinks(%sinks : tensor<8xf32>) scale(0.25) causal
      : tensor<?x?x8x16xbf16>, tensor<?x4x256x16xbf16>, tensor<?x4x256x24xbf16> -> tensor<?x?x8x24xbf16>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} sinks(%{{.*}} : tensor<8xf32>) bias(%{{.*}} : tensor<?x8x?x256xf32>) scale(2.500000e-01) :
  %5 = nn.attention %0, %1, %1 sinks(%sinks : tensor<8xf32>) bias(%bias : tensor<?x8x?x256xf32>) scale(0.25)
      : tensor<?x?x8x16xbf16>, tensor<?x4x256x16xbf16>, tensor<?x4x256x16xbf16> -> tensor<?x?x8x16xbf16>
  return
}

// CHECK-LABEL: func.func @top_k
func.func @top_k(%x: tensor<?x64xbf16>, %y: tensor<8x16xi64>, %n: index) {
  // CHECK: nn.top_k %{{.*}} : tensor<?x64xbf16> -> tensor<?x4xbf16>, tensor<?x4xi64>
  %v, %i = nn.top_k %x : tensor<?x64xbf16> -> tensor<?x4xbf16>, tensor<?x4xi64>
  // CHECK: nn.top_k %{{.*}} count(%{{.*}}) ascending unordered : tensor<8x16xi64> -> tensor<8x?xi64>, tensor<8x?xi64>
  %w, %j = nn.top_k %y count(%n) ascending unordered : tensor<8x16xi64> -> tensor<8x?xi64>, tensor<8x?xi64>
  return
}

// CHECK-LABEL: func.func @silu
func.func @silu(%a: f32, %b: tensor<?x4xbf16>, %c: vector<16xf32>) {
  // CHECK: nn.silu %{{.*}} : f32
  %0 = nn.silu %a : f32
  // CHECK: nn.silu %{{.*}} : tensor<?x4xbf16>
  %1 = nn.silu %b : tensor<?x4xbf16>
  // CHECK: nn.silu %{{.*}} : vector<16xf32>
  %2 = nn.silu %c : vector<16xf32>
  // CHECK: nn.silu %{{.*}} fastmath<arcp,afn> : f32
  %3 = nn.silu %a fastmath<afn,arcp> : f32
  return
}

shard.grid @tp(shape = 2)

// CHECK-LABEL: func.func @part_of_a_table
func.func @part_of_a_table(%ids: tensor<?xi64>, %table: tensor<128x64xbf16>) -> tensor<?x64xbf16> {
  // CHECK: nn.embedding %{{.*}}, %{{.*}} at @tp {moe.in_bounds} : tensor<?xi64>, tensor<128x64xbf16> -> tensor<?x64xbf16>
  %h = nn.embedding %ids, %table at @tp {moe.in_bounds} : tensor<?xi64>, tensor<128x64xbf16> -> tensor<?x64xbf16>
  return %h : tensor<?x64xbf16>
}
