"""moe.gate, dispatch, expert and combine against the oracle: every attribute, odd sizes, empty and crowded experts."""

import numpy as np
import pytest

from graph import BF16, CPUS, assert_close, graph, host_has, launches, random, tensor
from moe_mlir.reference.capacity import apply_capacity
from moe_mlir.reference.experts import Experts
from moe_mlir.reference.gate import Groups, gate
from moe_mlir.reference.layer import moe_layer
from moe_mlir.testing.full import sample

MODES = {"jitter": "jitter", "renormalization": "renormalize", "eps": "eps", "least": "least", "p": "p", "scale": "scale"}


def number(value):
    return value if isinstance(value, str) else f"{value:e}"


def gate_text(score, options, factor=None, rounding="tutel"):
    clauses = [f"score({score})"] + [f"{name}({number(options[key])})" for key, name in MODES.items() if key in options]
    if "groups" in options:
        g = options["groups"]
        clauses.append(f"groups(<{g.count}, keep = {g.keep}, {g.score}>)")
    if factor is not None:
        clauses.append(f"capacity(<{factor:e}, {rounding}>)")
    return " ".join(clauses)


CASES = [
    ("softmax", {}), ("softmax", {"renormalization": "sum"}), ("softmax", {"renormalization": "before"}),
    ("softmax", {"renormalization": "after"}), ("softmax", {"renormalization": "pnorm", "p": 2.0}),
    ("softmax", {"renormalization": "pnorm", "p": 3.0, "scale": 2.5}), ("softmax_after", {}),
    ("sigmoid", {"renormalization": "sum", "eps": 1e-20, "scale": 2.5}), ("sqrt_softplus", {}),
    ("sigmoid", {"renormalization": "sum", "least": 1.5}), ("sigmoid_after", {"renormalization": "sum"}),
    ("sparsemixer", {"jitter": 0.1}),
    ("sigmoid", {"groups": Groups(4, 2, "top2_sum")}), ("softmax", {"groups": Groups(4, 3, "max")}),
]


# Three choices of every form; one choice, and all, of the first forms.
@pytest.mark.parametrize("k,score,options", sample([(k, *case) for k in (3, 1, 8) for case in CASES], *range(len(CASES)), *range(len(CASES), len(CASES) + 4), *range(2 * len(CASES), 2 * len(CASES) + 4)))
def test_gate(score, options, k):
    if "groups" in options and k > 8 // options["groups"].count * options["groups"].keep:
        pytest.skip("more choices than competing experts")
    program = graph(f"""
    func.func @main(%l: tensor<?x8xf32>, %b: tensor<8xf32>) -> (tensor<?x{k}xf32>, tensor<?x{k}xi32>) {{
      %w, %e = moe.gate %l bias(%b : tensor<8xf32>) top_k({k}) {gate_text(score, options)}
          : tensor<?x8xf32> -> tensor<?x{k}xf32>, tensor<?x{k}xi32>
      return %w, %e : tensor<?x{k}xf32>, tensor<?x{k}xi32>
    }}""")
    for tokens in (1, 29) if "groups" in options else (0, 1, 29):
        logits, bias = random((tokens, 8)) * 3, random((8,), seed=1)
        weights, ids = program.run([logits, bias], outputs=[np.float32, np.int32], blocks=3)
        expected_ids, expected = gate(logits, k, score_function=score, bias=bias, **options)
        if options.get("renormalization") == "after":
            expected_ids, expected, _ = apply_capacity(expected_ids, expected, 8, None, renormalization="after")
        assert np.array_equal(ids, expected_ids)
        assert_close(weights, expected)


def test_ties_go_to_the_lower_expert_and_top_k_is_clipped():
    program = graph("""
    func.func @main(%l: tensor<?x4xf32>) -> (tensor<?x2xi32>, tensor<?x4xi32>) {
      %w, %e = moe.gate %l top_k(2) score(softmax) : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
      %v, %f = moe.gate %l top_k(7) score(softmax) : tensor<?x4xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
      return %e, %f : tensor<?x2xi32>, tensor<?x4xi32>
    }""")
    logits = np.array([[1, 2, 2, 2], [0, 0, 0, 0], [3, 1, 3, 1], [1, 2, 2, 5]], np.float32)
    two, four = program.run([logits], outputs=[np.int32, np.int32])
    assert two.tolist() == [[1, 2], [0, 1], [0, 2], [3, 1]]
    assert four.tolist() == [[1, 2, 3, 0], [0, 1, 2, 3], [0, 2, 1, 3], [3, 1, 2, 0]]


