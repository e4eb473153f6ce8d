"""Masks that stay tensors, and routers and experts that no pattern knows: they stay plain ops, a warning says so, and the model still runs."""

import re

import numpy as np
import pytest
import torch
from op_program import Operators, to_numpy
from transformers import Llama4TextConfig, MixtralConfig
from transformers.models.llama4.modeling_llama4 import Llama4TextMoe
from transformers.models.mixtral.modeling_mixtral import MixtralExperts

import moe_mlir.ops  # noqa: F401 (defines moe_mlir::experts)
from moe_mlir import Executable
from moe_mlir.testing.compiling import moe_compile, warnings_of
from moe_mlir.testing.full import sample

F = torch.nn.functional
HEADS, GROUP, DEPTH, EXPERTS, K, HIDDEN, INNER = 4, 2, 8, 6, 2, 24, 20


def attend(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)


def distance(q):
    """[S, S]: how far a key is behind a query."""
    position = torch.arange(q.shape[2])
    return position[:, None] - position


def alibi(q, m):
    """A penalty that grows with the distance, per head, and minus infinity for keys after the query."""
    slope = 2.0 ** -torch.arange(1, HEADS + 1)
    bias = -distance(q)[None].abs() * slope[:, None, None]
    return torch.where(distance(q) >= 0, bias, float("-inf"))


