// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'func.func' op 'moe.variant' must be a #moe.variant, got "dp=2"}}
func.func @text() attributes {moe.variant = "dp=2"} {
  return
}

// -----

// expected-error@+1 {{'func.func' op names no shard.grid: @ep}}
func.func @grid() attributes {moe.variant = #moe.variant<"main" as "ep=2" on [@ep]>} {
  return
}

// -----

shard.grid @ep(shape = ?)
// expected-error@+1 {{'func.func' op names a grid whose size is not known: @ep}}
func.func @size() attributes {moe.variant = #moe.variant<"main" as "ep=2" on [@ep]>} {
  return
}

// -----

// expected-error@+1 {{'builtin.module' op 'moe.variant' is no attribute of a module}}
module attributes {moe.variant = #moe.variant<"main" as "ep=2" on [@ep]>} {
}

// -----

func.func @op(%x: f32) {
  // expected-error@+1 {{'arith.addf' op 'moe.variant' belongs to a function}}
  %0 = arith.addf %x, %x {moe.variant = #moe.variant<"main" as "ep=2" on [@ep]>} : f32
  return
}

// -----

shard.grid @ep(shape = 2)
// expected-error@+1 {{a variant has each grid once, but @ep stands twice}}
#twice = #moe.variant<"main" as "ep=2" on [@ep, @ep]>
func.func @twice() attributes {moe.variant = #twice} {
  return
}

// -----

// expected-error@+1 {{a variant needs names that can be printed, its entry's and its own, without blanks around them}}
func.func @name() attributes {moe.variant = #moe.variant<"main" as " ep=2" on [@ep]>} {
  return
}

// -----

// expected-error@+1 {{a variant needs names that can be printed}}
func.func @entry() attributes {moe.variant = #moe.variant<"" as "ep=2" on [@ep]>} {
  return
}

// -----

// expected-error@+1 {{a variant's name is no number, by which command lines choose one as well, got '10'}}
func.func @number() attributes {moe.variant = #moe.variant<"main" as "10" on [@ep]>} {
  return
}

// -----

shard.grid @dp(shape = 2)
shard.grid @ep(shape = 2)
// expected-error@+1 {{'func.func' op 'moe.variant' must name grids in their order in the module, got @dp behind @ep}}
func.func @order() attributes {moe.variant = #moe.variant<"main" as "dp=2,ep=2" on [@ep, @dp]>} {
  return
}
