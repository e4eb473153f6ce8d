"""The recurrence's oracle: values worked out by hand, and what other forms of the same sums give."""

import numpy as np
import pytest

from moe_mlir import reference as ref


def test_convolution_of_three_columns():
    x, weight = np.array([[[1.0, 2.0, 4.0], [1.0, 0.0, -1.0]]]), np.array([[10.0, 1.0], [0.0, 3.0]])
    expected = [[[1.5, 12.5, 24.5], [3.0, 0.0, -3.0]]]
    assert np.array_equal(ref.causal_conv(x, weight, np.array([0.5, 0.0])), expected)
    y = ref.causal_conv(x, weight, np.array([0.5, 0.0]), "silu")
    assert np.allclose(y, expected / (1 + np.exp(-np.array(expected))), rtol=1e-15)


def test_convolution_is_numpys():
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(2, 3, 11)), rng.normal(size=(3, 4))
    expected = [[np.convolve(x[b, c], weight[c][::-1])[:11] for c in range(3)] for b in range(2)]
    assert np.allclose(ref.causal_conv(x, weight), expected)
    with pytest.raises(ValueError, match="neither empty nor 'silu'"):
        ref.causal_conv(x, weight, activation="gelu")


def test_two_steps_by_hand():
    """Keys (1, 0) and (1, 1), values 3 and 5; the state is halved before each step."""
    key, value = np.array([[1.0, 0.0], [1.0, 1.0]]).reshape(1, 2, 1, 2), np.array([3.0, 5.0]).reshape(1, 2, 1, 1)
    decay, start = np.log(0.5) * np.ones((1, 2, 1)), np.array([2.0, 8.0]).reshape(1, 1, 2, 1)
    query = np.array([[1.0, 10.0], [1.0, 10.0]]).reshape(1, 2, 1, 2)
    out, state = ref.scan(query, key, value, decay, state=start)
    # (2, 8) -> (1, 4) + 3 (1, 0) = (4, 4) -> (2, 2) + 5 (1, 1) = (7, 7)
    assert np.allclose(out.reshape(-1), [44, 77]) and np.allclose(state.reshape(-1), [7, 7])
    out, state = ref.scan(query, key, value, decay, beta=np.full((1, 2, 1), 0.5), state=start)
    # (1, 4): finds 1, takes in (3 - 1) / 2 -> (2, 4) -> (1, 2): finds 3, takes in (5 - 3) / 2 -> (2, 3)
    assert np.allclose(out.reshape(-1), [42, 32]) and np.allclose(state.reshape(-1), [2, 3])
    # Of each row its own decay, and of each element.
    channels = np.log(np.array([[0.5, 0.25], [1.0, 0.5]])).reshape(1, 2, 1, 2)
    assert np.allclose(ref.scan(query, key, value, channels, state=start)[1].reshape(-1), [4 + 5, 1 + 5])
    rates = np.array([1.0, 2.0]).reshape(1, 2, 1)
    elements = ref.scan(query, key, value, decay[..., None], rates, state=start)[1]
    assert np.allclose(elements.reshape(-1), [2 + 5, 0.5 + 5])


def test_sum_is_decayed_attention():
    rng = np.random.default_rng(1)
    b, s, m, n, k, v = 2, 7, 2, 4, 3, 5
    query, key, value = rng.normal(size=(b, s, m, k)), rng.normal(size=(b, s, m, k)), rng.normal(size=(b, s, n, v))
    decay = -rng.random((b, s, n))
    total = decay.cumsum(1)
    weight = np.exp(np.minimum(total[:, :, None] - total[:, None], 0)) * np.tri(s)[None, :, :, None]
    scores = np.einsum("btnk,bsnk->btsn", np.repeat(query, 2, 2), np.repeat(key, 2, 2)) * weight
    assert np.allclose(ref.scan(query, key, value, decay)[0], np.einsum("btsn,bsnv->btnv", scores, value))


def test_delta_rule_replaces():
    """With keys at right angles and beta 1 each key finds the value that it was given last."""
    rng = np.random.default_rng(2)
    key = np.linalg.qr(rng.normal(size=(4, 4)))[0][[0, 1, 2, 3, 1]].reshape(1, 5, 1, 4)
    value = rng.normal(size=(1, 5, 1, 3))
    out, state = ref.scan(key, key, value, np.zeros((1, 5, 1)), beta=np.ones((1, 5, 1)))
    assert np.allclose(out, value)
    assert np.allclose(np.einsum("tk,kv->tv", key[0, :, 0], state[0, 0])[[0, 4, 2, 3]], value[0, [0, 4, 2, 3], 0])
