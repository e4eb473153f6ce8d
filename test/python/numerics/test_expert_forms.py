"""Layers exported with transformers' own `batched_mm` and `grouped_mm` experts, by plain torch.export, against PyTorch's loop over experts."""

import numpy as np
import pytest
import torch
from transformers import AutoConfig

from moe_mlir import Executable
from moe_mlir.testing import models
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import moe_compile

HIDDEN = 32
SIZES = {"hidden_size": HIDDEN, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
         "vocab_size": 16, "tie_word_embeddings": False, "num_experts_per_tok": 2}
CONFIGS = {
    "mixtral": {**SIZES, "num_local_experts": 5},
    "olmoe": {**SIZES, "num_experts": 6, "norm_topk_prob": False},
    "gpt_oss": {**SIZES, "num_local_experts": 4},
}


class Layer(torch.nn.Module):
    def __init__(self, mlp):
        super().__init__()
        self.mlp = mlp

    def forward(self, x):
        result = self.mlp(x)
        return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("family,implementation,dtype", [
    ("mixtral", "batched_mm", torch.float32),
    ("olmoe", "grouped_mm", torch.float32),
    ("gpt_oss", "batched_mm", torch.float32),
    ("gpt_oss", "grouped_mm", torch.float32),
    ("mixtral", "grouped_mm", torch.bfloat16)])
def test_layer(family, implementation, dtype, tmp_path):
    model = models.build(AutoConfig.for_model(family, **CONFIGS[family]), dtype=dtype)
    layer = Layer(model.model.layers[0].mlp)
    model.set_experts_implementation(implementation)
    auto = torch.export.Dim.AUTO
    with torch.no_grad():
        program = torch.export.export(layer, (torch.randn(2, 3, HIDDEN, dtype=dtype),), dynamic_shapes=({0: auto, 1: auto},), strict=False)
    torch.export.save(program, tmp_path / "layer.pt2")
    graph = moe_compile(tmp_path / "layer.pt2", tmp_path / "graph.mlir", "--to=graph").read_text()
    assert graph.count("moe.expert ") == 1
    executable = Executable(moe_compile(tmp_path / "layer.pt2", tmp_path / "layer"))

    model.set_experts_implementation("eager")
    for batch, tokens in ((1, 1), (2, 9)):
        x = torch.randn(batch, tokens, HIDDEN, generator=torch.Generator().manual_seed(tokens)).to(dtype)
        with torch.no_grad():
            expected = layer(x)
        (got,) = executable.run({"x": x.float().numpy() if dtype == torch.float32 else x.view(torch.uint16).numpy().view("V2")}).values()
        if dtype == torch.float32:
            assert_close(got, expected.numpy())
        else:
            expected = expected.float().numpy()
            assert np.abs(got.astype(np.float32) - expected).max() <= 0.02 * np.abs(expected).max()
