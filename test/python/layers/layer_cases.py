"""Gates and layers as data: each can write itself into a graph and compute itself with the NumPy oracle."""

import math
from dataclasses import dataclass
from typing import Optional

import numpy as np

from layer_program import BF16, DTYPES, Graph, tensor_type
from moe_mlir import reference

# Lines of an activation region on %x (with %u if gated, as the second factor); `CONSTANTS` may be used, and the result
# is %y.
CONSTANTS = {"zero": 0.0, "one": 1.0, "half": 0.5, "sqrt_half": math.sqrt(0.5), "bend": math.sqrt(2 / math.pi),
             "cubic": 0.044715, "limit": 7.0, "lower": -7.0, "alpha": 1.702, "share": 0.37}
ACTIVATIONS = {
    "silu": ["%y = nn.silu %x : f32"],
    "relu": ["%y = arith.maximumf %x, %zero : f32"],
    "relu2": ["%a = arith.maximumf %x, %zero : f32", "%y = arith.mulf %a, %a : f32"],
    "gelu": ["%a = arith.mulf %x, %sqrt_half : f32", "%b = math.erf %a : f32", "%c = arith.addf %one, %b : f32",
             "%d = arith.mulf %half, %x : f32", "%y = arith.mulf %d, %c : f32"],
    "gelu_tanh": ["%a = arith.mulf %x, %x : f32", "%b = arith.mulf %a, %x : f32", "%c = arith.mulf %cubic, %b : f32",
                  "%d = arith.addf %x, %c : f32", "%e = arith.mulf %bend, %d : f32", "%f = math.tanh %e : f32",
                  "%g = arith.addf %one, %f : f32", "%h = arith.mulf %half, %x : f32",
                  "%y = arith.mulf %h, %g : f32"],
    "identity": ["%y = arith.addf %x, %zero : f32"],
}
GATED_ACTIVATIONS = {
    **{name: [line.replace("%y", "%p") for line in lines] + ["%y = arith.mulf %p, %u : f32"]
       for name, lines in ACTIVATIONS.items()},
    "swigluoai": ["%g = arith.minimumf %x, %limit : f32", "%a = arith.minimumf %u, %limit : f32",
                  "%b = arith.maximumf %a, %lower : f32", "%c = arith.addf %b, %one : f32",
                  "%d = arith.mulf %alpha, %g : f32", "%e = arith.negf %d : f32", "%f = math.exp %e : f32",
                  "%h = arith.addf %one, %f : f32", "%i = arith.mulf %c, %g : f32", "%y = arith.divf %i, %h : f32"],
    # A function that no table knows.
    "user": ["%a = math.absf %x : f32", "%b = arith.addf %one, %a : f32", "%c = arith.mulf %x, %u : f32",
             "%d = arith.divf %c, %b : f32", "%e = arith.mulf %u, %u : f32", "%f = arith.mulf %share, %e : f32",
             "%y = arith.addf %d, %f : f32"],
}
FUNCTIONS = {("identity", False): lambda x: x, ("identity", True): lambda g, u: g * u,
             ("user", True): lambda g, u: g * u / (1 + np.abs(g)) + 0.37 * u**2}


@dataclass(frozen=True)
class Gate:
    """Attributes of one moe.gate; `bias` and `ids` say whether it has these operands (`ids`: their type)."""

    k: int
    score: str = "softmax"
    renormalize: str = "none"
    eps: Optional[float] = None
    p: Optional[float] = None
    scale: Optional[float] = None
    least: Optional[float] = None
    jitter: Optional[float] = None
    groups: Optional[tuple] = None  # (count, keep, score)
    capacity: Optional[tuple] = None  # (factor, rounding)
    bias: Optional[str] = None
    ids: Optional[str] = None
    dtype: str = "f32"

    def write(self, graph, logits, experts, name, tokens="t"):
        """Adds the op; gives weights, experts and the type of both."""
        k = min(self.k, experts)
        weights, ids = graph.value(), graph.value()
        types = tensor_type(self.dtype, (tokens, k)), tensor_type("i32", (tokens, k))
        words = [f"{weights}, {ids} = moe.gate {logits}"]
        if self.bias:
            bias = graph.input(f"{name}_bias", self.bias, experts)
            words.append(f"bias({bias} : {tensor_type(self.bias, (experts,))})")
        if self.ids:
            given = graph.input(f"{name}_ids", self.ids, tokens, k)
            words.append(f"ids({given} : {tensor_type(self.ids, (tokens, k))})")
        words.append(f"top_k({self.k}) score({self.score})")
        if self.jitter is not None:
            words.append(f"jitter({self.jitter:e})")
        if self.renormalize != "none":
            words.append(f"renormalize({self.renormalize})")
        for word, value in (("eps", self.eps), ("least", self.least), ("p", self.p), ("scale", self.scale)):
            if value is not None:
                words.append(f"{word}({value:e})")
        if self.groups:
            words.append("groups(<{}, keep = {}, {}>)".format(*self.groups))
        if self.capacity:
            words.append("capacity(<{:e}, {}>)".format(*self.capacity))
        words.append(f": {tensor_type(self.dtype, (tokens, experts))} -> {types[0]}, {types[1]}")
        graph.add(" ".join(words))
        return weights, ids, types

    def reference(self, logits, bias=None, ids=None):
        """Ids and weights `[T, k]` of the oracle, before the rounding to the gate's type."""
        given = {"eps": self.eps, "p": self.p, "least": self.least, "jitter": self.jitter}
        given = {key: value for key, value in given.items() if value is not None}
        scale = 1.0 if self.scale is None else self.scale
        chosen, weights = reference.gate(
            logits, self.k, score_function=self.score, bias=bias, ids=ids, renormalization=self.renormalize, scale=scale,
            groups=reference.Groups(*self.groups) if self.groups else None, **given)
        factor, rounding = self.capacity or (None, "tutel")
        return reference.apply_capacity(chosen, weights, logits.shape[1], factor, rounding,
                                        renormalization=self.renormalize, scale=scale)[:2]


