"""Configurations drawn at random against PyTorch: a few here, 500 in `scripts/test --full`."""

import os

import pytest
import torch

from moe_mlir.testing.compare import assert_close, relative_error
from moe_mlir.testing.compiling import compile_model, step_inputs
from moe_mlir.testing.drawn import draw
from moe_mlir.testing.inputs import random_tokens, screened_tokens
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.observe import double_precision, observe

COUNT = 500 if os.environ.get("MOE_TEST_FULL") else 6
RATIO = 1.5  # to the error of PyTorch in bfloat16, see test_bfloat16.py
ROWS = 2000  # of the bfloat16 comparison


@pytest.mark.parametrize("seed", range(COUNT))
def test_drawn_configuration(seed, tmp_path):
    drawn = draw(seed)
    dtype = torch.bfloat16 if drawn.bfloat16 else torch.float32
    model = tiny_model(drawn.family, dtype=dtype, **drawn.changes)
    executable = compile_model(model, tmp_path, max_cache_len=drawn.cache_length, force_experts=drawn.bfloat16)
    if drawn.bfloat16:
        length = drawn.calls[0][1]
        compare_bfloat16(model, executable, -(-ROWS // length), length)
    else:
        for batch, length in drawn.calls:
            tokens, seen = screened_tokens(model, batch, length)
            assert_close(executable.run(step_inputs(tokens))["logits"], seen.logits)


def compare_bfloat16(model, executable, batch, length):
    """The experts are those of a float64 run, for the compiled model and for PyTorch."""
    tokens = random_tokens(model, batch, length, seed=0)
    with double_precision(model):
        exact = observe(model, tokens)
    forced = {f"experts_{i}": ids for i, ids in enumerate(exact.chosen)}
    logits = executable.run({**step_inputs(tokens), **forced})["logits"]
    pytorch = relative_error(observe(model, tokens, exact.chosen).logits, exact.logits)
    assert relative_error(logits, exact.logits) <= RATIO * pytorch
