// Layers that cannot be divided among ranks, and options that say nothing.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=4})" --split-input-file --verify-diagnostics
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=tokens=split})" 2>&1 | FileCheck %s --check-prefix=NO-EP
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=3})" 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=4,groups=none})" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=4,groups=2})" 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=4,tokens=all})" 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=4,pp=2})" 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=4,ep=2})" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=ep=8,nodes=3})" 2>&1 | FileCheck %s --check-prefix=NODES
// RUN: not moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=4})" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not moe-opt %s --split-input-file --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,tp=2})" 2>&1 | FileCheck %s --check-prefix=DENSE
// RUN: not moe-opt %s --split-input-file --pass-pipeline="builtin.module(moe-partition{parallel=etp=2})" 2>&1 | FileCheck %s --check-prefix=DENSE-SLICES
// DENSE: 'func.func' op has nothing that ep=2 divides: no MoE layer; leave ep out
// DENSE-SLICES: 'func.func' op has nothing that etp=2 divides: no MoE layer; leave etp out
// NO-EP: option 'parallel': there is no number of ranks: ep=4 for ranks that share the experts, etp=2 for ranks that share each expert, tp=2 for ranks that share attention and dense layers, dp=2 for ranks that share the batch
// THREE: option 'parallel': ep must be a power of two, got '3'
// NONE: option 'parallel': groups must be a power of two, got 'none'
// GROUPS: option 'parallel': groups=2 is less than ep=4, but each rank sums at least one group
// TOKENS: option 'parallel': tokens must be split or replicated, got 'all'
// FIELD: option 'parallel': unknown field 'pp'; one of dp, ep, nodes, etp, tp, tokens, groups, sums, experts
// NODES: option 'parallel': nodes=3 does not divide ep=8 equally
// TWICE: option 'parallel': ep is given twice
// FORM: option 'parallel': expected fields as in ep=4,tokens=split,groups=8, got '4'

func.func @ranks(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<6x8x8xf32>
  // expected-error@+1 {{'moe.dispatch' op cannot be divided: ep=4 does not divide a layer of 6 experts equally}}
  %rows, %layout = moe.dispatch %x, %e num_experts(6) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<6>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<6>, tensor<6x8x8xf32>, tensor<6x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<6> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @computed_weights(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %c = arith.negf %w1 : tensor<8x8x8xf32>
  // expected-error@+1 {{'moe.expert' op cannot be divided among ranks: operand 3 has one entry per expert and is no moe.parameter, of which each rank would read its part}}
  %y = moe.expert %rows, %layout, %w1, %c {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @bias_of_the_caller(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}, %b: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  // expected-error@+1 {{'moe.expert' op cannot be divided among ranks: operand 4 has one entry per expert and is no moe.parameter, of which each rank would read its part}}
  %y = moe.expert %rows, %layout, %w1, %w1 bias_in(%b : tensor<8x8xf32>) {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @other_reader(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  // expected-error@+1 {{'arith.negf' op reads rows of experts that are to be divided among ranks; only moe.expert and moe.combine of the same layout can}}
  %n = arith.negf %y : tensor<?x8xf32>
  return %n : tensor<?x8xf32>
}

// -----

func.func @reader_of_rows(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  // expected-error@+1 {{'arith.negf' op reads rows of experts that are to be divided among ranks; only moe.expert and moe.combine of the same layout can}}
  %n = arith.negf %rows : tensor<?x8xf32>
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func private @take(!moe.layout<8>)

func.func @layout_returned(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  // expected-error@+1 {{'func.call' op uses the layout of experts that are to be divided among ranks; only moe.expert and moe.combine of the same block can}}
  call @take(%layout) : (!moe.layout<8>) -> ()
  %s = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @rows_of_another(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  // expected-error@+1 {{'moe.combine' op reads other rows than those of its layout, so its experts cannot be divided among ranks}}
  %s = moe.combine %x, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @other_sum(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  // expected-error@+1 {{'moe.combine' op sums by 2 groups, but is to do so by 8; take its clause away, or say groups=2}}
  %s = moe.combine %y, %layout sum(<tree, groups = 2>) : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

func.func @weights_of_own_experts(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w1 = moe.parameter ["up"] : tensor<8x8x8xf32>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<8>
  %y = moe.expert %rows, %layout, %w1, %w1 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<8>, tensor<8x8x8xf32>, tensor<8x8x8xf32> -> tensor<?x8xf32>
  %p = moe.combine %y, %layout : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  %k = tensor.empty() : tensor<2x8xf32>
  %w = nn.linear %p, %k : tensor<?x8xf32>, tensor<2x8xf32> -> tensor<?x2xf32>
  // expected-error@+1 {{'moe.combine' op has weights that depend on its own experts, so they cannot travel with the tokens; use tokens=replicated}}
  %s = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) : tensor<?x8xf32>, !moe.layout<8> -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

// expected-error@+1 {{'shard.grid' op says how the program is divided among ranks already, so nothing else can; leave 'parallel' out}}
shard.grid @ep(shape = 4)

// -----

// expected-error@+1 {{'func.func' op has nothing that ep=4 divides: no MoE layer; leave ep out}}
func.func @dense(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %w = moe.parameter ["w"] : tensor<8x8xf32>
  %y = nn.linear %x, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
