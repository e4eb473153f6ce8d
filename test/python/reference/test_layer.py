"""The whole layer against its definition, one token at a time (rows C10, D12)."""

import numpy as np
import pytest

from moe_mlir import reference as ref


def layer(tokens, hidden, inner, experts, seed=0, gated=True):
    rng = np.random.default_rng(seed)
    width = 2 * inner if gated else inner
    return (
        rng.normal(size=(tokens, hidden)),
        rng.normal(size=(tokens, experts)),
        ref.Experts(
            rng.normal(size=(experts, width, hidden)) / np.sqrt(hidden),
            rng.normal(size=(experts, hidden, inner)) / np.sqrt(inner),
            b_in=rng.normal(size=(experts, width)),
            b_out=rng.normal(size=(experts, hidden)),
            gated=gated,
        ),
    )


@pytest.mark.parametrize("tokens", [0, 1, 2, 33])
@pytest.mark.parametrize("hidden, inner", [(8, 8), (7, 13), (1, 1), (30, 3)])
@pytest.mark.parametrize("experts, k", [(1, 1), (4, 2), (4, 4), (9, 3)])
def test_dropless_layer_equals_the_loop_over_tokens(tokens, hidden, inner, experts, k):
    x, logits, weights = layer(tokens, hidden, inner, experts)
    ids, gates = ref.gate(logits, k, renormalization="sum")
    expected = ref.moe_layer_by_token(x, ids, gates, weights)
    assert np.allclose(ref.moe_layer(x, logits, weights, k, renormalization="sum"), expected)
    assert np.allclose(ref.moe_layer(x, logits, weights, k, renormalization="sum", factor=0), expected)


@pytest.mark.parametrize("target", [0, 3])
def test_all_tokens_on_one_expert(target):
    x, logits, weights = layer(21, 6, 5, 4)
    logits[:, target] += 100
    out = ref.moe_layer(x, logits, weights, 1)
    assert np.allclose(out, weights(target, x))


def test_empty_experts_change_nothing():
    x, logits, weights = layer(12, 6, 5, 6)
    logits[:, [0, 2, 5]] = -1e9
    ids, gates = ref.gate(logits, 2, renormalization="sum")
    assert set(ids.ravel()) <= {1, 3, 4}
    assert np.allclose(
        ref.moe_layer(x, logits, weights, 2, renormalization="sum"), ref.moe_layer_by_token(x, ids, gates, weights)
    )


@pytest.mark.parametrize("mode", ["none", "sum", "before", "after", "pnorm"])
def test_dropped_pairs_add_nothing(mode):
    x, logits, weights = layer(16, 6, 5, 4)
    logits[:, 1] += 4
    out = ref.moe_layer(x, logits, weights, 2, factor=0.5, renormalization=mode, scale=1.5)
    ids, gates = ref.gate(logits, 2, renormalization=mode, scale=1.5)
    ids, gates, rows = ref.apply_capacity(ids, gates, 4, 0.5, renormalization=mode, scale=1.5)
    assert rows == 4 and (ids < 0).any() and (ids < 0).all(axis=1).any()
    assert np.allclose(out, ref.moe_layer_by_token(x, ids, gates, weights))
    assert (out[(ids < 0).all(axis=1)] == 0).all()
    if mode == "after":
        assert np.allclose(gates.sum(axis=1)[(ids >= 0).any(axis=1)], 1.5)


def test_permuting_tokens_permutes_the_result():
    x, logits, weights = layer(17, 6, 5, 4)
    order = np.random.default_rng(5).permutation(17)
    out = ref.moe_layer(x, logits, weights, 2)
    assert np.allclose(ref.moe_layer(x[order], logits[order], weights, 2), out[order])


def test_the_order_of_a_sum_is_no_part_of_its_value():
    x, logits, weights = layer(17, 6, 5, 8)
    for pre_score in (False, True):
        out = ref.moe_layer(x, logits, weights, 3, pre_score=pre_score)
        assert np.allclose(ref.moe_layer(x, logits, weights, 3, pre_score=pre_score, groups=4), out)
