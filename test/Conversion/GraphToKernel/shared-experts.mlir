// A shared expert needs no other rank: wherever a program has it, it runs while rows are on their way, and the sum with it is
// no epilogue of its last product, which would have to wait.
// RUN: moe-opt %s --convert-elementwise-to-linalg --moe-partition=parallel=ep=2 --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel -o %t.split && FileCheck %s --check-prefix=SPLIT < %t.split
// RUN: moe-opt %t.split --kernel-verify-windows -o %t.verified
// RUN: moe-opt %t.split --kernel-delay-waits | diff %t.split -
// RUN: moe-opt %s --convert-elementwise-to-linalg --moe-partition=parallel=ep=2,tokens=replicated --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel -o %t.whole && FileCheck %s --check-prefix=WHOLE < %t.whole
// RUN: moe-opt %t.whole --kernel-verify-windows -o %t.verified
// RUN: moe-opt %t.whole --kernel-delay-waits | diff %t.whole -
// One rank waits for nobody: its launches have the order of the text, and their epilogues.
// RUN: moe-opt %s --convert-elementwise-to-linalg --moe-partition=parallel=ep=1 --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --scheduled-to-kernel | FileCheck %s --check-prefix=ONE

// SPLIT-LABEL: func.func @shared_last
// SPLIT: kernel.launch @linear_8x64_bf16(
// SPLIT-NOT: kernel.launch @linear_
// SPLIT: kernel.launch @announce_rows(
// SPLIT: kernel.launch @linear_48x64_bf16(
// SPLIT: kernel.launch @linear_48x64_bf16_fused(
// SPLIT: kernel.launch @linear_64x48_bf16(
// SPLIT: kernel.launch @await_rows(
// SPLIT: kernel.launch @experts_up_4x96x64_bf16_gated(
// SPLIT: kernel.launch @addf_64_bf16(

// SPLIT-LABEL: func.func @shared_first
// SPLIT: kernel.launch @linear_8x64_bf16(
// SPLIT-NOT: kernel.launch @linear_
// SPLIT: kernel.launch @announce_rows(
// SPLIT: kernel.launch @linear_48x64_bf16(
// SPLIT: kernel.launch @linear_48x64_bf16_fused(
// SPLIT: kernel.launch @linear_64x48_bf16(
// SPLIT: kernel.launch @await_rows(
// SPLIT: kernel.launch @experts_up_4x96x64_bf16_gated(
// SPLIT: kernel.launch @combine_64_bf16_top2_tree2_addf(

// WHOLE-LABEL: func.func @shared_last
// WHOLE: kernel.launch @linear_8x64_bf16(
// WHOLE-NOT: kernel.launch @linear_
// WHOLE: kernel.launch @signal_ranks(
// WHOLE: kernel.launch @linear_48x64_bf16(
// WHOLE: kernel.launch @linear_48x64_bf16_fused(
// WHOLE: kernel.launch @linear_64x48_bf16(
// WHOLE: kernel.launch @await_ranks(
// WHOLE: kernel.launch @sum_of_ranks_64(
// WHOLE: kernel.launch @fused_64_bf16(

// WHOLE-LABEL: func.func @shared_first
// WHOLE: kernel.launch @linear_8x64_bf16(
// WHOLE-NOT: kernel.launch @linear_
// WHOLE: kernel.launch @signal_ranks(
// WHOLE: kernel.launch @linear_48x64_bf16(
// WHOLE: kernel.launch @linear_48x64_bf16_fused(
// WHOLE: kernel.launch @linear_64x48_bf16(
// WHOLE: kernel.launch @await_ranks(
// WHOLE: kernel.launch @sum_of_ranks_64(
// WHOLE: kernel.launch @fused_64_bf16(

// ONE-LABEL: func.func @shared_last
// ONE: kernel.launch @combine_64_bf16_top2_tree8(
// ONE: kernel.launch @linear_48x64_bf16(
// ONE: kernel.launch @linear_64x48_bf16_addf(
// ONE-LABEL: func.func @shared_first
// ONE: kernel.launch @linear_64x48_bf16(
// ONE: kernel.launch @gate_8
// ONE: kernel.launch @combine_64_bf16_top2_tree8_addf(