def test_nan_reaches_the_weights():
    program = graph("""
    func.func @main(%l: tensor<?x4xf32>) -> tensor<?x2xf32> {
      %w, %e = moe.gate %l top_k(2) score(sigmoid) : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
      return %w : tensor<?x2xf32>
    }""")
    [w] = program.run([np.array([[0, 1, np.nan, 2]], np.float32)])
    assert np.isnan(w[0, 0])


@pytest.mark.parametrize("score", ["softmax", "softmax_after"])
@pytest.mark.parametrize("integer", [np.int32, np.int64])
def test_given_ids(integer, score):
    """Row G25: ids from outside; -1 and numbers out of range mean no expert."""
    i_type = tensor((None, 2), integer)
    program = graph(f"""
    func.func @main(%l: tensor<?x5xf32>, %i: {i_type}) -> (tensor<?x2xf32>, tensor<?x2xi32>) {{
      %w, %e = moe.gate %l ids(%i : {i_type}) top_k(2) score({score}) renormalize(sum)
          : tensor<?x5xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
      return %w, %e : tensor<?x2xf32>, tensor<?x2xi32>
    }}""")
    logits = random((5, 5))
    ids = np.array([[0, 1], [4, 2], [-1, 3], [-1, -1], [3, 3]], integer)
    weights, chosen = program.run([logits, ids], outputs=[np.float32, np.int32])
    _, expected = gate(logits, 2, score_function=score, ids=ids, renormalization="sum")
    assert np.array_equal(chosen, ids)
    assert_close(weights, expected)
    _, chosen = program.run([logits[:1], np.array([[5, 1]], integer)], outputs=[np.float32, np.int32])
    assert chosen.tolist() == [[-1, 1]]


FACTORS = [0.0, 0.5, 1.0, 1.25, -0.7]
CAPACITIES = [(mode, factor, rounding) for mode in ("before", "after") for rounding in ("tutel", "deepspeed", "megablocks") for factor in FACTORS]


# Every factor by every rule of rounding, as these meet; when weights are renormalized is another matter: a full and a rounded capacity.
@pytest.mark.parametrize("mode,factor,rounding", sample(CAPACITIES, *range(15), 16, 18))
def test_capacity(mode, factor, rounding):
    program = graph(f"""
    func.func @main(%l: tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>) {{
      %w, %e = moe.gate %l top_k(2) {gate_text("softmax", {"renormalization": mode, "scale": 1.5}, factor, rounding)}
          : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
      return %w, %e : tensor<?x2xf32>, tensor<?x2xi32>
    }}""")
    for tokens in (0, 1, 10, 37):
        logits = random((tokens, 4)) + np.array([2, 0, 0, 0], np.float32)
        weights, ids = program.run([logits], outputs=[np.float32, np.int32], blocks=2)
        chosen, expected = gate(logits, 2, renormalization=mode, scale=1.5)
        chosen, expected, _ = apply_capacity(chosen, expected, 4, factor, rounding, renormalization=mode, scale=1.5)
        assert np.array_equal(ids, chosen)
        assert_close(weights, expected)


def test_slot_major_drops():
    """The example of row C5: first choices before any second choice."""
    program = graph("""
    func.func @main(%l: tensor<?x2xf32>, %i: tensor<?x2xi32>) -> tensor<?x2xi32> {
      %w, %e = moe.gate %l ids(%i : tensor<?x2xi32>) top_k(2) score(softmax) capacity(<6.0e-1, deepspeed>)
          : tensor<?x2xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
      return %e : tensor<?x2xi32>
    }""")
    [ids] = program.run([random((3, 2)), np.array([[0, 1], [1, 0], [0, 1]], np.int32)], outputs=[np.int32])
    assert ids.tolist() == [[0, 1], [1, -1], [0, -1]]


