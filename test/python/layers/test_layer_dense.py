"""D5: layers lowered to dense one-hot products, compiled without any kernel for routing or experts."""

import pytest

from layer_cases import Gate, Layer, Layers

SHAPE = dict(experts=5, hidden=9, inner=7)


@pytest.fixture(scope="module")
def dense():
    layers = [
        Layer("plain", Gate(2, renormalize="sum"), gated=True, **SHAPE),
        Layer("biased", Gate(3, score="sigmoid", bias="f32", scale=2.5), biases=True, activation="relu", **SHAPE),
        Layer("capacity", Gate(2, score="softmax_after", capacity=(0.8, "deepspeed")), pre_score=True, **SHAPE),
        Layer("needed", Gate(2, renormalize="after", capacity=(-1.0, "tutel")), **SHAPE),
        Layer("bf16", Gate(2, dtype="f32"), gated=True, interleaved=True, dtype="bf16", **SHAPE),
    ]
    return Layers(layers, passes=["--moe-lower-to-dense"])


@pytest.mark.parametrize("tokens, routing", [(11, "random"), (11, "one"), (11, "skip"), (1, "random"), (0, "random")])
def test_dense_lowering_equals_the_oracle(dense, tokens, routing):
    dense.check(dense.inputs(tokens, routing))
