"""Compiled layers: C10, D4, D12, G25, X2, V1-V3, V7-V9, odd sizes, two CPUs, any number of threads."""

import numpy as np
import pytest

from layer_cases import ACTIVATIONS, GATED_ACTIVATIONS, Gate, Layer, Layers, check_close
from moe_mlir import reference
from moe_mlir.testing.full import sample

MIXTRAL = Gate(2, renormalize="sum")


def shapes(dtype, cpu="native"):
    """Layers with everything odd somewhere; all of them for f32 on the host's CPU, else those whose code differs."""
    top2 = Gate(2, renormalize="sum", dtype=dtype)
    layers = [
        Layer("plain", top2, experts=8, hidden=64, inner=48, gated=True, dtype=dtype),
        Layer("odd", top2, experts=5, hidden=37, inner=29, gated=True, biases=True, dtype=dtype),
        Layer("wide", top2, experts=3, hidden=70, inner=133, activation="relu", dtype=dtype),
        Layer("other_out", top2, experts=4, hidden=24, inner=16, out=41, gated=True, interleaved=True, biases=True,
              dtype=dtype),
        Layer("forced", Gate(2, ids="i64", renormalize="sum", eps=1e-20, dtype=dtype), experts=4, dtype=dtype),
        Layer("pre", top2, experts=4, hidden=20, inner=31, activation="relu", biases=True, pre_score=True, dtype=dtype),
        Layer("alone", Gate(1, score="softmax_after", dtype=dtype), experts=1, hidden=9, inner=7, biases=True,
              dtype=dtype),
        Layer("all", Gate(3, dtype=dtype), experts=3, hidden=33, inner=65, activation="gelu_tanh", dtype=dtype),
        Layer("one_wide", top2, experts=4, hidden=1, inner=1, gated=True, activation="gelu", dtype=dtype),
        Layer("deepseek", Gate(3, score="sigmoid", bias="f32", groups=(4, 2, "top2_sum"), renormalize="sum", eps=1e-20,
                               scale=2.5), experts=16, gated=True, dtype=dtype),
        Layer("outside", None, k=3, experts=6, hidden=18, inner=21, gated=True, activation="swigluoai", dtype=dtype),
    ]
    return layers if (dtype, cpu) == ("f32", "native") else layers[:6]


# The host's own CPU, and the oldest one: other tiles, no bf16 instruction, no masks.
# f16 has the tiles of f32 on both: on the oldest one only in a full run.
TARGETS = sample([("f32", "native"), ("bf16", "native"), ("f32", "x86-64-v3"), ("bf16", "x86-64-v3"), ("f16", "native"), ("f16", "x86-64-v3")], 0, 1, 2, 3, 4)
TOKENS = sample([(0, "random"), (1, "random"), (7, "one"), (50, "random"), (23, "skip")], 0, 2, 4)


@pytest.mark.parametrize("dtype,cpu", TARGETS)
@pytest.mark.parametrize("tokens,routing", TOKENS)
def test_layers_against_the_oracle(dtype, cpu, tokens, routing):
    layers = Layers(shapes(dtype, cpu), cpu)
    layers.check(layers.inputs(tokens, routing, seed=tokens))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_same_bits_for_any_number_of_threads(dtype):
    layers = Layers(shapes(dtype))
    inputs = layers.inputs(50, seed=9)
    first = layers.program.run(inputs, threads=1)
    for threads in (1, 2, 5):
        again = layers.program.run(inputs, threads)
        for name, value in first.items():
            assert value.tobytes() == again[name].tobytes(), f"{name} with {threads} threads"


def test_rows_do_not_depend_on_other_tokens():
    """A token's bits are the same alone and among others, whatever tile it falls into (dropless)."""
    layers = Layers(shapes("f32"))
    inputs = layers.inputs(13, seed=10)
    together = layers.program.run(inputs)
    for token in (0, 6, 12):
        alone = dict(inputs)
        for name in inputs:
            if name.endswith(("_x", "_logits", "_ids", "_weights")):
                alone[name] = inputs[name][token : token + 1]
        for name, value in layers.program.run(alone).items():
            assert np.array_equal(value[0], together[name][token]), name


