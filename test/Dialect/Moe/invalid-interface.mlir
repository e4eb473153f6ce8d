// Attributes of the module and of a program's arguments and results.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'builtin.module' op 'moe.weigths' is no attribute of a module; one of moe.generation, moe.level, moe.name, moe.weights}}
module attributes {moe.weigths = {source = "model.pt2"}} {}

// -----

// expected-error@+1 {{'builtin.module' op 'moe.weights' must be {source = "file", id = "content id"}, got "model.pt2"}}
module attributes {moe.weights = "model.pt2"} {}

// -----

// expected-error@+1 {{'builtin.module' op 'moe.weights' must be {source = "file", id = "content id"}, got {id = "00ff"}}}
module attributes {moe.weights = {id = "00ff"}} {}

// -----

// expected-error@+1 {{'builtin.module' op 'moe.weights' must be {source = "file", id = "content id"}, got {source = ""}}}
module attributes {moe.weights = {source = ""}} {}

// -----

// expected-error@+1 {{'builtin.module' op id of 'moe.weights' must be the content id of the source, got 255 : i64}}
module attributes {moe.weights = {source = "model.pt2", id = 255}} {}

// -----

// expected-error@+1 {{'builtin.module' op 'moe.weights' has source and id, but no "file"}}
module attributes {moe.weights = {source = "model.pt2", file = "model.pt2"}} {}

// -----

// expected-error@+1 {{'func.func' op 'moe.weights' belongs to the module}}
func.func private @weights_of_a_function() attributes {moe.weights = {source = "model.pt2"}}

// -----

// expected-error@+1 {{'builtin.module' op 'moe.generation' must be a dictionary, got "ids"}}
module attributes {moe.generation = "ids"} {}

// -----

// expected-error@+1 {{'builtin.module' op "tokens" of 'moe.generation' must be the name of an input, got 0 : i64}}
module attributes {moe.generation = {tokens = 0}} {}

// -----

// expected-error@+1 {{'builtin.module' op "logits" of 'moe.generation' must be the name of an output, got ""}}
module attributes {moe.generation = {logits = ""}} {}

// -----

// expected-error@+1 {{'builtin.module' op "vocabulary" of 'moe.generation' must be "bytes" or "ids", got "words"}}
module attributes {moe.generation = {vocabulary = "words"}} {}

// -----

// expected-error@+1 {{'builtin.module' op "vocab_size" of 'moe.generation' must be an integer of at least 1, got 0 : i64}}
module attributes {moe.generation = {vocab_size = 0}} {}

// -----

// expected-error@+1 {{'builtin.module' op "cache_length" of 'moe.generation' must be an integer of at least 1, got "64"}}
module attributes {moe.generation = {cache_length = "64"}} {}

// -----

// expected-error@+1 {{'builtin.module' op "eos" of 'moe.generation' must be a list of token ids, got ["end"]}}
module attributes {moe.generation = {eos = ["end"]}} {}

// -----

// expected-error@+1 {{'builtin.module' op eos of 'moe.generation' has 32, outside the vocabulary 0..31}}
module attributes {moe.generation = {eos = [2, 32], vocab_size = 32}} {}

// -----

// expected-error@+1 {{'builtin.module' op 'moe.generation' has no field "stop"; one of tokens, position, keep, logits, vocabulary, vocab_size, cache_length, eos}}
module attributes {moe.generation = {stop = [0]}} {}

// -----

// expected-error@+1 {{'builtin.module' op 'moe.name' must be a name, got 7 : i64}}
module attributes {moe.name = 7} {}

// -----

// expected-error@+1 {{'func.func' op 'moe.dim' is no attribute of an argument; one of moe.dim_ranges, moe.dims, moe.encoding, moe.index_of, moe.name, moe.range, moe.range_plus, moe.split, moe.state, moe.uniform}}
func.func private @unknown_argument(tensor<?xf32> {moe.dim = ["batch"]})

// -----

// expected-error@+1 {{'func.func' op 'moe.state' is no attribute of a result; one of moe.dims, moe.name, moe.split, moe.state_of}}
func.func private @unknown_result() -> (tensor<?xf32> {moe.state})

// -----

// expected-error@+1 {{'func.func' op arguments 1 and 3 have one name, 'x'; give each its own in 'moe.name'}}
func.func private @inputs_of_one_name(tensor<4xf32>, tensor<4xf32> {moe.name = "x"}, tensor<4xf32> {moe.name = "y"},
                                      tensor<4xf32> {moe.name = "x"})

