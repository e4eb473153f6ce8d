"""Latent attention that ranks share (tp): each has the matrices of its heads, and all have the keys and values that every head reads."""

import re

import numpy as np
from edited import text_at

from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import export_model, step_inputs
from moe_mlir.testing.families import small_model
from moe_mlir.testing.ranks import compile_for, outputs_of


def test_heads_are_divided(tmp_path):
    model, path = small_model("deepseek_v3"), tmp_path / "model.pt2"
    export_model(model, path, max_cache_len=16)
    layers = model.config.num_hidden_layers
    text = text_at("spmd", path, "tp=2")
    matrices = re.findall(r'moe\.parameter \["[^"]*kv_b_proj[^"]*"\] recipe \[(.*)\] :', text)
    assert len(matrices) == 2 * layers and all("#moe.shard<dim = 0, grid = @tp, ranks = 2>" in steps for steps in matrices)
    assert text.count("nn.batch_linear ") == 2 * layers

    tokens = np.random.default_rng(0).integers(0, model.config.vocab_size, (2, 9))
    calls = [step_inputs(tokens[:, :8]), step_inputs(tokens[:, 8:], 8), None, step_inputs(tokens[:1, :3])]
    one = outputs_of(compile_for(path, tmp_path / "one", 1), 1, calls, tmp_path / "expected")
    two = outputs_of(compile_for(path, tmp_path / "two", "tp=2"), 2, calls, tmp_path / "calls")
    for result, expected in zip(two, one, strict=True):
        assert_close(result["logits"], expected["logits"], bound=1e-5)
