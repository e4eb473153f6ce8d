// Texts that are no variants, or do not belong together, and functions that break what variants promise.
// RUN: moe-opt %s --moe-verify-level=level=spmd --split-input-file --verify-diagnostics
// RUN: echo 'func.func @f(%%x: tensor<?xf32> {moe.dims = ["n"]}) -> tensor<?xf32> { return %%x : tensor<?xf32> }' > %t.mlir
// RUN: not moe-opt %t.mlir --moe-partition='variants="ep=2"' 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="dp=2"' 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=1" variants="dp=1"' 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="dp=4;ep=4"' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="ap=4"' 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="dp=4,schedule=<plain>"' 2>&1 | FileCheck %s --check-prefix=NO-EXCHANGE
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="ep=4,tokens=replicated,schedule=<plain>"' 2>&1 | FileCheck %s --check-prefix=NO-EXCHANGE
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="ep=4,schedule=plain"' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="schedule=<plain>ep=4"' 2>&1 | FileCheck %s --check-prefix=COMMA
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="ep=4,schedule=<fast>"' 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="ep=4,schedule=<overlap, chunk = 0, steps = [4], slices = 1>"' 2>&1 | FileCheck %s --check-prefix=CHUNK
// RUN: not moe-opt %t.mlir --moe-partition='parallel="dp=2,ep=2,etp=2" variants="dp=2,etp=2,ep=2;ep=2,dp=2,etp=2;ep=2,etp=2,dp=2;etp=2,dp=2,ep=2;etp=2,ep=2,dp=2"' 2>&1 | FileCheck %s --check-prefix=GRIDS
// Variants give the same numbers: what decides them is said once.
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="dp=4,groups=4"' 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4,sums=bf16" variants="ep=2,dp=2,sums=f32"' 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=2,dp=2,groups=2" variants="ep=4"' 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4" variants="ep=4,schedule=<plain>,schedule=<parts = 2>"' 2>&1 | FileCheck %s --check-prefix=SCHEDULES
// RUN: not moe-opt %t.mlir --moe-partition='parallel="ep=4,schedule=<plain>" variants="dp=4"' 2>&1 | FileCheck %s --check-prefix=PARALLEL
// GROUPS: error: variants: 'dp=4,groups=4': groups=4 is another order of sums than that of --parallel, groups=8; variants give the same numbers, so say it there
// SUMS: error: variants: 'ep=2,dp=2,sums=f32': sums=f32 rounds in another way than --parallel; variants give the same numbers, so say it there
// FEW: error: variants: 'ep=4': groups=2 is less than ep=4, but each rank sums at least one group
// SCHEDULES: error: variants: 'ep=4,schedule=<plain>,schedule=<parts = 2>': schedule is given twice
// PARALLEL: schedule is a field of --variant; layers that are divided as --parallel says get theirs at level scheduled
// FIRST: option 'variants' needs 'parallel', the first of them
// RANKS: error: variants: 'dp=2' has 2 ranks and 'ep=4' has 4; all variants run on the same ranks
// ONE: error: variants: variants are ways to divide a program among ranks, and 'ep=1' has one
// TWICE: error: variants: 'ep=4' is given twice
// FIELD: error: variants: 'ap=4': unknown field 'ap'; one of dp, ep, nodes, etp, tp, tokens, groups, sums, experts
// NO-EXCHANGE: a schedule is for layers whose tokens travel: ep=2 or more, with tokens=split
// FORM: error: variants: 'ep=4,schedule=plain': schedule must be as in schedule=<overlap, chunk = 64, steps = [1, 1], slices = 2>
// COMMA: error: variants: 'schedule=<plain>ep=4': expected a comma behind the schedule, got 'ep=4'
// KIND: error: variants: 'ep=4,schedule=<fast>': unknown schedule 'fast'; one of plain, parts = N, overlap, ..
// CHUNK: error: variants: 'ep=4,schedule=<overlap, chunk = 0, steps = [4], slices = 1>': an overlap needs chunk from 1 to 1048576, got 0
// GRIDS: error: variants: they have 18 grids, one for each dp, ep and etp above 1, and two more for nodes; at most 16 are possible

shard.grid @ep(shape = 2)
// expected-error@+1 {{'func.func' op has no 'moe.variant' beside functions that have one; give each one}}
func.func @alone() {
  return
}
func.func @f() attributes {moe.variant = #moe.variant<"f" as "ep=2" on [@ep]>} {
  return
}

// -----

shard.grid @ep(shape = 2)
func.func @f() attributes {moe.variant = #moe.variant<"f" as "ep=2" on [@ep]>} {
  return
}
// expected-error@+1 {{'f.1', variant 'other' of 'f', has the grid @ep of 'f', another variant; give each its own}}
func.func @f.1() attributes {moe.variant = #moe.variant<"f" as "other" on [@ep]>} {
  return
}