// -----

// expected-error@+1 {{'func.func' op results 0 and 2 have one name, 'y'; give each its own in 'moe.name'}}
func.func private @outputs_of_one_name() -> (tensor<4xf32> {moe.name = "y"}, tensor<4xf32>, tensor<4xf32> {moe.name = "y"})

// -----

// A state may be called like an input.
func.func private @a_state(tensor<4xf32> {moe.name = "x"}, tensor<4xf32> {moe.name = "x", moe.state})
  -> (tensor<4xf32> {moe.name = "x"}, tensor<4xf32> {moe.name = "x", moe.state_of = 1})

// -----

// expected-error@+1 {{'func.func' op 'x' of 'tensor<?x4xf32>' needs a name in 'moe.dims' for each dimension, or "": 2 in all, got 1}}
func.func private @dims_rank(tensor<?x4xf32> {moe.name = "x", moe.dims = ["batch"]})

// -----

// expected-error@+1 {{'func.func' op result 1 of 'memref<?xf32>' needs a name in 'moe.dims' for each dimension, or "": 1 in all, got 2}}
func.func private @dims_of_a_result() -> (memref<?xf32>, memref<?xf32> {moe.dims = ["batch", ""]})

// -----

// expected-error@+1 {{'func.func' op 'moe.dims' of argument 0 must be a list of names, got [0]}}
func.func private @dims_names(tensor<?xf32> {moe.dims = [0]})

// -----

// expected-error@+1 {{'func.func' op 'moe.dims' of argument 0 names dimension 1 "hidden", but its size is always 4}}
func.func private @dims_static(tensor<?x4xf32> {moe.dims = ["batch", "hidden"]})

// -----

// expected-error@+1 {{'func.func' op argument 0 of 'i64' has no dimensions that 'moe.dims' could name}}
func.func private @dims_scalar(i64 {moe.dims = []})

// -----

// expected-error@+1 {{'func.func' op 'moe.dim_ranges' of 'x' must be a list with one range for each dimension of 'tensor<?x4xf32>', got}}
func.func private @dim_ranges_count(tensor<?x4xf32> {moe.name = "x", moe.dim_ranges = [[1, 2]]})

// -----

// expected-error@+1 {{'func.func' op 'moe.dim_ranges' of argument 0 must be a list with one range for each dimension of 'index', got []}}
func.func private @dim_ranges_of_a_scalar(index {moe.dim_ranges = []})

// -----

// expected-error@+1 {{'func.func' op 'moe.dim_ranges' of argument 0 must hold [least, greatest], [least] or [] for dimension 1, got [1, 2, 3]}}
func.func private @dim_ranges_form(tensor<?x?xf32> {moe.dim_ranges = [[], [1, 2, 3]]})

// -----

// expected-error@+1 {{'func.func' op 'moe.dim_ranges' of argument 0 must hold [least, greatest], [least] or [] for dimension 0, got "any"}}
func.func private @dim_ranges_type(tensor<?xf32> {moe.dim_ranges = ["any"]})

// -----

// expected-error@+1 {{'func.func' op 'moe.dim_ranges' of argument 0 holds no size for dimension 0, got [3, 2]}}
func.func private @dim_ranges_empty(tensor<?xf32> {moe.dim_ranges = [[3, 2]]})

// -----

// expected-error@+1 {{'func.func' op 'moe.dim_ranges' of argument 0 holds no size for dimension 0, got [-1]}}
func.func private @dim_ranges_negative(tensor<?xf32> {moe.dim_ranges = [[-1]]})

// -----

// expected-error@+1 {{'func.func' op 'moe.dim_ranges' of argument 0 has a range for dimension 1, but its size is always 4}}
func.func private @dim_ranges_static(tensor<?x4xf32> {moe.dim_ranges = [[1], [4, 4]]})

// -----

// expected-error@+1 {{'func.func' op 'moe.dim_ranges' is for what a caller gives, but 'x' is a state}}
func.func private @dim_ranges_state(tensor<?xf32> {moe.name = "x", moe.dim_ranges = [[1]], moe.state})

// -----

// expected-error@+1 {{'func.func' op 'moe.dim_ranges' is no attribute of a result; one of}}
func.func private @dim_ranges_result() -> (tensor<?xf32> {moe.dim_ranges = [[1]]})

// -----

// expected-error@+1 {{'func.func' op 'moe.range' of 'x' must be [lo, hi], got [0]}}
func.func private @range_form(tensor<4xi64> {moe.name = "x", moe.range = [0]})

