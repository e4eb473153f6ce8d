"""The cases of every check: layers, numbers of tokens, and their data. One list for the emulated GPU and for a real one."""

from dataclasses import dataclass

import numpy as np

# What follows the arguments %x, %router, %w_in, %w_out and perhaps biases, or the parameters of these names.
COMPUTATION = """
  %logits = nn.linear %x, %router{router_bias} : tensor<?x{H}x{type}>, tensor<{E}x{H}x{type}>{router_bias_type} -> tensor<?x{E}x{type}>
  %weights, %ids = moe.gate %logits top_k({k}) score(softmax) renormalize(sum)
      : tensor<?x{E}x{type}> -> tensor<?x{k}xf32>, tensor<?x{k}xi32>
  %rows, %layout = moe.dispatch %x, %ids num_experts({E})
      : tensor<?x{H}x{type}>, tensor<?x{k}xi32> -> tensor<?x{H}x{type}>, !moe.layout<{E}>
  %o = moe.expert %rows, %layout, %w_in, %w_out{biases} gated {{
  ^bb0(%g: f32, %u: f32):
{activation}
    moe.yield %v : f32
  }} : tensor<?x{H}x{type}>, !moe.layout<{E}>, tensor<{E}x{I2}x{H}x{type}>, tensor<{E}x{H}x{I}x{type}> -> tensor<?x{H}x{type}>
  %y = moe.combine %o, %layout weights(%weights : tensor<?x{k}xf32>)
      : tensor<?x{H}x{type}>, !moe.layout<{E}> -> tensor<?x{H}x{type}>
  return %y : tensor<?x{H}x{type}>
}}
"""

LAYER = """
func.func @main(%x: tensor<?x{H}x{type}> {{moe.dims = ["tokens", ""], moe.name = "x"}}) -> (tensor<?x{H}x{type}> {{moe.name = "y"}}) {{
{parameters}""" + COMPUTATION

SILU = """
    %s = nn.silu %g : f32
    %v = arith.mulf %s, %u : f32
"""
# As in GPT-OSS, whose experts and router have biases too: (min(max(u, -7), 7) + 1) * g * sigmoid(1.702 * g) of g = min(gate, 7).
ALPHA, LIMIT = 1.702, 7.0
CLAMPED = f"""
    %alpha = arith.constant {ALPHA} : f32
    %limit = arith.constant {LIMIT} : f32
    %lower = arith.constant {-LIMIT} : f32
    %one = arith.constant 1.0 : f32
    %gate = arith.minimumf %g, %limit : f32
    %below = arith.minimumf %u, %limit : f32
    %up = arith.maximumf %below, %lower : f32
    %factor = arith.addf %up, %one : f32
    %scaled = arith.mulf %alpha, %gate : f32
    %negated = arith.negf %scaled : f32
    %power = math.exp %negated : f32
    %divisor = arith.addf %one, %power : f32
    %product = arith.mulf %factor, %gate : f32
    %v = arith.divf %product, %divisor : f32
"""


@dataclass(frozen=True)
class Layer:
    """Sizes of a gated MoE layer: hidden, intermediate, experts, top-k; the type of its elements; and whether it has biases and the clamped
    activation of GPT-OSS."""

    H: int
    I: int  # noqa: E741
    E: int
    k: int
    element: str = "bf16"
    clamped: bool = False

    def graph(self, text=LAYER):
        """Its graph; the weights are parameters, unless `text` says otherwise."""
        types = {name: f"tensor<{'x'.join(map(str, shape))}x{self.element}>" for name, shape in self.weight_shapes().items()}
        given = {"H": self.H, "I": self.I, "E": self.E, "I2": 2 * self.I, "k": self.k, "type": self.element}
        given["parameters"] = "\n".join(f'  %{name} = moe.parameter ["{name}"] : {type}' for name, type in types.items())
        given["arguments"] = ",\n".join(f'    %{name}: {type} {{moe.name = "{name}"}}' for name, type in types.items())
        given |= {"router_bias": "", "router_bias_type": "", "biases": "", "activation": SILU.strip("\n")}
        if self.clamped:
            given["router_bias"], given["router_bias_type"] = " bias(%b_router)", f", {types['b_router']}"
            given["biases"] = f" bias_in(%b_in : {types['b_in']}) bias_out(%b_out : {types['b_out']})"
            given["activation"] = CLAMPED.strip("\n")
        return text.format(**given)

    def weight_shapes(self):
        shapes = {"router": (self.E, self.H), "w_in": (self.E, 2 * self.I, self.H), "w_out": (self.E, self.H, self.I)}
        return shapes | ({"b_router": (self.E,), "b_in": (self.E, 2 * self.I), "b_out": (self.E, self.H)} if self.clamped else {})

    def operations(self, tokens):
        """Floating-point operations of a forward pass: router and experts."""
        return 2 * tokens * self.H * self.E + 6 * tokens * self.k * self.H * self.I

    def bytes_moved(self, tokens, experts):
        """The least that a forward pass moves: weights of the experts that have rows, router, tokens in and out."""
        biases = experts * (2 * self.I + self.H) + self.E if self.clamped else 0
        return (4 if self.element == "f32" else 2) * (3 * experts * self.H * self.I + biases + self.E * self.H + 2 * tokens * self.H)


# Numerics, bit for bit where the data are integers. One block of everything; more rows of an expert than a tile has, and few in the last tile;
# rows that do not start at multiples of 16 bytes and a last step of odd length; one token; one expert; more steps than two rounds of the ring,
# few rows and many; f32; biases and an activation of its own.
NUMERICS = [
    (7, Layer(96, 80, 8, 2)),
    (140, Layer(72, 40, 3, 3)),
    (33, Layer(101, 30, 5, 2)),
    (1, Layer(64, 64, 4, 1)),
    (9, Layer(136, 130, 1, 1)),
    (13, Layer(904, 136, 2, 1)),
    (150, Layer(840, 72, 4, 2)),
    (37, Layer(76, 45, 4, 2, "f32")),
    (21, Layer(88, 48, 5, 2, clamped=True)),
]

MODELS = {
    "Qwen3-30B-A3B": Layer(2048, 768, 128, 8),
    "Mixtral-8x7B": Layer(4096, 14336, 8, 2),
    "DeepSeek-V3": Layer(7168, 2048, 256, 8),
    "OLMoE-1B-7B": Layer(2048, 1024, 64, 8),
    "GPT-OSS-20B": Layer(2880, 2880, 32, 4, clamped=True),
}
TOKENS = [1, 8, 64, 512, 2048, 8192]


def name_of(tokens, layer):
    return f"T{tokens}-H{layer.H}-I{layer.I}-E{layer.E}-k{layer.k}" + ("" if layer.element == "bf16" else f"-{layer.element}") + "-clamped" * layer.clamped


def weights_of(layer, random, draw):
    """The layer's weights by name, each made by `draw(random, shape)`."""
    return {name: draw(random, shape) for name, shape in layer.weight_shapes().items()}


def small_integers(random, shape):
    """-1, 0 and 1 as float32: sums of products are exact, whatever their order."""
    return random.integers(-1, 2, shape).astype(np.float32)


def fractions(random, shape):
    """Normal numbers, scaled so that a product over the last dimension has variance one."""
    return (random.normal(size=shape) / np.sqrt(shape[-1])).astype(np.float32)