func.func @shared_last(%x: tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "x"})
    -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %router = moe.parameter ["mlp.gate.weight"] : tensor<8x64xbf16>
  %up = moe.parameter ["mlp.experts.up"] : tensor<8x96x64xbf16>
  %down = moe.parameter ["mlp.experts.down"] : tensor<8x64x48xbf16>
  %logits = nn.linear %x, %router : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xbf16>
  %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) : tensor<?x8xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<8>
  %r = moe.expert %rows, %layout, %up, %down gated {
  ^bb0(%v0: f32, %v1: f32):
    %s = nn.silu %v0 : f32
    %p = arith.mulf %s, %v1 : f32
    moe.yield %p : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x96x64xbf16>, tensor<8x64x48xbf16> -> tensor<?x64xbf16>
  %routed = moe.combine %r, %layout weights(%w : tensor<?x2xbf16>) : tensor<?x64xbf16>, !moe.layout<8> -> tensor<?x64xbf16>
  %sg = moe.parameter ["mlp.shared_expert.gate_proj.weight"] : tensor<48x64xbf16>
  %su = moe.parameter ["mlp.shared_expert.up_proj.weight"] : tensor<48x64xbf16>
  %sd = moe.parameter ["mlp.shared_expert.down_proj.weight"] : tensor<64x48xbf16>
  %g = nn.linear %x, %sg : tensor<?x64xbf16>, tensor<48x64xbf16> -> tensor<?x48xbf16>
  %u = nn.linear %x, %su : tensor<?x64xbf16>, tensor<48x64xbf16> -> tensor<?x48xbf16>
  %a = nn.silu %g : tensor<?x48xbf16>
  %h = arith.mulf %a, %u : tensor<?x48xbf16>
  %shared = nn.linear %h, %sd : tensor<?x48xbf16>, tensor<64x48xbf16> -> tensor<?x64xbf16>
  %y = arith.addf %routed, %shared : tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @shared_first(%x: tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "x"})
    -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %sg = moe.parameter ["mlp.shared_expert.gate_proj.weight"] : tensor<48x64xbf16>
  %su = moe.parameter ["mlp.shared_expert.up_proj.weight"] : tensor<48x64xbf16>
  %sd = moe.parameter ["mlp.shared_expert.down_proj.weight"] : tensor<64x48xbf16>
  %g = nn.linear %x, %sg : tensor<?x64xbf16>, tensor<48x64xbf16> -> tensor<?x48xbf16>
  %u = nn.linear %x, %su : tensor<?x64xbf16>, tensor<48x64xbf16> -> tensor<?x48xbf16>
  %a = nn.silu %g : tensor<?x48xbf16>
  %h = arith.mulf %a, %u : tensor<?x48xbf16>
  %shared = nn.linear %h, %sd : tensor<?x48xbf16>, tensor<64x48xbf16> -> tensor<?x64xbf16>
  %router = moe.parameter ["mlp.gate.weight"] : tensor<8x64xbf16>
  %up = moe.parameter ["mlp.experts.up"] : tensor<8x96x64xbf16>
  %down = moe.parameter ["mlp.experts.down"] : tensor<8x64x48xbf16>
  %logits = nn.linear %x, %router : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xbf16>
  %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum) : tensor<?x8xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<8>
  %r = moe.expert %rows, %layout, %up, %down gated {
  ^bb0(%v0: f32, %v1: f32):
    %s = nn.silu %v0 : f32
    %p = arith.mulf %s, %v1 : f32
    moe.yield %p : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x96x64xbf16>, tensor<8x64x48xbf16> -> tensor<?x64xbf16>
  %routed = moe.combine %r, %layout weights(%w : tensor<?x2xbf16>) : tensor<?x64xbf16>, !moe.layout<8> -> tensor<?x64xbf16>
  %y = arith.addf %routed, %shared : tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
