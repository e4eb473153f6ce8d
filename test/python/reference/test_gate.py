"""Rows G1, G3-G8 and G25 of the feature list."""

import numpy as np
import pytest

from moe_mlir.reference import Groups, apply_capacity, gate, renormalize, top_k


def logits_of(tokens, experts, seed=0):
    return np.random.default_rng(seed).normal(size=(tokens, experts)) * 3


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 11])
def test_any_k_clips_to_the_number_of_experts(k):
    logits = logits_of(40, 8)
    ids, weights = gate(logits, k)
    assert ids.shape == weights.shape == (40, min(k, 8))
    assert np.array_equal(ids, np.argsort(-logits, axis=1)[:, :k])
    if k >= 8:
        assert np.allclose(weights.sum(axis=1), 1)


def test_lower_expert_wins_ties():
    assert top_k(np.array([[1.0, 3, 3, 2, 3]]), 3).tolist() == [[1, 2, 4]]
    assert top_k(np.zeros((1, 4)), 4).tolist() == [[0, 1, 2, 3]]


def test_order_of_softmax_matters_only_without_renormalization():
    logits = logits_of(50, 8)
    before, after = gate(logits, 3), gate(logits, 3, score_function="softmax_after")
    assert np.array_equal(before[0], after[0])
    assert np.abs(before[1] - after[1]).max() > 0.01
    assert np.allclose(gate(logits, 3, renormalization="sum")[1], after[1])
    assert np.allclose(after[1].sum(axis=1), 1)


# Golden values: weights (0.6, 0.2), nothing dropped, then slot 1 dropped.
@pytest.mark.parametrize(
    "mode, full, dropped",
    [
        ("none", (0.6, 0.2), 0.6),
        ("before", (0.75, 0.25), 0.75),
        ("after", (0.75, 0.25), 1.0),
        ("pnorm", (0.94868, 0.31623), 0.94868),
    ],
)
def test_renormalization_golden(mode, full, dropped):
    # Two tokens choose experts 0 and 1, one row each: with one row per expert the second token's pairs are dropped.
    weights = np.array([[0.6, 0.2], [0.6, 0.2]])
    early = weights if mode == "after" else renormalize(weights, mode, p=2)
    _, kept, _ = apply_capacity(np.array([[0, 1], [2, 3]]), early, 4, None, renormalization=mode)
    assert np.allclose(kept, [full, full], atol=5e-6)
    _, kept, rows = apply_capacity(np.array([[1, 2], [0, 1]]), early, 4, -0.5, renormalization=mode)
    assert rows == 0 and np.array_equal(kept, np.zeros((2, 2)))
    ids, kept, rows = apply_capacity(np.array([[0, 2], [1, 2]]), early, 3, 1.0, "megablocks", renormalization=mode)
    assert rows == 1 and ids.tolist() == [[0, 2], [1, -1]]
    assert np.allclose(kept, [full, (dropped, 0)], atol=5e-6)


def test_sum_renormalization_applies_to_one_expert_and_adds_eps():
    assert renormalize(np.array([[0.3]]), "sum").tolist() == [[1.0]]
    assert np.allclose(renormalize(np.array([[0.3]]), "sum", eps=0.1), 0.75)
    assert renormalize(np.array([[0.3]]), "before").tolist() == [[0.3]]


def test_before_and_after_clamp_the_sum_at_the_machine_epsilon():
    tiny = np.full((1, 2), 1e-12)
    for mode in ("before", "after"):
        assert np.allclose(renormalize(tiny, mode), 1e-12 / np.finfo(np.float32).eps)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_pnorm(p):
    weights = gate(logits_of(9, 6), 4, renormalization="pnorm", p=p)[1]
    assert np.allclose((weights**p).sum(axis=1), 1)


def test_gate_in_float32_keeps_what_bfloat16_would_merge():
    import ml_dtypes

    logits = np.array([[1.0, 1.001]])
    assert gate(logits, 1, dtype=np.float32)[0].tolist() == [[1]]
    assert gate(logits.astype(ml_dtypes.bfloat16), 1, dtype=np.float32)[0].tolist() == [[0]]


