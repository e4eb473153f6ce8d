"""Layers drawn at random: any routing, as few tokens as there can be, and fewer tokens than ranks."""

from dataclasses import replace

import numpy as np
import pytest

from layer import Drawn, draw, inputs_of, rows, write

from moe_mlir.testing.full import FULL
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

LAYERS = 100 if FULL else 4
CASES = 5  # of each layer: other tokens and another routing, by the same programs


@pytest.mark.parametrize("seed", range(LAYERS))
def test_same_bits(seed, tmp_path):
    layers = [draw(seed)]
    layers += [replace(layers[0], **rows(seed * CASES + case)) for case in range(1, CASES)]
    flags = write(layers[0], tmp_path)
    calls = [inputs_of(layer, 4, seed + again) for layer in layers for again in (0, 1000)]
    expected = outputs_of(compile_for(tmp_path / "layer.mlir", tmp_path / "one", 1, *flags, groups=4), 1, calls, tmp_path / "expected")
    for call, result in zip(calls, expected, strict=True):
        assert bool((call["ids"] >= 0).any()) == bool(np.abs(result["y"]).sum() > 0)
    tokens, ranks = [("split", 2), ("split", 4), ("replicated", 2), ("replicated", 4)][seed % 4]
    program = compile_for(tmp_path / "layer.mlir", tmp_path / "ranks", ranks, *flags, tokens=tokens, groups=4)
    for threads in (1, 3):
        assert_same_bits(outputs_of(program, ranks, calls, tmp_path / f"threads{threads}", threads=threads), expected)


def test_a_fixed_number_of_tokens(tmp_path):
    """Nothing to divide: all ranks take all tokens, and sizes are constants in their programs."""
    layer = Drawn(8, 3, 20, 12, True, "bf16", 9, "random")
    flags = write(layer, tmp_path, fixed=True)
    calls = [inputs_of(layer, 4, 0), inputs_of(layer, 4, 1)]
    expected = outputs_of(compile_for(tmp_path / "layer.mlir", tmp_path / "one", 1, *flags), 1, calls, tmp_path / "expected")
    assert np.abs(expected[0]["y"]).sum() > 0
    program = compile_for(tmp_path / "layer.mlir", tmp_path / "ranks", 4, *flags)
    assert_same_bits(outputs_of(program, 4, calls, tmp_path / "actual"), expected)