# name -> (mask of q and the input m, the operand of nn.attention that it becomes)
MASKS = {
    "every_third_key": (lambda q, m: (distance(q) >= 0) & (distance(q) % 3 == 0), "mask"),
    "per_head": (lambda q, m: distance(q)[None] >= torch.arange(HEADS)[:, None, None] - 1, "mask"),
    "block_diagonal": (lambda q, m: torch.arange(q.shape[2])[:, None] // 4 == torch.arange(q.shape[2]) // 4, "mask"),
    "given": (lambda q, m: m[:, None] > 0, "mask"),
    "given_added": (lambda q, m: m[:, None], "bias"),
    "alibi": (alibi, "bias"),
    "soft_cap": (lambda q, m: torch.where(distance(q) >= 0, 0.0, -3.5), "bias"),
}


def graph_of(path, folder):
    """The text at the graph level."""
    moe_compile(path, folder / "graph.mlir", "--to=graph")
    return (folder / "graph.mlir").read_text()


def assert_warns(path, *sentences):
    """One warning for each; a sentence is (what stays plain, step, reason), and the place a line of a file."""
    warnings = warnings_of(path)
    assert len(warnings) == len(sentences), warnings
    for warning, (what, step, reason) in zip(warnings, sentences, strict=True):
        text = f"{what} stays plain operations and will be slow; step '{step}' of the pattern does not match: {reason}"
        assert re.fullmatch(rf"\w+\.py:\d+( \([\w.]+\))?: {re.escape(text)}(, at \w+\.py:\d+)?", warning), warning


def attention_inputs(batch, length, dtype=torch.float32):
    g = torch.Generator().manual_seed(length)
    heads = {"q": HEADS, "k": HEADS // GROUP, "v": HEADS // GROUP}
    inputs = {name: torch.randn((batch, count, length, DEPTH), generator=g).to(dtype) for name, count in heads.items()}
    return inputs | {"m": torch.randn((batch, length, length), generator=g)}


@pytest.mark.parametrize("dtype", sample([torch.float32, torch.bfloat16], 0))
@pytest.mark.parametrize("name", MASKS)
def test_mask(name, dtype, tmp_path):
    make, operand = MASKS[name]
    cast = (lambda mask: mask) if operand == "mask" else (lambda mask: mask.to(dtype))

    def function(q, k, v, m):
        return attend(q, k, v, cast(make(q, m)))

    dynamic = {"q": (0, 2), "k": (0, 2), "v": (0, 2), "m": (0, 1, 2)}
    operators = Operators({name: function}, attention_inputs(2, 3, dtype), dynamic, tmp_path)
    text = graph_of(tmp_path / "ops.pt2", tmp_path)
    assert re.search(rf"nn\.attention .* {operand}\(", text) and (" mask(" in text) + (" bias(" in text) == 1
    assert_warns(tmp_path / "ops.pt2")
    # Probabilities and result are rounded once: half an ulp of bf16 each, of numbers no larger than the largest value.
    tolerance = 1e-5 if dtype == torch.float32 else 2.0**-8
    for batch, length in ((2, 3), (1, 11), (3, 70)):
        inputs = attention_inputs(batch, length, dtype)
        given = {operators.input_names[key]: to_numpy(value) for key, value in inputs.items()}
        [result] = operators.executable.run(given).values()
        q, k, v = (inputs[key].double() for key in "qkv")
        mask = cast(make(inputs["q"], inputs["m"]))
        expected = attend(q, k, v, mask.double() if operand == "bias" else mask).numpy()
        assert np.abs(result.astype(np.float64) - expected).max() <= tolerance * v.abs().max().item()


def greedy_by_groups(logits):
    """The best expert of each of two groups."""
    values, ids = logits.sigmoid().view(-1, 2, EXPERTS // 2).max(-1)
    return ids + torch.arange(0, EXPERTS, EXPERTS // 2), values / values.sum(-1, keepdim=True)


def sigmoid_root(logits):
    values, ids = logits.sigmoid().sqrt().topk(K)
    return ids, values * 1.5


def squashed(logits):
    values, ids = logits.tanh().topk(K)
    return ids, torch.where(values > 0.2, values, 0.0)


def tempered(logits):
    values, ids = torch.topk(logits - logits.mean(-1, keepdim=True), K)
    return ids, (values / 0.7).softmax(-1) ** 2


# name -> (function, step and reason of the warning)
OTHERS = "not from topk, from gather(scores, ids), or from softmax or sigmoid of the logits that topk chose"
ROUTERS = {
    "greedy_by_groups": (greedy_by_groups, "weights", f"they come from aten.max, {OTHERS}"),
    "sigmoid_root": (
        sigmoid_root, "scores", "they come from aten.sqrt, not from softmax, sigmoid or sqrt(softplus) of the logits"),
    "squashed": (squashed, "weights", f"they come from aten.where, {OTHERS}"),
    "tempered": (tempered, "weights", f"they come from aten.pow, {OTHERS}"),
}


def threshold(logits):
    """Experts whose score is small get no weight."""
    values, ids = logits.softmax(-1).topk(K)
    return ids, torch.where(values > 0.2, values, 0.0)


def beside_another(logits):
    """The weights are shared with an expert that takes every token, and scaled by expert; a bias steers the choice."""
    scores, number = logits.sigmoid(), torch.arange(EXPERTS - 1)
    values, ids = (scores[:, :-1] + 0.2 * number).topk(K)
    chosen = torch.cat([logits[:, :-1].gather(-1, ids), logits[:, -1:]], -1).sigmoid()
    weights = (chosen / chosen.sum(-1, keepdim=True))[:, :-1]
    return ids, weights * (1 + number)[ids] + 0.1 * values


CHOICES = {"threshold": threshold, "beside_another": beside_another}
ALL_EXPERTS = ("a MoE layer", "products", f"all {EXPERTS} experts run on every token")


class Layer(torch.nn.Module):
    def __init__(self, route, fused):
        super().__init__()
        g = torch.Generator().manual_seed(0)
        weight = lambda *shape: torch.nn.Parameter(torch.randn(shape, generator=g) / shape[-1] ** 0.5)  # noqa: E731
        self.router, self.up, self.down = weight(EXPERTS, HIDDEN), weight(EXPERTS, 2 * INNER, HIDDEN), weight(EXPERTS, HIDDEN, INNER)
        self.route, self.fused = route, fused

    def forward(self, x):
        ids, weights = self.route(F.linear(x, self.router))
        if self.fused:
            return torch.ops.moe_mlir.experts(x, ids, weights, self.up, self.down, None, None, "silu", True, False, False)
        # Every expert on every token, and a sum with the weights of those that were chosen.
        dense = torch.zeros_like(x[:, :1].expand(-1, EXPERTS)).scatter(1, ids, weights)
        gate, up = (x @ self.up.transpose(1, 2)).chunk(2, -1)
        return (F.silu(gate) * up @ self.down.transpose(1, 2) * dense.t()[:, :, None]).sum(0)


@pytest.mark.parametrize("fused", sample([True, False], 0))
@pytest.mark.parametrize("name", ROUTERS)
def test_router(name, fused, tmp_path):
    route, *why = ROUTERS[name]
    layer = Layer(route, fused).eval()
    tokens = lambda count: torch.randn((count, HIDDEN), generator=torch.Generator().manual_seed(count))  # noqa: E731
    with torch.no_grad():
        program = torch.export.export(layer, (tokens(5),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},), strict=False)
    torch.export.save(program, tmp_path / "layer.pt2")
    text = graph_of(tmp_path / "layer.pt2", tmp_path)
    assert "moe.gate" not in text and ("moe.expert" in text) == fused
    assert_warns(tmp_path / "layer.pt2", ("a router", *why) if fused else ALL_EXPERTS)
    executable = Executable(moe_compile(tmp_path / "layer.pt2", tmp_path / "layer"))
    for count in (5, 1, 37):
        x = tokens(count)
        with torch.no_grad():
            expected = layer(x).numpy()
        [result] = executable.run({"x": x.numpy()}).values()
        assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("name", CHOICES)
def test_choice_without_its_weights(name, tmp_path):
    """The gate chooses, and gives the scores; what becomes of them stays plain, k numbers per token."""
    layer = Layer(CHOICES[name], fused=True).eval()
    tokens = lambda count: torch.randn((count, HIDDEN), generator=torch.Generator().manual_seed(count))  # noqa: E731
    with torch.no_grad():
        program = torch.export.export(layer, (tokens(5),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},), strict=False)
    torch.export.save(program, tmp_path / "layer.pt2")
    assert graph_of(tmp_path / "layer.pt2", tmp_path).count(" = moe.gate ") == 1
    assert_warns(tmp_path / "layer.pt2")
    executable = Executable(moe_compile(tmp_path / "layer.pt2", tmp_path / "layer"))
    for count in (5, 1, 37):
        x = tokens(count)
        with torch.no_grad():
            expected = layer(x).numpy()
        [result] = executable.run({"x": x.numpy()}).values()
        assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max()


def check_layer(module, inputs, dynamic, folder, *sentences):
    """`module` compiles without any MoE op, with these warnings, and equals PyTorch on tokens [n, HIDDEN]; `inputs` makes
    them of a number n."""
    with torch.no_grad():
        program = torch.export.export(module, (inputs(5),), dynamic_shapes=(dynamic,), strict=False)
    torch.export.save(program, folder / "layer.pt2")
    assert " moe.dispatch" not in graph_of(folder / "layer.pt2", folder)
    assert_warns(folder / "layer.pt2", *sentences)
    executable = Executable(moe_compile(folder / "layer.pt2", folder / "layer"))
    for count in (5, 1, 23):
        x = inputs(count)
        with torch.no_grad():
            expected = module(x).numpy()
        [result] = executable.run({"x": x.numpy()}).values()
        assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max()


def filled(module):
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape, generator=g) / weight.shape[-1] ** 0.5)
    return module.eval()


