"""Rows C1-C3, C5, C6, C10 and C13 of the feature list."""

import numpy as np
import pytest

from moe_mlir.reference import apply_capacity, capacity, locations, needed_capacity

GOLDEN_IDS = np.array([[0, 1], [1, 0], [0, 1]])


# T = 10, E = 4.
@pytest.mark.parametrize(
    "k, factor, rounding, expected",
    [
        (1, 1.25, "tutel", 3),
        (1, 1.25, "deepspeed", 4),
        (1, 1.25, "megablocks", 3),
        (1, 1.25, "paper", 3.125),
        (2, 1.0, "tutel", 6),
        (2, 1.0, "deepspeed", 5),
        (2, 1.0, "megablocks", 5),
        (2, 1.0, "paper", 5.0),
    ],
)
def test_rounding_golden(k, factor, rounding, expected):
    assert capacity(10, 4, k, factor, rounding, needed=9) == expected


@pytest.mark.parametrize("factor, expected", [(-1.5, 8), (-4, 9), (0, 9), (0.0, 9)])
def test_zero_and_negative_factors_golden(factor, expected):
    assert capacity(10, 4, 2, factor, "tutel", needed=9) == expected


def test_slot_major_order_golden():
    assert locations(GOLDEN_IDS, 2).tolist() == [[0, 1], [0, 2], [1, 2]]
    kept, _, rows = apply_capacity(GOLDEN_IDS, np.ones((3, 2)), 2, -0.5, "tutel")
    assert rows == 2
    # Token-major order would drop (2, 0) and (2, 1).
    assert np.argwhere(kept < 0).tolist() == [[1, 1], [2, 1]]


def test_needed_counts_before_any_drop():
    assert needed_capacity(GOLDEN_IDS, 2) == 3
    assert needed_capacity(np.full((3, 2), -1), 2) == 0
    assert needed_capacity(np.zeros((0, 2), dtype=int), 2) == 0
    assert needed_capacity(np.zeros((7, 1), dtype=int), 4) == 7


def test_zero_is_a_value_and_drops_nothing():
    rng = np.random.default_rng(0)
    for _ in range(20):
        ids = rng.integers(-1, 4, size=(13, 3))
        for factor in (None, 0, 0.0):
            kept, weights, rows = apply_capacity(ids, np.ones(ids.shape), 4, factor)
            assert np.array_equal(kept, ids) and rows == np.bincount(ids[ids >= 0], minlength=4).max()
            assert np.array_equal(weights, ids >= 0)
    # A factor that is given is used, however small.
    assert apply_capacity(ids, np.ones(ids.shape), 4, 1e-9)[2] == 0


def test_no_expert_takes_more_rows_than_the_capacity():
    rng = np.random.default_rng(1)
    for rounding in ("tutel", "deepspeed", "megablocks"):
        for factor in (0.3, 1.0, 1.25, -0.5):
            ids = rng.permuted(np.tile(np.arange(5), (17, 1)), axis=1)[:, :2]
            ids[:9] = [3, 1]
            kept, weights, rows = apply_capacity(ids, rng.random(ids.shape), 5, factor, rounding)
            counts = np.bincount(kept[kept >= 0], minlength=5)
            assert np.array_equal(counts, np.minimum(np.bincount(ids.ravel(), minlength=5), rows))
            assert (weights[kept < 0] == 0).all()


def test_missing_ids_take_no_row():
    ids = np.array([[-1, 0], [0, -1], [-1, 0]])
    assert locations(ids, 1).tolist() == [[-1, 1], [0, -1], [-1, 2]]


def test_unknown_rounding_is_refused():
    with pytest.raises(ValueError, match="rounding 'up'"):
        capacity(10, 4, 1, 1.0, "up", needed=3)
