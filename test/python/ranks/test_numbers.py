"""Layers of all kinds against the NumPy oracle, and a model with experts that all tokens share, for one and two ranks."""

import sys
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from moe_mlir.errors import Error
from moe_mlir.testing.full import FULL
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "layers"))

from layer_cases import Gate, Layer, check_close  # noqa: E402
from layer_program import DTYPES, Graph, tensor_type  # noqa: E402

LAYERS = [
    Layer("mixtral", Gate(2, renormalize="before"), experts=8, gated=True),
    Layer("deepseek", Gate(3, score="sigmoid", bias="f32", groups=(4, 2, "top2_sum"), renormalize="sum", eps=1e-20, scale=2.5),
          experts=8, gated=True),
    Layer("gpt_oss", Gate(2, score="softmax_after"), experts=4, activation="swigluoai", gated=True, interleaved=True, biases=True),
    Layer("llama4", Gate(1, score="sigmoid"), experts=4, gated=True, pre_score=True),
    Layer("routed", None, experts=16, k=5, hidden=33, inner=17, out=20, activation="gelu", biases=True),
    Layer("bf16", Gate(2, renormalize="before", dtype="bf16"), experts=8, gated=True, biases=True, dtype="bf16"),
    Layer("bf16_before", Gate(1, score="sigmoid", dtype="bf16"), experts=4, gated=True, pre_score=True, dtype="bf16"),
]


class Stored(Graph):
    """A graph whose inputs of these names are parameters, in the file of weights."""

    def __init__(self, names):
        super().__init__()
        self.names = names

    def input(self, name, dtype, *shape):
        if name not in self.names:
            return super().input(name, dtype, *shape)
        self.add(f'%{name} = moe.parameter ["{name}"] : {tensor_type(dtype, shape)}')
        return f"%{name}"


def as_tensor(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def calls_of(layers, weights):
    """(inputs of the program, the same with weights) for some numbers of tokens, one rank's and no rank's among them."""
    rng = np.random.default_rng(8)
    for tokens, routing in [(21, "random"), (1, "random"), (0, "random"), (40, "one"), (7, "skip")]:
        inputs = {}
        for layer in layers:
            inputs |= layer.tokens_of(rng, tokens, routing)
        yield {name: np.asarray(value, np.float32) if value.dtype == ml_dtypes.bfloat16 else value for name, value in inputs.items()}, weights | inputs


def write(layers, folder):
    """Writes layers.mlir, all layers as one program, and their weights; returns the flags to compile them, and the weights."""
    weights = {}
    for layer in layers:
        weights |= layer.weights(np.random.default_rng(len(weights)))
    graph = Stored(set(weights))
    for layer in layers:
        layer.write(graph)
    (folder / "layers.mlir").write_text(graph.text())
    save_file({name: as_tensor(array) for name, array in weights.items()}, folder / "layers.safetensors")
    return ["--from=graph", f"--weights={folder / 'layers.safetensors'}"], weights


def check(layers, calls, results):
    for (_, inputs), outputs in zip(calls, results, strict=True):
        for layer in layers:
            check_close(outputs[f"{layer.name}_y"].astype(DTYPES[layer.dtype]), layer.reference(inputs), layer.name)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The layers as one program: a function that compiles it for ranks, and its weights."""
    folder = tmp_path_factory.mktemp("numbers")
    flags, weights = write(LAYERS, folder)
    calls = list(calls_of(LAYERS, weights))

    def results(ranks, tokens, place, threads=1):
        program = compile_for(folder / "layers.mlir", place, ranks, *flags, tokens=tokens, groups=4)
        return outputs_of(program, ranks, [inputs for inputs, _ in calls], place / "calls", threads=threads)

    return calls, results, results(1, None, folder / "one")


def test_one_rank_equals_the_oracle(compiled):
    calls, _, one = compiled
    check(LAYERS, calls, one)


@pytest.mark.parametrize("tokens", ["split", "replicated"])
@pytest.mark.parametrize("ranks", [2, 4] if FULL else [2])
def test_ranks_equal_one(compiled, tokens, ranks, tmp_path):
    _, results, one = compiled
    assert_same_bits(results(ranks, tokens, tmp_path / "made", threads=2), one)


@pytest.mark.parametrize("grid,ranks", [("ep=2,etp=2", 4), *([("etp=2", 2), ("ep=2,etp=2,tokens=replicated", 4)] if FULL else [])])
def test_slices_equal_the_oracle(grid, ranks, tmp_path):
    """Experts that ranks share: biases of both products, gate and up in halves and in turns, weights before and after, in fp32 and bf16."""
    layers = [replace(layer, inner=18) if layer.name == "routed" else layer for layer in LAYERS if FULL or layer.name in ("gpt_oss", "bf16")]
    flags, weights = write(layers, tmp_path)
    calls = list(calls_of(layers, weights))
    program = compile_for(tmp_path / "layers.mlir", tmp_path / "made", grid, *flags, groups=4)
    check(layers, calls, outputs_of(program, ranks, [inputs for inputs, _ in calls], tmp_path / "calls", threads=2))


def test_a_width_that_slices_cannot_share(tmp_path):
    flags, _ = write([layer for layer in LAYERS if layer.name == "routed"], tmp_path)
    with pytest.raises(Error, match="cannot be cut into slices: etp=2 does not divide the hidden width 17 of an expert equally"):
        compile_for(tmp_path / "layers.mlir", tmp_path / "made", "etp=2", *flags)
