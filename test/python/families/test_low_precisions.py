"""Families in low precisions: the same layers are raised, and the logits are PyTorch's but for rounding."""

import copy

import numpy as np
import pytest
import torch

from moe_mlir import hf
from moe_mlir.executable import Executable
from moe_mlir.testing.compare import relative_error
from moe_mlir.testing.compiling import step_inputs
from moe_mlir.testing.families.cycle import compiled_family
from moe_mlir.testing.families.layers import expected_layers, layers_in
from moe_mlir.testing.families.models import small_model
from moe_mlir.testing.low_precision import RATIO

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


def test_recurrent_states_do_not_lose_precision(tmp_path):
    """A prompt and steps of Mamba-2 in bf16, against the same weights in float32: the usual row is as close as PyTorch's. Rounding changes choices
    of experts, and so some rows, on both sides."""
    model = hf.cast(small_model("nemotron_h"), torch.bfloat16)
    compiled_family(model, tmp_path)
    executable = Executable(tmp_path / "model")
    tokens = torch.randint(0, model.config.vocab_size, (4, 28), generator=torch.Generator().manual_seed(3))
    pieces = [(0, 12), *((i, i + 1) for i in range(12, 28))]
    ours = [executable.run(step_inputs(tokens[:, a:b].numpy(), a))["logits"] for a, b in pieces]
    with torch.no_grad():
        theirs, cache = [], None
        for begin, end in pieces:
            out = model(input_ids=tokens[:, begin:end], past_key_values=cache, use_cache=True)
            theirs, cache = [*theirs, out.logits.float().numpy()], out.past_key_values
        wide = copy.deepcopy(model).float()
        wide.config.dtype = torch.float32
        exact = wide(input_ids=tokens, use_cache=False).logits.numpy()

    def usual(parts):
        return np.median(np.abs(np.concatenate(parts, axis=1) - exact).max(axis=-1))

    assert usual(ours) <= RATIO * usual(theirs)
