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


def rows_of(tokens, experts, k):
    x, ids, weights = routing(tokens, experts, k)
    rows, _ = ref.dispatch_rows(x.astype(np.float32), ids, experts)
    return rows, ids, weights.astype(np.float32)


def test_a_tree_of_one_range_is_the_slot_order():
    rows, ids, weights = rows_of(31, 8, 3)
    ids[4, 1] = ids[7] = -1
    rows = rows[: (ids >= 0).sum()]
    assert (ref.combine_tree(rows, ids, 8, 1, weights) == ref.combine_rows(rows, ids, 8, weights)).all()
    assert np.allclose(ref.combine_tree(rows, ids, 8, 4), ref.combine_rows(rows, ids, 8))


def test_the_order_of_a_tree():
    """In f32 1 is lost beside 2**24. Slots 1, 2**24, -2**24 of experts 0, 2, 3: only a tree over two ranges or more keeps 1."""
    big = np.float32(2**24)
    rows, ids = np.array([[1], [big], [-big]], dtype=np.float32), np.array([[0, 2, 3]])
    assert [ref.combine_tree(rows, ids, 4, groups).item() for groups in (1, 2, 4)] == [0, 1, 1]
    # Slots 2**24, 1, -2**24 of experts 0, 1, 0: a range of both loses 1.
    rows, ids = np.array([[big], [-big], [1]], dtype=np.float32), np.array([[0, 1, 0]])
    assert [ref.combine_tree(rows, ids, 4, groups).item() for groups in (1, 2, 4)] == [0, 0, 1]


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_a_tree_does_not_show_the_number_of_ranks(ranks):
    """Each rank sums the pairs of its experts as a smaller tree; the ranks' sums are added in pairs."""
    rows, ids, weights = rows_of(40, 16, 6)
    owned = 16 // ranks
    pairs, _ = ref.sort_pairs(ids, 16)
    owner = ids[pairs[:, 0], pairs[:, 1]] // owned
    sums = []
    for rank in range(ranks):
        local = np.where(ids // owned == rank, ids - rank * owned, -1)
        sums.append(ref.combine_tree(rows[owner == rank], local, owned, 8 // ranks, weights))
    assert (ref.add_in_pairs(np.stack(sums)) == ref.combine_tree(rows, ids, 16, 8, weights)).all()
    assert (ref.combine_tree(rows, ids, 16, 8, weights) != ref.combine_rows(rows, ids, 16, weights)).any()
