"""Configurations drawn at random against PyTorch: a few here, 500 in `scripts/test --full`."""

import pytest
import torch

from moe_mlir.testing.low_precision import assert_as_close_as_pytorch
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import compile_model, step_inputs
from moe_mlir.testing.drawn import draw
from moe_mlir.testing.full import FULL
from moe_mlir.testing.inputs import random_tokens, screened_tokens
from moe_mlir.testing.models import tiny_model

COUNT = 500 if FULL else 3
ROWS = 2000  # of the bfloat16 comparison


@pytest.mark.parametrize("seed", range(COUNT))
def test_drawn_configuration(seed, tmp_path):
    drawn = draw(seed)
    dtype = torch.bfloat16 if drawn.bfloat16 else torch.float32
    model = tiny_model(drawn.family, dtype=dtype, **drawn.changes)
    executable = compile_model(model, tmp_path, max_cache_len=drawn.cache_length, force_experts=drawn.bfloat16)
    if drawn.bfloat16:
        length = drawn.calls[0][1]
        assert_as_close_as_pytorch(model, executable, random_tokens(model, -(-ROWS // length), length, seed=0))
    else:
        for batch, length in drawn.calls:
            tokens, seen = screened_tokens(model, batch, length)
            executable.reset()
            assert_close(executable.run(step_inputs(tokens))["logits"], seen.logits)
