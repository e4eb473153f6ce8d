"""Recurrent operators of an exported program: the recurrence step by step in NumPy, cut anywhere, saved and restored.

All kinds are one executable, whose states are inputs and outputs, so that a call goes on from any state that was kept.
"""

import numpy as np
import pytest
import torch

from moe_mlir import ops, reference

from op_program import Operators

BATCH, STEPS = 3, 70  # more than a chunk of any form of the sum
HEADS, KEY_HEADS, K, V, TAPS = 4, 2, 16, 12, 4
DECAYS = {"heads": (), "channels": (K,), "elements": (V,)}
KINDS = [f"{decay}_{rule}" for decay in DECAYS for rule in ("sum", "delta")]
KEPT = {**dict.fromkeys(KINDS, (HEADS, K, V)), "convolution": (5, TAPS - 1)}
FUNCTIONS = {
    "heads_sum": lambda query, key, value, heads, heads_sum: ops.scan(query, key, value, heads, None, None, heads_sum),
    "heads_delta": lambda query, key, value, heads, beta, heads_delta: ops.scan(query, key, value, heads, None, beta, heads_delta),
    "channels_sum": lambda query, key, value, channels, channels_sum: ops.scan(query, key, value, channels, None, None, channels_sum),
    "channels_delta": lambda query, key, value, channels, beta, channels_delta: ops.scan(
        query, key, value, channels, None, beta, channels_delta),
    "elements_sum": lambda query, key, value, elements, rates, elements_sum: ops.scan(
        query, key, value, elements, rates, None, elements_sum),
    "elements_delta": lambda query, key, value, elements, rates, beta, elements_delta: ops.scan(
        query, key, value, elements, rates, beta, elements_delta),
    "convolution": lambda columns, taps, bias, convolution: convolve(columns, taps, bias, convolution),
}
# Which dimension of an input runs along the sequence.
SEQUENCE = {"query": 1, "key": 1, "value": 1, "beta": 1, **dict.fromkeys(DECAYS, 1), "columns": 2}


def convolve(columns, taps, bias, window):
    """With the columns before those of the call, as a cache keeps them."""
    all_columns = torch.cat([window, columns], dim=2)
    result = ops.causal_conv(all_columns, taps, bias, "silu")
    return result[:, :, window.shape[2] :], all_columns[:, :, -window.shape[2] :]


def draw(batch, steps, seed=0):
    """Inputs of so many steps; of unit keys, and of decays that let a state be seen for some ten steps."""
    rng = np.random.default_rng(seed)
    shapes = {"query": (KEY_HEADS, K), "key": (KEY_HEADS, K), "value": (HEADS, V), "beta": (HEADS,)}
    inputs = {name: rng.standard_normal((batch, steps, *shape)) for name, shape in shapes.items()}
    inputs["key"] /= np.linalg.norm(inputs["key"], axis=-1, keepdims=True)
    inputs["beta"] = 1 / (1 + np.exp(-inputs["beta"]))
    inputs |= {name: -0.1 * rng.exponential(size=(batch, steps, HEADS, *shape)) for name, shape in DECAYS.items()}
    inputs |= {"columns": rng.standard_normal((batch, 5, steps)), "rates": rng.exponential(size=(HEADS, K, V)),
               "taps": rng.standard_normal((5, TAPS)), "bias": rng.standard_normal(5)}
    return {name: value.astype(np.float32) for name, value in inputs.items()}


def zeros(batch):
    return {name: np.zeros((batch, *shape), np.float32) for name, shape in KEPT.items()}


def part(inputs, begin, end):
    return {name: np.take(x, range(begin, end), SEQUENCE[name]) if name in SEQUENCE else x for name, x in inputs.items()}


