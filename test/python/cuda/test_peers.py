"""What compiled layers are compared with on a GPU, on PyTorch's CPU: it computes the layer, in every form that the cases have."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from gpu_check import exact, peers, reference  # noqa: E402
from gpu_check.cases import MODELS, fractions, weights_of  # noqa: E402

FORMS = sorted({replace(layer, H=96, I=64, E=6, k=2) for layer in MODELS.values()}, key=repr)


@pytest.mark.parametrize("layer", FORMS, ids=lambda layer: "clamped" if layer.clamped else "silu")
def test_peers_compute_the_layer(layer):
    random = np.random.default_rng(3)
    # Large enough that clamps bite.
    draws = {name: 4 * array for name, array in weights_of(layer, random, fractions).items()}
    weights = {name: torch.from_numpy(array).to(torch.bfloat16) for name, array in draws.items()}
    x = torch.from_numpy(fractions(random, (40, layer.H)) * np.float32(layer.H**0.5)).to(torch.bfloat16)
    y, terms, clear = exact.exact_layer(layer, weights, x)
    assert clear.sum() > len(x) / 2
    expected = reference.forward(x.float().numpy(), {name: w.float().numpy() for name, w in weights.items()}, layer)
    for ours, theirs in zip((y, terms), expected):
        np.testing.assert_allclose(ours[clear].numpy(), theirs[clear.numpy()], rtol=1e-9, atol=1e-9)
    # PyTorch rounds what stands between the products to bf16 several times.
    error = (peers.GroupedMm(layer, weights)(x).double() - y).abs() / (reference.BOUND["bf16"] * terms)
    assert float(error[clear].max()) <= 2


def test_forms_differ():
    """A test of the test: a layer without the biases and the activation of the other is far outside the bound."""
    layer = FORMS[-1]
    assert layer.clamped
    random = np.random.default_rng(3)
    weights = {name: 4 * array.astype(np.float64) for name, array in weights_of(layer, random, fractions).items()}
    x = fractions(random, (40, layer.H)) * layer.H**0.5
    y, terms = reference.forward(x, weights, layer)
    plain = {name: weights[name] for name in ("router", "w_in", "w_out")}
    for changed, others in ((replace(layer, clamped=False), weights), (layer, plain)):
        assert reference.worst(reference.forward(x, others, changed)[0], y, terms) > 10
