// Products and tables that ranks share: what one op alone cannot know.
// RUN: moe-opt %s --split-input-file --verify-diagnostics --moe-verify-level=level=spmd

shard.grid @tp(shape = 2)

func.func @right(%ids: tensor<?xi64>) -> tensor<?x8xf32> {
  %table = moe.parameter ["embed"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<8x4xbf16>
  %w1 = moe.parameter ["w1"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<6x4xbf16>
  %b1 = moe.parameter ["b1"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<6xbf16>
  %w2 = moe.parameter ["w2"] recipe [#moe.shard<dim = 1, grid = @tp, ranks = 2>] : tensor<4x6xbf16>
  %b2 = moe.parameter ["b2"] recipe [#moe.once<grid = @tp, ranks = 2>] : tensor<4xbf16>
  %head = moe.parameter ["head"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<4x4xbf16>
  %rows = nn.embedding %ids, %table at @tp : tensor<?xi64>, tensor<8x4xbf16> -> tensor<?x4xbf16>
  %all = shard.all_reduce %rows on @tp grid_axes = [0] : tensor<?x4xbf16> -> tensor<?x4xf32>
  %x = arith.truncf %all : tensor<?x4xf32> to tensor<?x4xbf16>
  %h = nn.linear %x, %w1 bias(%b1) : tensor<?x4xbf16>, tensor<6x4xbf16>, tensor<6xbf16> -> tensor<?x6xbf16>
  %s = nn.silu %h : tensor<?x6xbf16>
  %part = nn.linear %s, %w2 bias(%b2) : tensor<?x6xbf16>, tensor<4x6xbf16>, tensor<4xbf16> -> tensor<?x4xf32>
  %sum = shard.all_reduce %part on @tp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  %y = arith.truncf %sum : tensor<?x4xf32> to tensor<?x4xbf16>
  %columns = nn.linear %y, %head : tensor<?x4xbf16>, tensor<4x4xbf16> -> tensor<?x4xf32>
  %logits = shard.all_gather %columns on @tp grid_axes = [0] gather_axis = 1 : tensor<?x4xf32> -> tensor<?x8xf32>
  return %logits : tensor<?x8xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @summand(%x: tensor<?x6xf32>) -> tensor<?x4xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 1, grid = @tp, ranks = 2>] : tensor<4x6xf32>
  // expected-error@+1 {{'nn.linear' has a part of the columns of its weight, and so gives summands: only a rounding and a shard.all_reduce over the same grid may read them}}
  %y = nn.linear %x, %w : tensor<?x6xf32>, tensor<4x6xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

shard.grid @ep(shape = 2)
shard.grid @tp(shape = 2)

func.func @other_ranks(%x: tensor<?x6xf32>) -> tensor<?x4xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 1, grid = @tp, ranks = 2>] : tensor<4x6xf32>
  // expected-error@+1 {{'nn.linear' has a part of the columns of its weight, and so gives summands: only a rounding and a shard.all_reduce over the same grid may read them}}
  %y = nn.linear %x, %w : tensor<?x6xf32>, tensor<4x6xf32> -> tensor<?x4xf32>
  %sum = shard.all_reduce %y on @ep grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %sum : tensor<?x4xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @bias_of_all(%x: tensor<?x6xf32>) -> tensor<?x4xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 1, grid = @tp, ranks = 2>] : tensor<4x6xf32>
  %b = moe.parameter ["b"] : tensor<4xf32>
  // expected-error@+1 {{'nn.linear' gives summands, to which every rank would add the bias; #moe.once gives it to one rank of the grid}}
  %y = nn.linear %x, %w bias(%b) : tensor<?x6xf32>, tensor<4x6xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %sum = shard.all_reduce %y on @tp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %sum : tensor<?x4xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @part_of_a_bias(%x: tensor<?x6xf32>) -> tensor<?x4xf32> {
  %w = moe.parameter ["w"] : tensor<4x6xf32>
  %b = moe.parameter ["b"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<4xf32>
  // expected-error@+1 {{'nn.linear' has a part of a bias and all of its weight; give both one #moe.shard of dimension 0, or none}}
  %y = nn.linear %x, %w bias(%b) : tensor<?x6xf32>, tensor<4x6xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @whole_bias(%x: tensor<?x6xf32>) -> tensor<?x8xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<4x6xf32>
  %b = moe.parameter ["b"] : tensor<4xf32>
  // expected-error@+1 {{'nn.linear' has a part of the rows of its weight and another part of its bias; give both one #moe.shard of dimension 0}}
  %y = nn.linear %x, %w bias(%b) : tensor<?x6xf32>, tensor<4x6xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %all = shard.all_gather %y on @tp grid_axes = [0] gather_axis = 1 : tensor<?x4xf32> -> tensor<?x8xf32>
  return %all : tensor<?x8xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @part_for_a_caller(%x: tensor<?x6xf32>) -> tensor<?x4xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<4x6xf32>
  // expected-error@+1 {{'nn.linear' has a part of the rows of its weight, and what is made of its result goes to a caller, or to an op that needs all of it, or ranks add different columns: a shard.all_gather or a product with that part of its columns has to come before}}
  %y = nn.linear %x, %w : tensor<?x6xf32>, tensor<4x6xf32> -> tensor<?x4xf32>
  %s = nn.silu %y : tensor<?x4xf32>
  return %s : tensor<?x4xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @part_for_a_gate(%x: tensor<?x6xf32>) -> tensor<?x2xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<4x6xf32>
  // expected-error@+1 {{'nn.linear' has a part of the rows of its weight, and what is made of its result goes to a caller, or to an op that needs all of it}}
  %y = nn.linear %x, %w : tensor<?x6xf32>, tensor<4x6xf32> -> tensor<?x4xf32>
  %g, %e = moe.gate %y top_k(2) score(softmax) : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %g : tensor<?x2xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @part_of_a_table(%ids: tensor<?xi64>) -> tensor<?x4xf32> {
  %table = moe.parameter ["embed"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<8x4xf32>
  // expected-error@+1 {{'nn.embedding' and its table name two grids, or only one of them does: a part of the rows needs 'at' its grid}}
  %x = nn.embedding %ids, %table : tensor<?xi64>, tensor<8x4xf32> -> tensor<?x4xf32>
  return %x : tensor<?x4xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @rows_of_others(%ids: tensor<?xi64>) -> tensor<?x4xf32> {
  %table = moe.parameter ["embed"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<8x4xf32>
  // expected-error@+1 {{'nn.embedding' has a part of a table, and so gives summands: only a rounding and a shard.all_reduce over its grid may read them}}
  %x = nn.embedding %ids, %table at @tp : tensor<?xi64>, tensor<8x4xf32> -> tensor<?x4xf32>
  return %x : tensor<?x4xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @whole_is_joined(%x: tensor<?x6xf32>) -> tensor<?x8xf32> {
  %w = moe.parameter ["w"] : tensor<4x6xf32>
  %y = nn.linear %x, %w : tensor<?x6xf32>, tensor<4x6xf32> -> tensor<?x4xf32>
  // expected-error@+1 {{'shard.all_gather' joins what every rank has all of: no weight that it is made of is divided among the ranks}}
  %all = shard.all_gather %y on @tp grid_axes = [0] gather_axis = 1 : tensor<?x4xf32> -> tensor<?x8xf32>
  return %all : tensor<?x8xf32>
}

// -----

shard.grid @tp(shape = 2)

// Columns that ranks would add instead of joining them.
func.func @columns_added(%x: tensor<?x6xf32>) -> tensor<?x4xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<4x6xf32>
  // expected-error@+1 {{'nn.linear' has a part of the rows of its weight, and what is made of its result goes to a caller, or to an op that needs all of it, or ranks add different columns: a shard.all_gather}}
  %y = nn.linear %x, %w : tensor<?x6xf32>, tensor<4x6xf32> -> tensor<?x4xf32>
  %sum = shard.all_reduce %y on @tp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %sum : tensor<?x4xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @halves_of_a_table(%ids: tensor<?xi64>) -> tensor<?x4xf32> {
  %table = moe.parameter ["embed"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2, halves = true>] : tensor<8x4xf32>
  // expected-error@+1 {{'nn.embedding' has a table that is divided by halves, but ids count its rows in their order; remove 'halves' from its #moe.shard}}
  %x = nn.embedding %ids, %table at @tp : tensor<?xi64>, tensor<8x4xf32> -> tensor<?x4xf32>
  %y = shard.all_reduce %x on @tp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

shard.grid @tp(shape = 2)

func.func @halves_of_columns(%x: tensor<?x6xf32>) -> tensor<?x8xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2, halves = true>] : tensor<4x6xf32>
  // expected-error@+1 {{'nn.linear' has a weight that is divided by halves, which only experts have; remove 'halves' from its #moe.shard}}
  %y = nn.linear %x, %w : tensor<?x6xf32>, tensor<4x6xf32> -> tensor<?x4xf32>
  %all = shard.all_gather %y on @tp grid_axes = [0] gather_axis = 1 : tensor<?x4xf32> -> tensor<?x8xf32>
  return %all : tensor<?x8xf32>
}

// -----

shard.grid @tp(shape = 4)
shard.grid @kv(shape = 2) {moe.groups_of = @tp}

func.func @sum_of_groups(%x: tensor<?x6xf32>) -> tensor<?x6xf32> {
  // expected-error@+1 {{'shard.all_reduce' names a grid whose ranks are groups, which share weights only; name the grid that it groups}}
  %sum = shard.all_reduce %x on @kv grid_axes = [0] : tensor<?x6xf32> -> tensor<?x6xf32>
  return %sum : tensor<?x6xf32>
}

// -----

shard.grid @tp(shape = 4)
shard.grid @kv(shape = 2) {moe.groups_of = @tp}

// Columns that two ranks have are no part of those that four add.
func.func @columns_of_groups(%x: tensor<?x6xf32>) -> tensor<?x4xf32> {
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 0, grid = @kv, ranks = 2>] : tensor<4x6xf32>
  %v = moe.parameter ["v"] recipe [#moe.shard<dim = 1, grid = @tp, ranks = 4>] : tensor<4x4xf32>
  // expected-error@+1 {{'nn.linear' has a part of the rows of its weight, and what is made of its result goes to a caller, or to an op that needs all of it}}
  %y = nn.linear %x, %w : tensor<?x6xf32>, tensor<4x6xf32> -> tensor<?x4xf32>
  %part = nn.linear %y, %v : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
  %sum = shard.all_reduce %part on @tp grid_axes = [0] : tensor<?x4xf32> -> tensor<?x4xf32>
  return %sum : tensor<?x4xf32>
}