// -----

// expected-error@+1 {{'func.func' op 'moe.range' of argument 0 must not be empty, got [3, 2]}}
func.func private @range_empty(tensor<4xi64> {moe.range = [3, 2]})

// -----

// expected-error@+1 {{'func.func' op 'moe.range' is for integers, but argument 0 is 'tensor<4xf32>'}}
func.func private @range_type(tensor<4xf32> {moe.range = [0, 3]})

// -----

// expected-error@+1 {{'func.func' op 'moe.range_plus' of argument 0 needs 'moe.range'}}
func.func private @range_plus(tensor<4xi64> {moe.range_plus = "seq"})

// -----

// expected-error@+1 {{'func.func' op 'moe.index_of' of argument 0 names "seq", which is no size of an argument in 'moe.dims'}}
func.func private @index_of_unknown(tensor<4xi64> {moe.index_of = "seq"}, tensor<?xf32> {moe.dims = ["n"]})

// -----

// expected-error@+1 {{'func.func' op 'moe.index_of' is for what a caller gives, but argument 0 is a state}}
func.func private @index_of_state(tensor<4xi64> {moe.index_of = "n", moe.state}, tensor<?xf32> {moe.dims = ["n"]})

// -----

// expected-error@+1 {{'func.func' op 'moe.index_of' is for integers, but argument 0 is 'tensor<4xf32>'}}
func.func private @index_of_floats(tensor<4xf32> {moe.index_of = "n"}, tensor<?xf32> {moe.dims = ["n"]})

// -----

// expected-error@+1 {{'func.func' op 'moe.range_plus' of argument 0 names "seq", which is no size of an argument in 'moe.dims'}}
func.func private @range_plus_unknown(tensor<4xi64> {moe.range = [0, 4], moe.range_plus = "seq"}, tensor<?xf32> {moe.dims = ["n"]})

// -----

// expected-error@+1 {{'func.func' op 'moe.state' of argument 0 must be without a value, got true}}
func.func private @state_value(tensor<4xf32> {moe.state = true})

// -----

// expected-error@+1 {{'func.func' op 'moe.name' of argument 0 must be a name, got 1 : i64}}
func.func private @name_value(tensor<4xf32> {moe.name = 1})

// -----

// expected-error@+1 {{'func.func' op 'moe.state_of' of result 0 must be the number of one of the 1 arguments, got 1 : i64}}
func.func private @state_of_number(tensor<4xf32>) -> (tensor<4xf32> {moe.state_of = 1})

// -----

// expected-error@+1 {{'func.func' op 'moe.state_of' of result 0 must be the number of one of the 1 arguments, got "cache"}}
func.func private @state_of_name(tensor<4xf32> {moe.name = "cache"}) -> (tensor<4xf32> {moe.state_of = "cache"})

// -----

// expected-error@+1 {{'func.func' op result 0 of 'tensor<8xf32>' cannot be the next state of argument 0 of 'tensor<4xf32>'}}
func.func private @state_of_shape(tensor<4xf32>) -> (tensor<8xf32> {moe.state_of = 0})

// -----

// expected-error@+1 {{'func.func' op result 0 of 'tensor<4xbf16>' cannot be the next state of argument 0 of 'tensor<4xf32>'}}
func.func private @state_of_element(tensor<4xf32>) -> (tensor<4xbf16> {moe.state_of = 0})

// -----

// expected-error@+1 {{'func.func' op 2 results are the next state of argument 0}}
func.func private @state_of_twice(tensor<4xf32>) -> (tensor<4xf32> {moe.state_of = 0}, tensor<4xf32> {moe.state_of = 0})

// -----

// expected-error@+1 {{'builtin.module' op 'moe.plain' is no attribute of a module; one of moe.generation, moe.level, moe.name, moe.weights}}
module attributes {moe.plain = []} {}

// -----

// expected-error@+1 {{'func.func' op 'moe.plain' must be a list of dictionaries, got "moe"}}
func.func private @plain_word() attributes {moe.plain = "moe"}

// -----

// expected-error@+1 {{'func.func' op 'moe.plain' must say the kind of each layer: moe, router, attention or norm; got {kind = "mlp"}}}
func.func private @plain_kind() attributes {moe.plain = [{kind = "mlp"}]}

// -----

