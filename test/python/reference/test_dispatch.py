"""Rows D4, D5 and D12 of the feature list: three forms of dispatch and combine agree."""

import numpy as np
import pytest

from moe_mlir import reference as ref

SHAPES = [(0, 4, 2), (1, 1, 1), (1, 5, 3), (13, 4, 2), (16, 3, 3), (31, 7, 1)]


def routing(tokens, experts, k, seed=0):
    rng = np.random.default_rng(seed)
    ids = rng.permuted(np.tile(np.arange(experts), (tokens, 1)), axis=1)[:, :k]
    return rng.normal(size=(tokens, 9)), ids, rng.random((tokens, k))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("factor", [None, 0.5, -0.7])
@pytest.mark.parametrize("pre_score", [False, True])
def test_three_forms_agree(shape, factor, pre_score):
    tokens, experts, k = shape
    x, ids, weights = routing(*shape)
    ids, weights, rows = ref.apply_capacity(ids, weights, experts, factor)
    first, second = (weights, None) if pre_score else (None, weights)

    buffer = ref.dispatch_buffer(x, ids, experts, rows, first)
    ragged, counts = ref.dispatch_rows(x, ids, experts, first)
    mask_in, mask_out = ref.dense_mask(ids, experts, rows, first), ref.dense_mask(ids, experts, rows, second)
    assert np.allclose(ref.dense_dispatch(x, mask_in), buffer)
    # The rows of an expert are the same set; the buffer holds them in slot-major order.
    for expert, begin in enumerate(np.cumsum(counts) - counts):
        in_order = sorted(map(tuple, ragged[begin : begin + counts[expert]]))
        assert np.allclose(in_order, sorted(map(tuple, buffer[expert, : counts[expert]])))
        assert not buffer[expert, counts[expert] :].any()

    out = ref.combine_buffer(buffer, ids, second)
    assert np.allclose(out, ref.combine_rows(ragged, ids, experts, second))
    assert np.allclose(out, ref.dense_combine(buffer, mask_out))
    assert np.allclose(out, x * weights.sum(axis=1, keepdims=True))


def test_score_position_is_free_for_linear_experts_only():
    x, ids, weights = routing(20, 4, 2)
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(20, 4))
    w_in, w_out = rng.normal(size=(4, 6, 9)), rng.normal(size=(4, 9, 6))
    linear = ref.Experts(w_in, w_out, activation=lambda h: h)
    bent = ref.Experts(w_in, w_out, b_in=rng.normal(size=(4, 6)), activation="relu")
    for experts, equal in ((linear, True), (bent, False)):
        post = ref.moe_layer(x, logits, experts, 2)
        assert np.allclose(post, ref.moe_layer(x, logits, experts, 2, pre_score=True)) == equal


def test_a_token_without_rows_gives_exact_zeros():
    x, ids, weights = routing(6, 3, 2)
    ids[2] = -1
    rows, counts = ref.dispatch_rows(x, ids, 3)
    out = ref.combine_rows(rows, ids, 3, weights)
    assert counts.sum() == 10 and (out[2] == 0).all() and (out[[0, 1, 3, 4, 5]] != 0).all()


def test_rows_are_ordered_by_expert_then_token():
    pairs, counts = ref.sort_pairs(np.array([[2, 0], [0, 2], [-1, 2]]), 4)
    assert pairs.tolist() == [[0, 1], [1, 0], [0, 0], [1, 1], [2, 1]]
    assert counts.tolist() == [2, 0, 3, 0]
