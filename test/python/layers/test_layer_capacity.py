"""Compiled capacities: C1-C3, C5, C6, C10, C13."""

import numpy as np
import pytest

from layer_cases import Gate, Layer, Layers, check_close
from layer_program import Graph
from moe_mlir import reference

ROUNDINGS = ("tutel", "deepspeed", "megablocks")
# C1 and C3 with T=10, E=4: what is left of the fullest expert, whose need is 10 in C1 and 9 in C3.
KEPT = {
    **{("k1", 1.25, rounding): kept for rounding, kept in zip(ROUNDINGS, (3, 4, 3))},
    **{("k2", 1.0, rounding): kept for rounding, kept in zip(ROUNDINGS, (6, 5, 5))},
    **{("nine", factor, "tutel"): kept for factor, kept in ((-1.5, 8), (-4.0, 9))},
    **{("nine", 0.0, rounding): 9 for rounding in ROUNDINGS},  # C2, C13
}


def case_name(case):
    return f"{case[0]}_{case[1]}_{case[2]}".replace(".", "p").replace("-", "m")


@pytest.fixture(scope="module")
def counts():
    """Rows of expert 0 that each case keeps."""
    graph = Graph()
    for case in KEPT:
        gate = Gate(1 if case[0] == "k1" else 2, score="sigmoid", capacity=case[1:])
        _, ids, _ = gate.write(graph, graph.input(case[0], "f32", "t", 4), 4, case_name(case))
        graph.output(case_name(case), ids, "i32", "t", gate.k)
    everything = np.tile(np.float32([4, 3, 2, 1]), (10, 1))
    nine = everything.copy()
    nine[4] = [1, 2, 3, 4]
    out = graph.compile().run({"k1": everything, "k2": everything, "nine": nine})
    return {case: int((out[case_name(case)] == 0).sum()) for case in KEPT}


@pytest.mark.parametrize("case", KEPT, ids=case_name)
def test_golden_capacities(counts, case):
    assert counts[case] == KEPT[case]


def test_capacities_are_evaluated_from_left_to_right():
    """0.6 * 35 / 3 is 7; 0.6 * (35 / 3) is a little less and would truncate to 6. 1.4 * 45 / 3 is just below 21."""
    cases = {"seven": (0.6, 35, 7), "twenty": (1.4, 45, 20)}
    graph = Graph()
    for name, (factor, _, _) in cases.items():
        gate, tokens = Gate(1, capacity=(factor, "megablocks")), f"t_{name}"
        _, ids, _ = gate.write(graph, graph.input(name, "f32", tokens, 3), 3, name, tokens)
        graph.output(name + "_ids", ids, "i32", tokens, 1)
    compiled = graph.compile()
    out = compiled.run({name: np.tile(np.float32([3, 2, 1]), (tokens, 1)) for name, (_, tokens, _) in cases.items()})
    for name, (factor, tokens, kept) in cases.items():
        assert reference.capacity(tokens, 3, 1, factor, "megablocks", needed=tokens) == kept
        assert (out[name + "_ids"] == 0).sum() == kept


def test_a_huge_capacity_drops_nothing():
    graph = Graph()
    for rounding in ROUNDINGS:
        gate = Gate(2, capacity=(1e300, rounding))
        _, ids, _ = gate.write(graph, graph.input(rounding, "f32", "t", 4), 4, rounding)
        graph.output(rounding + "_ids", ids, "i32", "t", 2)
    out = graph.compile().run({rounding: np.tile(np.float32([4, 3, 2, 1]), (10, 1)) for rounding in ROUNDINGS})
    for rounding in ROUNDINGS:
        assert (out[rounding + "_ids"] >= 0).all()


def test_first_choices_go_first():
    """C5: the example in which token-major order drops other pairs."""
    graph = Graph()
    gate = Gate(2, ids="i32", capacity=(0.5, "tutel"))
    weights, ids, _ = gate.write(graph, graph.input("logits", "f32", "t", 2), 2, "gate")
    graph.output("e", ids, "i32", "t", 2)
    graph.output("w", weights, "f32", "t", 2)
    given = np.array([[0, 1], [1, 0], [0, 1]], np.int32)
    out = graph.compile().run({"logits": np.zeros((3, 2), np.float32), "gate_ids": given})
    assert out["e"].tolist() == [[0, 1], [1, -1], [0, -1]]
    assert out["w"].tolist() == [[0.5, 0.5], [0.5, 0], [0.5, 0]]


def capacity_layers():
    shape = dict(experts=4, hidden=16, inner=24, biases=True, activation="relu")
    return Layers([
        Layer("none", Gate(2), **shape),
        Layer("zero", Gate(2, capacity=(0.0, "tutel")), **shape),
        Layer("half", Gate(2, renormalize="after", capacity=(0.5, "deepspeed")), **shape),
        Layer("tutel", Gate(3, renormalize="before", capacity=(1.0, "tutel")), **shape),
        Layer("needed", Gate(2, capacity=(-1.0, "megablocks")), **shape),
        Layer("nothing", Gate(2, renormalize="after", capacity=(0.001, "megablocks")), **shape),
        Layer("pre", Gate(2, capacity=(0.5, "megablocks")), **shape, pre_score=True),
    ])


@pytest.mark.parametrize("routing", ["random", "one", "skip"])
@pytest.mark.parametrize("tokens", [0, 1, 5, 40])
def test_layers_with_capacity(tokens, routing):
    layers = capacity_layers()
    inputs = layers.inputs(tokens, routing, seed=tokens)
    for name in ("w_in", "b_in", "w_out", "b_out", "x", "logits"):
        inputs[f"zero_{name}"] = inputs[f"none_{name}"]
    out = layers.check(inputs)
    # C2, C13: a factor of 0 is a value and drops nothing.
    assert np.array_equal(out["zero_y"], out["none_y"])
    # C6: tokens without any row are zero, not -0 or NaN, biases notwithstanding.
    for name in ("half", "nothing"):
        ids, _ = layers.layers[name].route(inputs)
        lost = (ids < 0).all(1)
        assert out[f"{name}_y"][lost].tobytes() == np.zeros((lost.sum(), 16), np.float32).tobytes()
    assert not out["nothing_y"].any()
    if tokens == 40 and routing == "one":
        assert (layers.layers["half"].route(inputs)[0] < 0).all(1).any(), "no token lost all its rows"


def test_buffers_of_equal_size():
    """X1: the layer equals the batched products of the buffer form, with the rows a capacity leaves."""
    layers = capacity_layers()
    inputs = layers.inputs(40)
    out = layers.program.run(inputs)
    layer = layers.layers["tutel"]
    ids, weights = layer.route(inputs)
    rows = reference.needed_capacity(ids, 4)
    buffer = reference.dispatch_buffer(inputs["tutel_x"].astype(np.float64), ids, 4, rows)
    result = layer.oracle(inputs).batched(buffer)
    check_close(out["tutel_y"], reference.combine_buffer(result, ids, weights))
