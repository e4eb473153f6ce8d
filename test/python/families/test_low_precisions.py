"""Families in low precisions: the same layers are raised, and the logits are PyTorch's but for rounding."""

import pytest
import torch

from moe_mlir import hf
from moe_mlir.executable import Executable
from moe_mlir.testing.compare import relative_error
from moe_mlir.testing.compiling import step_inputs
from moe_mlir.testing.families.cycle import compiled_family
from moe_mlir.testing.families.layers import expected_layers, layers_in
from moe_mlir.testing.families.models import small_model

BOUND = {torch.bfloat16: 1.0 / 16, torch.float16: 1.0 / 64}


@pytest.mark.parametrize("family,dtype", [("gpt_oss", torch.bfloat16), ("deepseek_v3", torch.float16)])
def test_layers_and_logits(family, dtype, tmp_path):
    model = hf.cast(small_model(family), dtype)
    assert layers_in(compiled_family(model, tmp_path)) == expected_layers(model)
    # Few tokens, for which rounding changes no choice of experts.
    tokens = torch.tensor([[5, 7, 11]])
    with torch.no_grad():
        expected = model(input_ids=tokens, use_cache=False).logits.float()
    logits = Executable(tmp_path / "model").run(step_inputs(tokens.numpy()))["logits"]
    assert relative_error(logits, expected[:, -logits.shape[1] :].numpy()) < BOUND[dtype]