@dataclass(frozen=True)
class Layer:
    """One MoE layer after its router's product. Without a gate, ids and weights are inputs."""

    name: str
    gate: Optional[Gate]
    experts: int = 4
    hidden: int = 16
    inner: int = 24
    out: Optional[int] = None  # hidden
    dtype: str = "f32"
    activation: str = "silu"
    gated: bool = False
    interleaved: bool = False
    biases: bool = False
    pre_score: bool = False
    k: int = 1  # without a gate
    tokens: str = "t"

    @property
    def width(self):
        return self.out or self.hidden

    def weights(self, rng):
        """Inputs that are weights, of unit gain."""
        rows = self.inner * (2 if self.gated else 1)
        shapes = {"w_in": (self.experts, rows, self.hidden), "w_out": (self.experts, self.width, self.inner)}
        if self.biases:
            shapes |= {"b_in": (self.experts, rows), "b_out": (self.experts, self.width)}
        if self.gate and self.gate.bias:
            shapes["bias"] = (self.experts,)
        result = {}
        for key, shape in shapes.items():
            values = rng.standard_normal(shape) / math.sqrt(shape[-1] if key.startswith("w") else 4)
            result[f"{self.name}_{key}"] = values.astype(DTYPES["f32" if key == "bias" else self.dtype])
        return result

    def tokens_of(self, rng, count, routing="random"):
        """Inputs that depend on the number of tokens. `routing`: random, one (all on one expert), skip (one unused)."""
        x = rng.standard_normal((count, self.hidden)).astype(DTYPES[self.dtype])
        inputs = {f"{self.name}_x": x}
        ids = np.argsort(rng.random((count, self.experts)), axis=1)
        if self.gate is None:
            inputs[f"{self.name}_ids"] = ids[:, : self.k].astype(np.int32)
            inputs[f"{self.name}_weights"] = rng.random((count, self.k)).astype(DTYPES[self.dtype])
            return inputs
        logits = rng.standard_normal((count, self.experts))
        if routing == "one":
            logits[:, self.experts // 2] += 30
        if routing == "skip":
            logits[:, self.experts // 2] -= 30
        inputs[f"{self.name}_logits"] = logits.astype(DTYPES[self.gate.dtype])
        if self.gate.ids:
            inputs[f"{self.name}_ids"] = ids[:, : min(self.gate.k, self.experts)].astype(DTYPES[self.gate.ids])
        return inputs

    def write(self, graph):
        dtype, tokens, width = self.dtype, self.tokens, self.width
        x = graph.input(f"{self.name}_x", dtype, tokens, self.hidden)
        x_type, layout = tensor_type(dtype, (tokens, self.hidden)), f"!moe.layout<{self.experts}>"
        if self.gate:
            logits = graph.input(f"{self.name}_logits", self.gate.dtype, tokens, self.experts)
            weights, ids, (w_type, ids_type) = self.gate.write(graph, logits, self.experts, self.name, tokens)
        else:
            weights = graph.input(f"{self.name}_weights", dtype, tokens, self.k)
            ids = graph.input(f"{self.name}_ids", "i32", tokens, self.k)
            w_type, ids_type = tensor_type(dtype, (tokens, self.k)), tensor_type("i32", (tokens, self.k))
        weighted = f" weights({weights} : {w_type})"
        rows, places, y, out = (graph.value() for _ in range(4))
        graph.add(f"{rows}, {places} = moe.dispatch {x}, {ids}{weighted if self.pre_score else ''}"
                  f" num_experts({self.experts}) : {x_type}, {ids_type} -> {x_type}, {layout}")
        shape_in = (self.experts, self.inner * (2 if self.gated else 1), self.hidden)
        shape_out = (self.experts, width, self.inner)
        operands = [rows, places, graph.input(f"{self.name}_w_in", dtype, *shape_in),
                    graph.input(f"{self.name}_w_out", dtype, *shape_out)]
        words = ""
        if self.biases:
            for word, key, shape in (("bias_in", "b_in", shape_in[:2]), ("bias_out", "b_out", shape_out[:2])):
                words += f" {word}({graph.input(f'{self.name}_{key}', dtype, *shape)} : {tensor_type(dtype, shape)})"
        words += " gated" * self.gated + " interleaved" * self.interleaved
        y_type = tensor_type(dtype, (tokens, width))
        lines = (GATED_ACTIVATIONS if self.gated else ACTIVATIONS)[self.activation]
        used = [key for key in CONSTANTS if any(f"%{key}" in line.replace(",", " ").split() for line in lines)]
        graph.add(f"{y} = moe.expert {', '.join(operands)}{words} {{",
                  f"^bb0(%x: f32{', %u: f32' if self.gated else ''}):",
                  *(f"  %{key} = arith.constant {CONSTANTS[key]!r} : f32" for key in used),
                  *(f"  {line}" for line in lines), "  moe.yield %y : f32",
                  f"}} : {x_type}, {layout}, {tensor_type(dtype, shape_in)}, {tensor_type(dtype, shape_out)} -> {y_type}")
        graph.add(f"{out} = moe.combine {y}, {places}{'' if self.pre_score else weighted}"
                  f" : {y_type}, {layout} -> {y_type}")
        graph.output(f"{self.name}_y", out, dtype, tokens, width)

    def oracle(self, inputs):
        """The Experts of the oracle with this layer's weights."""
        get = lambda key: inputs.get(f"{self.name}_{key}")
        table = reference.GATED_ACTIVATIONS if self.gated else reference.ACTIVATIONS
        function = FUNCTIONS.get((self.activation, self.gated)) or table[self.activation]

        def rounded(*values):
            # The inner row is stored in the layer's type; the rows that combine sums are not.
            return function(*values).astype(DTYPES[self.dtype]).astype(np.float64)

        return reference.Experts(get("w_in"), get("w_out"), get("b_in"), get("b_out"), gated=self.gated,
                                 activation=function if self.dtype == "f32" else rounded,
                                 interleaved=self.interleaved)

    def route(self, inputs):
        """Ids and weights of the oracle, weights as the graph stores them."""
        get = lambda key: inputs.get(f"{self.name}_{key}")
        if self.gate is None:
            return get("ids"), get("weights").astype(np.float64)
        ids, weights = self.gate.reference(get("logits").astype(np.float64), get("bias"), get("ids"))
        return ids, weights.astype(DTYPES[self.gate.dtype]).astype(np.float64)

    def reference(self, inputs):
        """Output `[T, O]` of the oracle in float64."""
        x, experts = inputs[f"{self.name}_x"].astype(np.float64), self.oracle(inputs)
        ids, weights = self.route(inputs)
        rows, counts = reference.dispatch_rows(x, ids, self.experts, weights if self.pre_score else None)
        if self.pre_score:
            rows = rows.astype(DTYPES[self.dtype])
        return reference.combine_rows(experts.grouped(rows, counts), ids, self.experts,
                                      None if self.pre_score else weights)


class Layers:
    """Layers compiled as one program, since most of the time goes into starting and linking."""

    def __init__(self, layers, cpu="native", passes=()):
        self.layers = {layer.name: layer for layer in layers}
        graph = Graph()
        for layer in layers:
            layer.write(graph)
        self.program = graph.compile(cpu, passes)

    def inputs(self, tokens, routing="random", seed=0):
        """`tokens`: how many for all, or a dictionary by the layers' names."""
        rng = np.random.default_rng(seed)
        result = {}
        for layer in self.layers.values():
            count = tokens if isinstance(tokens, int) else tokens[layer.name]
            result |= layer.weights(rng) | layer.tokens_of(rng, count, routing)
        return result

    def check(self, inputs, threads=2):
        """Runs the program, compares every layer with the oracle, and gives the outputs."""
        outputs = self.program.run(inputs, threads)
        for name, layer in self.layers.items():
            check_close(outputs[f"{name}_y"], layer.reference(inputs), name)
        return outputs


# Largest relative error of one rounding.
ROUNDING = {BF16: 2.0**-8, np.dtype(np.float16): 2.0**-11}


def check_close(result, expected, name=""):
    """f32 within 1e-5 of the largest value (values are around 1). bf16 and f16 within the one rounding at the end, and
    what stored values add that fall between two numbers on the other side; few do."""
    assert result.shape == expected.shape, name
    if not expected.size:
        return
    largest = np.abs(expected).max()
    difference = np.abs(result.astype(np.float64) - expected)
    if result.dtype not in ROUNDING:
        assert difference.max() <= 1e-5 * max(largest, 0.1), f"{name}: {difference.max()} of {largest}"
        return
    rounding = ROUNDING[result.dtype]
    assert (difference <= rounding * np.abs(expected) + rounding / 2 * largest).all(), f"{name}: {difference.max()} of {largest}"
    if expected.size > 100:
        assert np.linalg.norm(difference) <= 0.512 * rounding * np.linalg.norm(expected), name
