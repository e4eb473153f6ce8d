"""The layer as a program of level `graph`, for moe-compile; the number of tokens is dynamic."""

GRAPH = """\
module attributes {{moe.name = "{name}"}} {{
func.func @main(
    %x: tensor<?x{H}x{t}> {{moe.name = "x", moe.dims = ["tokens", ""]}},
    %ids: tensor<?x{k}xi32> {{moe.name = "ids", moe.dims = ["tokens", ""], moe.range = [0, {last}]}},
    %weights: tensor<?x{k}xf32> {{moe.name = "weights", moe.dims = ["tokens", ""]}})
    -> (tensor<?x{H}x{t}> {{moe.name = "y", moe.dims = ["tokens", ""]}}) {{
  %w_in = moe.parameter ["w_in"]{cast} : tensor<{E}x{I2}x{H}x{t}>
  %w_out = moe.parameter ["w_out"]{cast} : tensor<{E}x{H}x{I}x{t}>
  %rows, %layout = moe.dispatch %x, %ids num_experts({E}) : tensor<?x{H}x{t}>, tensor<?x{k}xi32> -> tensor<?x{H}x{t}>, !moe.layout<{E}>
  %o = moe.expert %rows, %layout, %w_in, %w_out gated {{
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %v = arith.mulf %s, %u : f32
    moe.yield %v : f32
  }} : tensor<?x{H}x{t}>, !moe.layout<{E}>, tensor<{E}x{I2}x{H}x{t}>, tensor<{E}x{H}x{I}x{t}> -> tensor<?x{H}x{t}>
  %y = moe.combine %o, %layout weights(%weights : tensor<?x{k}xf32>) : tensor<?x{H}x{t}>, !moe.layout<{E}> -> tensor<?x{H}x{t}>
  return %y : tensor<?x{H}x{t}>
}}
}}
"""


def text(shape, dtype):
    """The graph; weights are bf16 in the file, and float32 layers widen them when they are packed."""
    cast = " recipe [#moe.cast<f32>]" if dtype == "float32" else ""
    element = {"float32": "f32", "bfloat16": "bf16"}[dtype]
    sizes = {"H": shape.hidden, "I": shape.inner, "I2": 2 * shape.inner, "E": shape.experts, "k": shape.k, "last": shape.experts - 1}
    return GRAPH.format(name=shape.name, t=element, cast=cast, **sizes)