def layer_text(e, h, i, o, k, dtype, gated=True, interleaved=False, bias=False, pre_score=False, parameters=False):
    x, y = tensor((None, h), dtype), tensor((None, o), dtype)
    w1, w2 = tensor((e, i * (2 if gated else 1), h), dtype), tensor((e, o, i), dtype)
    b1, b2 = tensor((e, i * (2 if gated else 1)), dtype), tensor((e, o), dtype)
    logits, weights, ids = tensor((None, e), dtype), tensor((None, k), dtype), tensor((None, k), "i32")
    arguments = f", %b1: {b1}, %b2: {b2}" if bias else ""
    biases = f" bias_in(%b1 : {b1}) bias_out(%b2 : {b2})" if bias else ""
    region = """^bb0(%g: f32, %u: f32):
        %s = nn.silu %g : f32
        %a = arith.mulf %s, %u : f32
        moe.yield %a : f32""" if gated else """^bb0(%v: f32):
        %a = nn.silu %v : f32
        moe.yield %a : f32"""
    early, late = (f" weights(%w : {weights})", "") if pre_score else ("", f" weights(%w : {weights})")
    return f"""
    func.func @main(%x: {x}, %l: {logits}, %w1: {w1}, %w2: {w2}{arguments}) -> {y} {{
      %w, %e = moe.gate %l top_k({k}) score(softmax) renormalize(sum) : {logits} -> {weights}, {ids}
      %rows, %layout = moe.dispatch %x, %e{early} num_experts({e}) : {x}, {ids} -> {x}, !moe.layout<{e}>
      %y = moe.expert %rows, %layout, %w1, %w2{biases}{" gated" if gated else ""}{" interleaved" if interleaved else ""} {{
      {region}
      }} : {x}, !moe.layout<{e}>, {w1}, {w2} -> {y}
      %out = moe.combine %y, %layout{late} : {y}, !moe.layout<{e}> -> {y}
      return %out : {y}
    }}"""


LAYERS = [
    # experts, hidden, intermediate, output, k, form
    (8, 64, 96, 64, 2, {"gated": True}),
    (5, 20, 33, 20, 2, {"gated": True}),
    (4, 13, 7, 13, 4, {"gated": True, "bias": True}),
    (3, 17, 40, 9, 1, {"gated": True, "bias": True, "interleaved": True}),
    (1, 32, 70, 130, 1, {"gated": False}),
    (6, 33, 65, 33, 3, {"gated": False, "bias": True}),
    (4, 16, 24, 16, 2, {"gated": True, "pre_score": True}),
    (20, 16, 24, 16, 20, {"gated": True}),
]


LAYERS_ON = [(*layer, cpu, dtype) for cpu in CPUS for layer in (LAYERS if cpu == "native" else LAYERS[1::2]) for dtype in (np.float32, BF16)]


# In an ordinary run every second layer: the first one and that with biases in both types, each of the others in one.
@pytest.mark.parametrize("e,h,i,o,k,form,cpu,dtype", sample(LAYERS_ON, 0, 1, 4, 5, 8, 13, -1))
def test_layer(e, h, i, o, k, form, dtype, cpu):
    program = graph(layer_text(e, h, i, o, k, dtype, **form), cpu)
    gathers = any(name.startswith("gather") for name in launches(program))
    # Matrix registers want rows that stand below each other.
    assert gathers == (form.get("pre_score", False) or dtype == BF16 and cpu == "native" and host_has("amx_bf16"))
    width = i * (2 if form["gated"] else 1)
    w1, w2 = random((e, width, h), dtype, 1, h**-0.5), random((e, o, i), dtype, 2, i**-0.5)
    biases = [random((e, width), dtype, 3), random((e, o), dtype, 4)] if form.get("bias") else []
    experts = Experts(w1, w2, *biases, activation="silu", gated=form["gated"],
                      interleaved=form.get("interleaved", False))
    for tokens, crowded in ((0, False), (1, False), (7, True), (61, False)):
        x, logits = random((tokens, h), dtype), random((tokens, e), dtype, 5)
        if crowded:
            logits = (logits.astype(np.float32) + 20 * (np.arange(e) == e - 1)).astype(dtype)
        for blocks in (1, 3):
            [y] = program.run([x, logits, w1, w2, *biases], outputs=[dtype], blocks=blocks)
            expected = moe_layer(x, logits, experts, k, renormalization="sum", pre_score=form.get("pre_score", False))
            assert_close(y, expected, dtype)


def test_blocks_do_not_change_bits():
    program = graph(layer_text(8, 64, 96, 64, 2, BF16))
    x, logits = random((43, 64), BF16), random((43, 8), BF16, 5)
    w1, w2 = random((8, 192, 64), BF16, 1, 0.125), random((8, 64, 96), BF16, 2, 0.1)
    results = [program.run([x, logits, w1, w2], outputs=[BF16], blocks=b)[0].view(np.uint16) for b in (1, 2, 5)]
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])
    assert program.experts_reported