def test_dropless_equals_the_definition():
    """C10: each token through each of its experts, without any dispatch; -1 among the given ids."""
    layers = Layers(shapes("f32"))
    for routing in ("random", "one", "skip"):
        inputs = layers.inputs(19, routing, seed=11)
        inputs["outside_ids"][::3, 1] = -1
        inputs["outside_ids"][5] = -1
        inputs["forced_ids"][::4, 0] = -1
        out = layers.check(inputs)
        for name in ("plain", "odd", "outside", "forced"):
            layer = layers.layers[name]
            ids, weights = layer.route(inputs)
            expected = reference.moe_layer_by_token(inputs[f"{name}_x"], ids, weights, layer.oracle(inputs))
            check_close(out[f"{name}_y"], expected, name)
        assert not out["outside_y"][5].any()


# ---- D4 --------------------------------------------------------------------------------------------------------------


def test_pre_and_post_score():
    """Equal for linear experts, different for ReLU with biases."""
    pairs = [Layer(f"{activation}_{when}", MIXTRAL, experts=4, hidden=16, inner=24, activation=activation,
                   biases=activation == "relu", pre_score=when == "pre")
             for activation in ("identity", "relu") for when in ("pre", "post")]
    layers = Layers(pairs)
    inputs = layers.inputs(20)
    for activation in ("identity", "relu"):
        for name in [name for name in inputs if name.startswith(f"{activation}_pre_")]:
            inputs[name.replace("_pre_", "_post_")] = inputs[name]
    out = layers.check(inputs)
    check_close(out["identity_pre_y"], out["identity_post_y"].astype(np.float64))
    assert np.abs(out["relu_pre_y"] - out["relu_post_y"]).max() > 0.1


# ---- X2 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_row_counts_around_a_block(dtype):
    """0, 1, 127 and 129 rows per expert, in any order of tokens."""
    layers = Layers([Layer("ragged", None, k=1, experts=5, hidden=40, inner=72, gated=True, dtype=dtype)])
    inputs = layers.inputs(257)
    ids = np.repeat([1, 2, 4], [1, 127, 129])
    inputs["ragged_ids"] = np.random.default_rng(0).permutation(ids).astype(np.int32)[:, None]
    layers.check(inputs)


# ---- V7, V8 ----------------------------------------------------------------------------------------------------------


def activation_layers():
    shape = dict(experts=2, hidden=16, inner=40)
    return Layers([Layer(name, MIXTRAL, activation=name, **shape) for name in ACTIVATIONS] +
                  [Layer(f"gated_{name}", MIXTRAL, activation=name, gated=True, **shape)
                   for name in GATED_ACTIVATIONS])


@pytest.mark.parametrize("scale", [1, 30])
def test_activations(scale):
    """Also where exponentials and squares are large, and the clamps of swigluoai bite."""
    layers = activation_layers()
    inputs = layers.inputs(11)
    for name in inputs:
        if name.endswith("_x"):
            inputs[name] *= np.float32(scale)
    layers.check(inputs)


# ---- V3 --------------------------------------------------------------------------------------------------------------


def test_bf16_layer_with_f32_routing():
    """Weights of an f32 gate reach the combine unrounded: the result is nearer to the oracle than bf16 weights allow."""
    layers = Layers([Layer("mixed", MIXTRAL, experts=4, hidden=32, inner=24, gated=True, dtype="bf16")])
    inputs = layers.inputs(64)
    out = layers.check(inputs)["mixed_y"].astype(np.float64)
    layer = layers.layers["mixed"]
    ids, weights = layer.route(inputs)
    experts = layer.oracle(inputs)
    rows, counts = reference.dispatch_rows(inputs["mixed_x"].astype(np.float64), ids, 4)
    rounded = weights.astype("bfloat16").astype(np.float64)

    def error(values):
        return np.linalg.norm(out - reference.combine_rows(experts.grouped(rows, counts), ids, 4, values))

    assert error(weights) < 0.9 * error(rounded)