@pytest.mark.parametrize(
    "function, expected",
    [
        ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
        ("sqrt_softplus", lambda x: np.sqrt(np.log1p(np.exp(x)))),
        ("softmax", lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)),
    ],
)
def test_score_functions(function, expected):
    logits = logits_of(30, 7)
    ids, weights = gate(logits, 7, score_function=function)
    assert np.allclose(weights, np.take_along_axis(expected(logits), ids, axis=1))


@pytest.mark.parametrize("function", ["softmax", "softmax_after", "sigmoid", "sigmoid_after", "sqrt_softplus"])
def test_scores_of_large_logits_are_finite(function):
    _, weights = gate(np.array([[1e4, -1e4, 0.0]]), 3, score_function=function)
    assert np.isfinite(weights).all()


def test_bias_changes_the_choice_and_not_the_weights():
    logits = logits_of(64, 16)
    bias = np.random.default_rng(1).normal(size=16)
    plain = gate(logits, 4, score_function="sigmoid")
    biased = gate(logits, 4, score_function="sigmoid", bias=bias)
    assert not np.array_equal(plain[0], biased[0])
    scores = 1 / (1 + np.exp(-logits))
    assert np.allclose(biased[1], np.take_along_axis(scores, biased[0], axis=1))


def test_groups_limit_the_experts_of_a_token():
    logits = logits_of(200, 64)
    options = dict(score_function="sigmoid", renormalization="sum", eps=1e-20, scale=2.5)
    ids, weights = gate(logits, 8, groups=Groups(8, 4), **options)
    assert max(len(set(row // 8)) for row in ids) <= 4
    assert len({tuple(sorted(set(row // 8))) for row in gate(logits, 8, **options)[0]}) > 4
    assert np.allclose(weights.sum(axis=1), 2.5)


def test_group_scores():
    # Group 0 has the largest score, group 1 the largest sum of two.
    logits = np.array([[0.9, -9, 0.6, 0.5]])
    for kind, expected in (("max", [0, 1]), ("top2_sum", [2, 3])):
        assert gate(logits, 2, score_function="sigmoid", groups=Groups(2, 1, kind))[0].tolist() == [expected]


def test_ids_from_outside_are_weighed_by_the_logits():
    logits = logits_of(20, 6)
    ids = np.random.default_rng(2).permuted(np.tile(np.arange(6), (20, 1)), axis=1)[:, :3]
    chosen, weights = gate(logits, 3, ids=ids, renormalization="sum")
    scores = np.exp(np.take_along_axis(logits, ids, axis=1))
    assert np.array_equal(chosen, ids)
    assert np.allclose(weights, scores / scores.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("function", ["softmax", "softmax_after", "sigmoid", "sigmoid_after", "sqrt_softplus"])
@pytest.mark.parametrize("mode", ["none", "sum", "before", "pnorm"])
def test_missing_ids_have_no_weight(function, mode):
    ids = np.array([[2, -1], [-1, -1], [0, 1]])
    _, weights = gate(logits_of(3, 4), 2, ids=ids, score_function=function, renormalization=mode)
    assert (weights[ids < 0] == 0).all() and (weights[ids >= 0] > 0).all()
    if mode == "sum":
        assert np.allclose(weights.sum(axis=1), [1, 0, 1])


@pytest.mark.parametrize("tokens", [0, 1])
@pytest.mark.parametrize("experts", [1, 3])
def test_few_tokens_and_experts(tokens, experts):
    ids, weights = gate(logits_of(tokens, experts), experts, renormalization="sum")
    assert ids.shape == (tokens, experts) and np.allclose(weights.sum(axis=1), 1)


def test_unknown_names_are_refused():
    logits = logits_of(2, 4)
    with pytest.raises(ValueError, match="score function 'tanh'"):
        gate(logits, 1, score_function="tanh")
    with pytest.raises(ValueError, match="renormalisation 'max'"):
        gate(logits, 1, renormalization="max")
    with pytest.raises(ValueError, match="4 experts do not divide into 3 groups"):
        gate(logits, 1, groups=Groups(3, 1))
