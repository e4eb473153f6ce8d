"""A model over several ranks gives the bits of one rank that sums in the same order."""

import numpy as np
import pytest
import torch

from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import export_model, step_inputs
from moe_mlir.testing.configurations import CACHE, CONFIGURATIONS, FAMILIES
from moe_mlir.testing.full import FULL
from moe_mlir.testing.inputs import random_tokens
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

NAMES = list(CONFIGURATIONS) if FULL else FAMILIES
DTYPES = ["float32", "bfloat16"]
WAYS = [("split", 2), ("split", 4), ("replicated", 2), ("replicated", 4)]
# Each family in each precision; what the families do not differ in, one of them shows.
CASES = [(name, dtype, WAYS) for name in NAMES for dtype in DTYPES] if FULL else [
    ("mixtral", "float32", WAYS[::3]), ("olmoe", "bfloat16", WAYS[1:2])]


def export(name, dtype, path):
    family, changes = CONFIGURATIONS[name]
    model = tiny_model(family, dtype=getattr(torch, dtype), **changes)
    export_model(model, path, max_cache_len=CACHE)
    return model


def calls_of(model):
    """Three rows in two pieces, as many rows as ranks, and one row: ranks without any."""
    tokens = random_tokens(model, 3, 21, 0)
    return [step_inputs(tokens[:, :20]), step_inputs(tokens[:, 20:], 20), None, step_inputs(random_tokens(model, 4, 5, 1)), None, step_inputs(tokens[:1, :7])]


@pytest.mark.parametrize("name,dtype,ways", CASES)
def test_same_bits(name, dtype, ways, tmp_path):
    model = export(name, dtype, tmp_path / "model.pt2")
    calls = calls_of(model)
    one = compile_for(tmp_path / "model.pt2", tmp_path / "one", 1)
    expected = outputs_of(one, 1, calls, tmp_path / "expected")
    for tokens, ranks in ways:
        program = compile_for(tmp_path / "model.pt2", tmp_path / f"{tokens}{ranks}", ranks, tokens=tokens)
        for threads in (1, 2) if ranks == 2 else (1,):
            actual = outputs_of(program, ranks, calls, tmp_path / f"{tokens}{ranks}-{threads}", threads=threads)
            assert_same_bits(actual, expected)
        local = outputs_of(program, ranks, calls, tmp_path / f"{tokens}{ranks}-local", "--comm", "local")
        assert_same_bits(local, expected)


@pytest.mark.parametrize("name", NAMES if FULL else NAMES[:1])
def test_equals_the_model(name, tmp_path):
    model = export(name, "float32", tmp_path / "model.pt2")
    tokens = random_tokens(model, 3, 9, 0)
    program = compile_for(tmp_path / "model.pt2", tmp_path / "two", 2)
    [result] = outputs_of(program, 2, [step_inputs(tokens)], tmp_path / "calls")
    with torch.no_grad():
        expected = model(torch.from_numpy(np.asarray(tokens))).logits.numpy()
    assert_close(result["logits"], expected)
