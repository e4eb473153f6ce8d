"""float16 models: as close to the exact result of the same weights as PyTorch's float16 is, and raised as bfloat16 ones are."""

import numpy as np
import pytest
import torch

from moe_mlir.testing.compare import relative_error
from moe_mlir.testing.compiling import step_inputs
from moe_mlir.testing.configurations import FAMILIES
from moe_mlir.testing.full import sample
from moe_mlir.testing.inputs import random_tokens
from moe_mlir.testing.low_precision import RATIO, assert_as_close_as_pytorch
from moe_mlir.testing.observe import double_precision, observe


@pytest.mark.parametrize("family", sample(FAMILIES, 1))
def test_values_with_forced_experts(family, compiled):
    model, executable = compiled(family, torch.float16, force_experts=True)
    assert_as_close_as_pytorch(model, executable, random_tokens(model, 32, 64, seed=0))


def test_chunks_equal_the_whole(compiled):
    model, executable = compiled(sample(FAMILIES, 1)[0], torch.float16, force_experts=True)
    tokens = random_tokens(model, 3, 20, seed=2)
    with double_precision(model):
        exact = observe(model, tokens)

    def call(begin, end):
        ids = {f"experts_{i}": value[:, begin:end] for i, value in enumerate(exact.chosen)}
        return {**step_inputs(tokens[:, begin:end], begin), **ids}

    outputs = [out["logits"] for out in executable.run_calls([call(0, 7), *(call(i, i + 1) for i in range(7, 20))])]
    assert outputs[0].dtype == np.float16
    pytorch = relative_error(observe(model, tokens, exact.chosen).logits, exact.logits)
    assert relative_error(np.concatenate(outputs, axis=1), exact.logits) <= RATIO * pytorch
