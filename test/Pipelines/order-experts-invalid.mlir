// Files that order no experts, and orders that do not fit the program.
// RUN: split-file %s %t
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/absent.json})" 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/empty.json})" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/text.json})" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/number.json})" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/none.json})" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/word.json})" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/half.json})" 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/below.json})" 2>&1 | FileCheck %s --check-prefix=BELOW
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/beyond.json})" 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/copies.json})" 2>&1 | FileCheck %s --check-prefix=COPIES
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/rows.json})" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/row.json})" 2>&1 | FileCheck %s --check-prefix=ROW
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/beside.json})" 2>&1 | FileCheck %s --check-prefix=BESIDE
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/keys.json})" 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/few.json})" 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/layer.json})" 2>&1 | FileCheck %s --check-prefix=LAYER
// RUN: not moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/short.json})" 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/nothing.json})" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: moe-opt %t/layer.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/behind.json})" 2>&1 | FileCheck %s --check-prefix=BEHIND
// RUN: not moe-opt %t/ordered.mlir --pass-pipeline="builtin.module(moe-partition{parallel=ep=2,experts=%t/fits.json})" 2>&1 | FileCheck %s --check-prefix=ORDERED
// ABSENT: option 'parallel': experts: '{{.*}}absent.json': No such file or directory
// EMPTY: option 'parallel': experts: '{{.*}}empty.json': [2:0, byte=1]: Unexpected EOF
// TEXT: option 'parallel': experts: '{{.*}}text.json': [1:0, byte=0]: Invalid JSON value (number?)
// NUMBER: option 'parallel': experts: '{{.*}}number.json': expected the numbers of the experts, in order of their places
// NONE: option 'parallel': experts: '{{.*}}none.json': expected the numbers of the experts, in order of their places
// WORD: option 'parallel': experts: '{{.*}}word.json': entry 1 must be an expert, 0 to 1
// HALF: option 'parallel': experts: '{{.*}}half.json': entry 1 must be an expert, 0 to 1
// BELOW: option 'parallel': experts: '{{.*}}below.json': entry 1 must be an expert, 0 to 1
// BEYOND: option 'parallel': experts: '{{.*}}beyond.json': entry 3 is expert 4, for which the list is too short: it has 4 entries, one for each expert, and they count from 0
// COPIES: option 'parallel': experts: '{{.*}}copies.json': model.layers.0.mlp: entry 3 is expert 1, as entry 1 is; each expert has one place, copies are not supported
// ROWS: option 'parallel': experts: '{{.*}}rows.json': physical_to_logical_map must have a row for each layer
// ROW: option 'parallel': experts: '{{.*}}row.json': physical_to_logical_map, row 1: entry 1 is expert 1, as entry 0 is; each expert has one place, copies are not supported
// BESIDE: option 'parallel': experts: '{{.*}}beside.json': has 'model.layers.0.mlp' beside physical_to_logical_map, which orders all layers; give one of them
// KEYS: option 'parallel': experts: '{{.*}}keys.json': the key 'a' occurs twice in one object at byte 14
// FEW: 'moe.dispatch' op cannot order its experts: '{{.*}}few.json' orders 2 experts, but layer 'model.layers.0.mlp' has 4
// LAYER: error: '{{.*}}layer.json' orders the experts of 'model.layers.1.mlp', which is no layer of this program; there is model.layers.0.mlp
// SHORT: 'moe.dispatch' op cannot order its experts: '{{.*}}short.json' has no row in physical_to_logical_map for layer 'model.layers.0.mlp'
// NOTHING: warning: '{{.*}}nothing.json' orders no layer: the experts of all stand by number
// BEHIND: warning: '{{.*}}behind.json' has 3 rows in physical_to_logical_map, of which those from row 1 on order nothing: the last layer with experts is 'model.layers.0.mlp'
// BEHIND: order(
// ORDERED: 'moe.dispatch' op has an order of its experts already; leave 'experts' out

//--- empty.json

//--- text.json
experts 0 and 3 on rank 0
//--- number.json
7
//--- none.json
[]
//--- word.json
[0, "one"]
//--- half.json
[0, 0.5]
//--- below.json
[0, -1]
//--- beyond.json
[0, 1, 2, 4]
//--- copies.json
{"model.layers.0.mlp": [0, 1, 2, 1]}
//--- rows.json
{"physical_to_logical_map": 3}
//--- row.json
{"physical_to_logical_map": [[0], [1, 1]]}
//--- beside.json
{"model.layers.0.mlp": [1, 0, 2, 3], "physical_to_logical_map": [[0, 1, 2, 3]]}
//--- keys.json
{"a": [0], "a": [0]}
//--- few.json
[1, 0]
//--- layer.json
{"model.layers.1.mlp": [1, 0]}
//--- short.json
{"physical_to_logical_map": []}
//--- nothing.json
{}
//--- behind.json
{"physical_to_logical_map": [[1, 0, 2, 3], [0], [0]]}
//--- fits.json
{"model.layers.0.mlp": [1, 0, 2, 3]}
//--- layer.mlir
func.func @main(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %up0 = moe.parameter ["model.layers.0.mlp.experts.up"] : tensor<4x16x8xf32>
  %down0 = moe.parameter ["model.layers.0.mlp.experts.down"] : tensor<4x8x16xf32>
  %rows0, %layout0 = moe.dispatch %x, %e num_experts(4) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
  %r0 = moe.expert %rows0, %layout0, %up0, %down0 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x16x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  %y0 = moe.combine %r0, %layout0 : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
  return %y0 : tensor<?x8xf32>
}
//--- ordered.mlir
func.func @main(%x: tensor<?x8xf32> {moe.dims = ["tokens", ""]}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""]}) -> tensor<?x8xf32> {
  %up0 = moe.parameter ["model.layers.0.mlp.experts.up"] : tensor<4x16x8xf32>
  %down0 = moe.parameter ["model.layers.0.mlp.experts.down"] : tensor<4x8x16xf32>
  %rows0, %layout0 = moe.dispatch %x, %e num_experts(4) order(<[3, 2, 1, 0]>) : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x8xf32>, !moe.layout<4>
  %r0 = moe.expert %rows0, %layout0, %up0, %down0 {
  ^bb0(%v: f32):
    moe.yield %v : f32
  } : tensor<?x8xf32>, !moe.layout<4>, tensor<4x16x8xf32>, tensor<4x8x16xf32> -> tensor<?x8xf32>
  %y0 = moe.combine %r0, %layout0 : tensor<?x8xf32>, !moe.layout<4> -> tensor<?x8xf32>
  return %y0 : tensor<?x8xf32>
}
