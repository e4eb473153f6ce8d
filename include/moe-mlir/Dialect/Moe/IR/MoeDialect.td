//===- MoeDialect.td -------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_MOEDIALECT
#define MOE_MLIR_DIALECT_MOE_IR_MOEDIALECT

include "mlir/IR/OpBase.td"

def Moe_Dialect : Dialect {
  let name = "moe";
  let cppNamespace = "::mlir::moe";
  let summary = "Mixture-of-Experts layers: gate, dispatch, expert, combine, all_to_all";
  let description = [{
    Value semantics on tensors. Every policy that changes a result is an attribute, an operand or a region.
    Sizes: T tokens, H hidden, E experts, k experts per token, I expert intermediate, R rows after dispatch (T.k), W ranks.

    What a caller of the program must know stands in attributes of the module and of the host function's arguments and
    results. Every level keeps them, and the dialect verifies them; a name that is not in these tables is an error.

    | module | value | says |
    |---|---|---|
    | `moe.name` | string | name of the model |
    | `moe.level` | string | level of the module, by the pipeline that made it |
    | `moe.weights` | `{source = "file", id = "..."}` | file that the keys of `moe.parameter` belong to, and its content id; the source `none`: the program makes random weights when it runs |
    | `moe.generation` | dictionary | what text generation needs: `tokens`, `position`, `keep` (inputs), `logits` (output), `vocabulary` (`"bytes"` or `"ids"`), `vocab_size`, `cache_length`, `eos` (token ids) |

    | function | value | says |
    |---|---|---|
    | `moe.plain` | list of `{kind = "moe", ...}` | layers that the import did not recognise, with `layer`, `place`, `step`, `reason`, `at` as text; kinds are `moe`, `router`, `attention`, `norm` |

    | `shard.grid` | value | says |
    |---|---|---|
    | `moe.axes` | list of strings | name of each of its dimensions, for `moe-compile --parallel` and messages of the program |
    | `moe.axis_of` | `@grid` | this grid, of one dimension, is the dimension of that name and size of another one: its ranks are those that differ there alone |
    | `moe.groups_of` | `@grid` | each rank of this grid is a group of neighbouring ranks of that one. Groups are of one size; the ranks of a group hold the same part of a weight (`#moe.shard`). The job has no ranks of its own for this grid |

    | argument or result | value | says |
    |---|---|---|
    | `moe.name` | string | its name for the caller |
    | `moe.dims` | list of strings | name of each dynamic size (`""`: none); sizes of one name are equal |
    | `moe.dim_ranges` | list of `[least, greatest]`, `[least]`, `[]` | what the caller may give as the size of each dimension, both ends included (`[]`: any, and where it is static); of a dimension that ranks divide, all of it is meant |
    | `moe.range` | `[lo, hi]` | integers of this argument are in this range, both ends included |
    | `moe.range_plus` | string | the last of the positions that start at a value is that many sizes further: `value + size - 1 <= hi` |
    | `moe.index_of` | string | integers of this argument are indices into a dimension of n elements, whose size has that name: in `[-n, n)`, negative ones counting from the end |
    | `moe.uniform` | unit | all values of this argument are equal |
    | `moe.split` | `@grid`, or `[@slowest, ...]` | dimension 0, of n elements, is divided among the W ranks of the grid, or of all these grids, in their order in the module: rank r has `floor(r * n / W) ... floor((r + 1) * n / W) - 1`. States are never divided: each rank makes its own |
    | `moe.state` | unit | the executable owns this argument: zeros at first, kept between calls |
    | `moe.state_of` | integer | this result is the next value of that argument; all are made of what the states held before the call |
    | `moe.encoding` | string | order of a state's elements in memory, from the kernel level on |

    `moe.of_call` (unit) on a `cf.assert`: it is about the sizes of all that the caller gives; ranks that have a part of it
    cannot check it.

    `moe.in_bounds` (unit) on an op that reads or writes where integers say (`nn.embedding`, `nn.cache_update`,
    `nn.attention`, `tensor.extract` in a body): whoever wrote it has made sure that they lie inside. Without it,
    and of the elements of an argument in any case, graph-check-bounds does.

    `moe.shape` (`array<i64>`) on a `moe.parameter` with a `#moe.pack`: its shape before the pack, which the weights must have.
  }];
  let extraClassDeclaration = [{
    void registerAttributesAndTypes();
  }];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // MOE_MLIR_DIALECT_MOE_IR_MOEDIALECT
