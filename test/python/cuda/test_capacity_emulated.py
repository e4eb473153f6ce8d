"""Layers whose experts have a capacity, on the emulated GPU: against the oracle, and which pairs are dropped as on the CPU."""

import sys
from pathlib import Path

import numpy as np
import pytest
from cuda_program import needs_cuda
from emulated_program import build, call

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "layers"))
from layer_cases import Gate, Layer, Layers, check_close  # noqa: E402
from layer_program import DTYPES, Graph  # noqa: E402

from moe_mlir.testing.full import FULL, sample  # noqa: E402

pytestmark = needs_cuda
TOKENS = [0, 1, 9, 40, 300]  # a chunk has 8 of them, a warp takes 32 at a time
SEEDS = (1, 2, 3) if FULL else (1, 2)  # of the emulated GPU's schedules
ROUNDINGS = ("tutel", "deepspeed", "megablocks")


def outputs_of(program, folder, names, inputs):
    """The program's outputs, the same under every schedule."""
    runs = []
    for seed in SEEDS:
        call(program, folder, inputs, seed)
        runs.append({name: np.load(folder / "out" / f"{name}.npy") for name in names})
    for other in runs[1:]:
        for name in names:
            assert other[name].tobytes() == runs[0][name].tobytes(), name
    return runs[0]


def as_graph(text):
    return text.replace("module attributes {", 'module attributes {moe.level = "graph", ', 1)


@pytest.fixture(scope="module")
def gates(tmp_path_factory):
    """Gates on both devices: each rounding, factors around 1, more experts than lanes, all of them chosen, ids that are given."""
    all_gates = {
        **{f"{rounding}_{k}": (Gate(k, capacity=(1.1, rounding)), 5) for rounding in ROUNDINGS for k in (1, 2)},
        "wide": (Gate(3, renormalize="after", capacity=(0.7, "deepspeed")), 41),
        "every": (Gate(4, renormalize="before", score="sigmoid", capacity=(0.9, "tutel")), 4),
        "given": (Gate(2, ids="i64", capacity=(0.5, "megablocks")), 6),
        "needed": (Gate(2, capacity=(-1.0, "megablocks")), 6),
        "none": (Gate(2, capacity=(0.001, "megablocks")), 6),
        "huge": (Gate(2, capacity=(1e300, "tutel")), 6),
    }
    graph = Graph()
    for name, (gate, experts) in all_gates.items():
        weights, ids, _ = gate.write(graph, graph.input(f"{name}_logits", "f32", "t", experts), experts, name)
        graph.output(f"{name}_w", weights, "f32", "t", gate.k)
        graph.output(f"{name}_e", ids, "i32", "t", gate.k)
    folder = tmp_path_factory.mktemp("gates")
    return all_gates, graph.compile(), build(as_graph(graph.text()), folder)


@pytest.mark.parametrize("tokens", sample(TOKENS, 0, 1, 4))
def test_pairs_that_are_dropped(gates, tokens, tmp_path):
    all_gates, on_cpu, program = gates
    random, inputs = np.random.default_rng(tokens), {}
    for name, (gate, experts) in all_gates.items():
        inputs[f"{name}_logits"] = random.integers(-2, 3, (tokens, experts)).astype(np.float32)  # many ties
        if gate.ids:  # some are no expert's
            inputs[f"{name}_ids"] = random.integers(-1, experts, (tokens, gate.k))
    expected = on_cpu.run(inputs)
    found = outputs_of(program, tmp_path, expected, inputs)
    for name, (gate, _) in all_gates.items():
        ids, weights = gate.reference(inputs[f"{name}_logits"].astype(np.float64), ids=inputs.get(f"{name}_ids"))
        np.testing.assert_array_equal(found[f"{name}_e"], expected[f"{name}_e"], name)
        np.testing.assert_array_equal(found[f"{name}_e"], ids, name)
        np.testing.assert_allclose(found[f"{name}_w"], weights, rtol=1e-5, atol=1e-7, err_msg=name)
    if tokens >= 40:
        dropped = {name: int((found[f"{name}_e"] < 0).sum()) for name in all_gates}
        assert dropped["none"] == 2 * tokens and dropped["huge"] == 0
        assert all(0 < dropped[name] < tokens * gate.k for name, (gate, _) in all_gates.items() if name not in ("none", "huge"))


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    shape = dict(experts=4, hidden=16, inner=24, biases=True, activation="relu")
    made = Layers([
        Layer("half", Gate(2, renormalize="after", capacity=(0.5, "deepspeed")), **shape),
        Layer("tutel", Gate(3, renormalize="before", capacity=(1.0, "tutel")), **shape),
        Layer("zero", Gate(2, capacity=(0.0, "tutel")), **shape),
        Layer("nothing", Gate(2, renormalize="after", capacity=(0.001, "megablocks")), **shape),
        Layer("pre", Gate(2, capacity=(0.5, "megablocks")), **shape, pre_score=True),
        Layer("narrow", Gate(2, capacity=(0.75, "tutel")), experts=6, hidden=24, inner=16, dtype="bf16", gated=True),
    ])  # fmt: skip
    graph = Graph()
    for layer in made.layers.values():
        layer.write(graph)
    return made, build(as_graph(graph.text()), tmp_path_factory.mktemp("layers"))


@pytest.mark.parametrize("tokens, routing", sample([(tokens, routing) for tokens in TOKENS for routing in ("random", "one", "skip")], 4, 8))
def test_layers(layers, tokens, routing, tmp_path):
    made, program = layers
    inputs = made.inputs(tokens, routing, seed=tokens)
    found = outputs_of(program, tmp_path, [f"{name}_y" for name in made.layers], inputs)
    for name, layer in made.layers.items():
        check_close(found[f"{name}_y"].astype(DTYPES[layer.dtype]), layer.reference(inputs), name)
    assert not found["nothing_y"].any()  # biases notwithstanding