def reference_rows(inputs, state):
    """name -> (rows, state after them) in float64, step by step."""
    found = {}
    for kind in KINDS:
        decay, rule = kind.split("_")
        rates, beta = inputs["rates"] if decay == "elements" else None, inputs["beta"] if rule == "delta" else None
        found[kind] = reference.scan(inputs["query"], inputs["key"], inputs["value"], inputs[decay], rates, beta, state[kind])
    columns = np.concatenate([state["convolution"], inputs["columns"]], axis=2)
    rows = reference.causal_conv(columns, inputs["taps"], inputs["bias"], "silu")[:, :, TAPS - 1 :]
    found["convolution"] = rows, columns[:, :, -(TAPS - 1) :]
    return found


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    """Function: inputs, states -> rows and states of every kind."""
    inputs = {name: torch.from_numpy(value) for name, value in {**draw(2, 6), **zeros(2)}.items()}
    whole = {"rates", "taps", "bias"}
    dynamic = {name: (0, SEQUENCE[name]) if name in SEQUENCE else (0,) for name in inputs if name not in whole}
    compiled = Operators(FUNCTIONS, inputs, dynamic, tmp_path_factory.mktemp("recurrences"))

    def run(inputs, states):
        given = {compiled.input_names[name]: value for name, value in {**inputs, **states}.items()}
        outputs = compiled.executable.run(given)
        return tuple({name: outputs[compiled.output_names[f"{name}.{i}"]] for name in KEPT} for i in (0, 1))

    with compiled.executable:
        yield run


def assert_near(found, expected, what):
    for name, value in expected.items():
        difference, largest = np.abs(found[name] - value).max(initial=0), np.abs(value).max(initial=0)
        assert found[name].shape == value.shape and difference <= 1e-5 * largest, f"{what}, {name}: {difference:.3g} of {largest:.3g}"


def in_pieces(call, inputs, sizes, states):
    """Rows of all pieces together, and the states after the last."""
    parts, begin = [], 0
    for size in sizes:
        rows, states = call(part(inputs, begin, begin + size), states)
        parts.append(rows)
        begin += size
    return {name: np.concatenate([rows[name] for rows in parts], 2 if name == "convolution" else 1) for name in KEPT}, states


@pytest.mark.parametrize("steps", [1, 2, TAPS - 1, STEPS, 3 * STEPS])
def test_golden_values(call, steps):
    inputs = draw(BATCH, steps, seed=steps)
    states = {name: np.random.default_rng(7).standard_normal(x.shape).astype(np.float32) for name, x in zeros(BATCH).items()}
    expected = reference_rows(inputs, states)
    for place, found in enumerate(call(inputs, states)):
        assert_near(found, {name: values[place] for name, values in expected.items()}, f"{steps} steps")


def test_every_cut(call):
    inputs = draw(BATCH, STEPS)
    whole, after = call(inputs, zeros(BATCH))
    others = [(1,) * STEPS, (63, 1, 6), (64, 6), (1, 64, 5), (16, 16, 16, 16, 6), (3, 30, 2, 1, 34)]
    for sizes in [*((cut, STEPS - cut) for cut in range(1, STEPS)), *others]:
        rows, states = in_pieces(call, inputs, sizes, zeros(BATCH))
        assert_near(rows, whole, sizes)
        assert_near(states, after, sizes)
    # A state that were lost at a cut would be seen in the row behind it.
    forgotten, _ = call(part(inputs, 35, STEPS), zeros(BATCH))
    for name in KEPT:
        axis = 2 if name == "convolution" else 1
        row = whole[name].take(35, axis)
        assert np.abs(forgotten[name].take(0, axis) - row).max() > 0.01 * np.abs(row).max(), name


def test_a_state_is_saved_and_restored(call):
    inputs = draw(BATCH, STEPS, seed=1)
    _, saved = call(part(inputs, 0, 41), zeros(BATCH))
    kept = {name: value.copy() for name, value in saved.items()}
    results = []
    for between in (None, 5, 66):  # other work before it
        if between:
            call(draw(2, between, seed=2), zeros(2))
        results.append(call(part(inputs, 41, STEPS), saved))
    for result in results[1:]:
        for name in KEPT:
            assert [x[name].tobytes() for x in result] == [x[name].tobytes() for x in results[0]], name
    assert all(saved[name].tobytes() == kept[name].tobytes() for name in KEPT)


def test_rows_of_a_batch_are_apart(call):
    inputs, states = draw(BATCH, STEPS, seed=3), zeros(BATCH)
    together = call(inputs, states)
    for row in range(BATCH):
        own = {name: x if name in ("rates", "taps", "bias") else x[row : row + 1] for name, x in inputs.items()}
        for found, all_rows in zip(call(own, zeros(1)), together):
            assert_near(found, {name: x[row : row + 1] for name, x in all_rows.items()}, f"row {row}")
    assert all(np.abs(x[0] - x[1]).max() > 0.1 for x in together[0].values())