// -----

shard.grid @ep(shape = 2)
shard.grid @dp(shape = 2)
// expected-error@+1 {{'f', variant 'ep=2' of 'f', names the grid @dp, which is none of its own}}
func.func @f(%x: tensor<?xf32> {moe.dims = ["n"], moe.split = @dp}) attributes {moe.variant = #moe.variant<"f" as "ep=2" on [@ep]>} {
  return
}

// -----

shard.grid @ep(shape = 2)
shard.grid @dp(shape = 4)
func.func @f() attributes {moe.variant = #moe.variant<"f" as "ep=2" on [@ep]>} {
  return
}
// expected-error@+1 {{'f.1', variant 'dp=4' of 'f', runs on 4 ranks and 'f' on 2; all variants run on the same ranks}}
func.func @f.1() attributes {moe.variant = #moe.variant<"f" as "dp=4" on [@dp]>} {
  return
}

// -----

shard.grid @ep(shape = 2)
shard.grid @dp(shape = 2)
func.func @f() attributes {moe.variant = #moe.variant<"f" as "x" on [@ep]>} {
  return
}
func.func @g() attributes {moe.variant = #moe.variant<"g" as "y" on [@dp]>} {
  return
}
// expected-error@+1 {{'f.1', variant 'x' of 'f', has the grid @dp of 'g', another variant; give each its own}}
func.func @f.1() attributes {moe.variant = #moe.variant<"f" as "x" on [@dp]>} {
  return
}

// -----

shard.grid @ep(shape = 2)
shard.grid @dp(shape = 2)
func.func @f(%x: tensor<?xf32> {moe.dims = ["n"], moe.name = "x", moe.split = @ep}) attributes {moe.variant = #moe.variant<"f" as "ep=2" on [@ep]>} {
  return
}
// expected-error@+1 {{'f.1', variant 'dp=2' of 'f', has another argument 0 than 'f'; variants of an entry have the same, but for 'moe.split'}}
func.func @f.1(%x: tensor<?xf32> {moe.dims = ["n"], moe.name = "y", moe.split = @dp}) attributes {moe.variant = #moe.variant<"f" as "dp=2" on [@dp]>} {
  return
}

// -----

shard.grid @ep(shape = 2)
shard.grid @dp(shape = 2)
func.func @f(%x: tensor<?xf32> {moe.dims = ["n"], moe.split = @ep}) -> (tensor<?xf32> {moe.dims = ["n"], moe.split = @ep})
    attributes {moe.variant = #moe.variant<"f" as "ep=2" on [@ep]>} {
  return %x : tensor<?xf32>
}
// expected-error@+1 {{'f.1', variant 'dp=2' of 'f', has another result 0 than 'f'}}
func.func @f.1(%x: tensor<?xf32> {moe.dims = ["n"], moe.split = @dp}) attributes {moe.variant = #moe.variant<"f" as "dp=2" on [@dp]>} {
  return
}

// -----

shard.grid @dp(shape = 4)
shard.grid @ep.1(shape = 2)
shard.grid @etp.1(shape = 2)
func.func @f(%x: tensor<?xf32> {moe.dims = ["batch"], moe.split = @dp}, %s: tensor<?x8xf32> {moe.dims = ["batch", ""], moe.name = "cache", moe.state})
    attributes {moe.variant = #moe.variant<"f" as "dp=4" on [@dp]>} {
  return
}
// expected-error@+1 {{'f.1', variant 'ep=2,etp=2' of 'f', divides state 'cache' in another way than 'f': rank 0 has part 0 of 2 of 'batch' instead of part 0 of 4; states stay when another variant goes on}}
func.func @f.1(%x: tensor<?xf32> {moe.dims = ["batch"], moe.split = @ep.1}, %s: tensor<?x8xf32> {moe.dims = ["batch", ""], moe.name = "cache", moe.state})
    attributes {moe.variant = #moe.variant<"f" as "ep=2,etp=2" on [@ep.1, @etp.1]>} {
  return
}

// -----

// What each rank has is the same, on whatever grid.
shard.grid @dp(shape = 2)
shard.grid @ep(shape = 2)
shard.grid @ep.1(shape = 4)
func.func @f(%x: tensor<?xf32> {moe.dims = ["batch"], moe.split = [@dp, @ep]}, %s: tensor<?x8xf32> {moe.dims = ["batch", ""], moe.name = "cache", moe.state})
    attributes {moe.variant = #moe.variant<"f" as "dp=2,ep=2" on [@dp, @ep]>} {
  return
}
func.func @f.1(%x: tensor<?xf32> {moe.dims = ["batch"], moe.split = @ep.1}, %s: tensor<?x8xf32> {moe.dims = ["batch", ""], moe.name = "cache", moe.state})
    attributes {moe.variant = #moe.variant<"f" as "ep=4" on [@ep.1]>} {
  return
}
