"""Rows X1, X2, V1-V3 and V7-V9 of the feature list."""

import math

import ml_dtypes
import numpy as np
import pytest

from moe_mlir import reference as ref


def weights(experts, hidden, inner, gated=False, bias=True, seed=0):
    rng = np.random.default_rng(seed)
    width = inner * (2 if gated else 1)
    out = dict(
        w_in=rng.normal(size=(experts, width, hidden)) / math.sqrt(hidden),
        w_out=rng.normal(size=(experts, hidden, inner)) / math.sqrt(inner),
    )
    if bias:
        out.update(b_in=rng.normal(size=(experts, width)), b_out=rng.normal(size=(experts, hidden)))
    return out


# Values of the formulas at x = -2, 0.5, 3, to six digits.
@pytest.mark.parametrize(
    "name, expected",
    [
        ("relu", (0, 0.5, 3)),
        ("relu2", (0, 0.25, 9)),
        ("silu", (-0.238406, 0.311230, 2.857722)),
        ("gelu", (-0.045500, 0.345731, 2.995950)),
        ("gelu_tanh", (-0.045402, 0.345714, 2.996363)),
    ],
)
def test_activation_values(name, expected):
    x = np.array([-2, 0.5, 3])
    assert np.allclose(ref.activate(x, name), expected, atol=1e-6)
    up = np.array([0.3, -2, 1])
    pre = np.concatenate([x, up])
    assert np.allclose(ref.activate(pre, name, gated=True), np.array(expected) * up, atol=3e-6)
    mixed = np.stack([x, up], axis=1).ravel()
    assert np.allclose(ref.activate(mixed, name, gated=True, interleaved=True), np.array(expected) * up, atol=3e-6)


def test_clamped_swiglu_values():
    gate, up = np.array([1.0, 9.0, -9.0]), np.array([0.5, -9.0, 9.0])
    expected = [
        1.5 * 1 / (1 + math.exp(-1.702)),
        -6 * 7 / (1 + math.exp(-1.702 * 7)),
        8 * -9 / (1 + math.exp(1.702 * 9)),
    ]
    assert np.allclose(ref.activate(np.concatenate([gate, up]), "swigluoai", gated=True), expected)


def test_any_function_is_an_activation():
    pre = np.random.default_rng(0).normal(size=(4, 10))
    out = ref.activate(pre, lambda g, u: g * u / (1 + np.abs(g)) + 0.37 * u**2, gated=True)
    g, u = pre[:, :5], pre[:, 5:]
    assert np.array_equal(out, g * u / (1 + np.abs(g)) + 0.37 * u**2)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_batched_and_grouped_agree(gated, bias):
    experts = ref.Experts(**weights(4, 9, 5, gated, bias), activation="gelu", gated=gated)
    rng = np.random.default_rng(3)
    for counts in ([3, 3, 3, 3], [0, 7, 1, 2], [0, 0, 0, 0], [0, 12, 0, 0], [129, 127, 0, 1]):
        rows = rng.normal(size=(sum(counts), 9))
        grouped = experts.grouped(rows, counts)
        buffer = np.zeros((4, max(counts), 9))
        for e, (end, count) in enumerate(zip(np.cumsum(counts), counts)):
            buffer[e, :count] = rows[end - count : end]
        batched = experts.batched(buffer)
        assert np.allclose(grouped, np.concatenate([batched[e, :n] for e, n in enumerate(counts)]))


def test_biases_count():
    given = weights(2, 6, 4)
    rows = np.random.default_rng(1).normal(size=(5, 6))
    full = ref.Experts(**given)(1, rows)
    for name in ("b_in", "b_out"):
        assert np.abs(ref.Experts(**{**given, name: None})(1, rows) - full).max() > 0.1
    assert np.allclose(ref.Experts(**{**given, "b_out": None})(1, rows) + given["b_out"][1], full)


def test_bfloat16_storage_rounds_the_inner_row_and_the_result_only():
    given = {k: v.astype(ml_dtypes.bfloat16) for k, v in weights(1, 32, 64, gated=True, bias=False).items()}
    rows = np.random.default_rng(2).normal(size=(40, 32)).astype(ml_dtypes.bfloat16)
    exact = ref.Experts(**given, gated=True)(0, rows)
    stored = ref.Experts(**given, gated=True, storage=ml_dtypes.bfloat16)(0, rows)
    assert np.array_equal(stored, stored.astype(ml_dtypes.bfloat16))
    error = np.linalg.norm(stored - exact) / np.linalg.norm(exact)
    assert 2.0**-10 < error < 2.0**-7


def test_float32_inputs_are_computed_in_float64():
    given = {k: v.astype(np.float32) for k, v in weights(1, 8, 8, bias=False).items()}
    rows = np.ones((1, 8), dtype=np.float32)
    assert ref.Experts(**given)(0, rows).dtype == np.float64