class Llama4Layer(torch.nn.Module):
    """Every expert on every token, scaled before the experts; outside of transformers' registry."""

    def __init__(self):
        super().__init__()
        config = Llama4TextConfig(hidden_size=HIDDEN, intermediate_size=INNER, num_local_experts=EXPERTS, num_experts_per_tok=K)
        self.layer = Llama4TextMoe(config)

    def forward(self, x):
        return self.layer(x)[0]


class NormedLayer(torch.nn.Module):
    """Experts whose results are normalised before they are weighed, which moe.expert does not say."""

    def __init__(self, implementation):
        super().__init__()
        config = MixtralConfig(hidden_size=HIDDEN, intermediate_size=INNER, num_local_experts=EXPERTS)
        config._experts_implementation = implementation
        self.router = torch.nn.Parameter(torch.empty(EXPERTS, HIDDEN))
        self.experts = MixtralExperts(config)
        self.experts.has_post_expert_norm = True
        self.experts.post_expert_norm = lambda rows: F.rms_norm(rows, (HIDDEN,), eps=1e-5)

    def forward(self, x):
        weights, ids = F.linear(x, self.router).softmax(-1).topk(K)
        return self.experts(x, ids, weights)


def tokens(count):
    return torch.randn((count, HIDDEN), generator=torch.Generator().manual_seed(count))


def test_experts_outside_of_the_registry(tmp_path):
    check_layer(filled(Llama4Layer()), tokens, {0: torch.export.Dim.DYNAMIC}, tmp_path, ALL_EXPERTS)


@pytest.mark.parametrize("implementation", ["grouped_mm", "batched_mm"])
def test_experts_with_a_norm(implementation, tmp_path):
    known = {"grouped_mm": "a grouped product", "batched_mm": "bmm(w[ids], x[:, :, None])[:, :, 0]"}[implementation]
    check_layer(filled(NormedLayer(implementation)), tokens, {0: torch.export.Dim.DYNAMIC}, tmp_path,
                ("a MoE layer", "second product", f"nn.rms_norm is not {known}"))