// expected-error@+1 {{'func.func' op a layer of 'moe.plain' must have a reason, got {kind = "moe", step = "sum"}}}
func.func private @plain_without_a_reason() attributes {moe.plain = [{kind = "moe", step = "sum"}]}

// -----

// expected-error@+1 {{'func.func' op a layer of 'moe.plain' has no field line; one of kind, layer, place, step, reason, at}}
func.func private @plain_field() attributes {moe.plain = [{kind = "moe", step = "sum", reason = "none", line = "1"}]}

// -----

// expected-error@+1 {{'func.func' op place of a layer of 'moe.plain' must be text, got 1 : i64}}
func.func private @plain_place() attributes {moe.plain = [{kind = "moe", step = "sum", reason = "none", place = 1}]}

// -----

// expected-error@+1 {{'func.func' op 'moe.axes' belongs to a shard.grid}}
func.func private @axes() attributes {moe.axes = ["ep"]}

// -----

// expected-error@+1 {{'shard.grid' op 'moe.axes' must name each of the 2 dimensions of the grid, got ["ep"]}}
shard.grid @ep(shape = 2x2) {moe.axes = ["ep"]}

// -----

// expected-error@+1 {{'shard.grid' op 'moe.axes' must give each dimension another name, got ["ep", "ep"]}}
shard.grid @ep(shape = 2x2) {moe.axes = ["ep", "ep"]}

// -----

// expected-error@+1 {{'func.func' op 'moe.split' of argument 0 must be a grid, as @ep, or several, as [@dp, @ep], got 2 : i64}}
func.func private @split_number(tensor<?x4xf32> {moe.split = 2})

// -----

// expected-error@+1 {{'func.func' op 'moe.split' of 'x' names no shard.grid: @ep}}
func.func private @split_no_grid(tensor<?x4xf32> {moe.name = "x", moe.split = @ep})

// -----

// expected-error@+1 {{'func.func' op 'moe.split' of argument 0 must be a grid, as @ep, or several, as [@dp, @ep], got [@ep]}}
func.func private @split_list_of_one(tensor<?x4xf32> {moe.split = [@ep]})

// -----

// expected-error@+1 {{'func.func' op 'moe.split' of argument 0 must be a grid, as @ep, or several, as [@dp, @ep], got [@ep, 2]}}
func.func private @split_list_of_others(tensor<?x4xf32> {moe.split = [@ep, 2]})

// -----

shard.grid @dp(shape = 2)
// expected-error@+1 {{'func.func' op 'moe.split' of argument 0 names no shard.grid: @ep}}
func.func private @split_second(tensor<?x4xf32> {moe.split = [@dp, @ep]})

// -----

shard.grid @dp(shape = 2)
shard.grid @ep(shape = 2)
// expected-error@+1 {{'func.func' op 'moe.split' of argument 0 must name grids in their order in the module, each once, got [@ep, @dp]}}
func.func private @split_order(tensor<?x4xf32> {moe.split = [@ep, @dp]})

// -----

shard.grid @ep(shape = 2)
// expected-error@+1 {{'func.func' op 'moe.split' of argument 0 must name grids in their order in the module, each once, got [@ep, @ep]}}
func.func private @split_twice(tensor<?x4xf32> {moe.split = [@ep, @ep]})

// -----

shard.grid @ep(shape = 2)
// expected-error@+1 {{'func.func' op 'moe.split' divides dimension 0 of result 0 among ranks, so its size must be dynamic, got 'tensor<4x?xf32>'}}
func.func private @split_static() -> (tensor<4x?xf32> {moe.split = @ep})

// -----

shard.grid @ep(shape = 2)
// expected-error@+1 {{'func.func' op 'moe.split' is for what a caller gives and takes, but argument 0 is a state; each rank makes its own}}
func.func private @split_state(tensor<?x4xf32> {moe.split = @ep, moe.state})

// -----

// A zero byte ends a name wherever C reads it: two names would be one.
// expected-error@+1 {{'func.func' op 'moe.name' of argument 0 must be a name without zero bytes, got "a\00b"}}
func.func private @zero_byte(tensor<4xf32> {moe.name = "a\00b"})

// -----

// expected-error@+1 {{'func.func' op 'moe.dims' of argument 0 must have names without zero bytes, got "n\00"}}
func.func private @zero_byte_in_size(tensor<?xf32> {moe.dims = ["n\00"]})

// -----

// expected-error@+1 {{'builtin.module' op 'moe.name' must be a name without zero bytes, got "m\00"}}
module attributes {moe.name = "m\00"} {}
