"""Odd sizes: nothing divides by a vector or a tile."""

import itertools

import numpy as np
import pytest
import torch

from moe_mlir.testing.low_precision import assert_as_close_as_pytorch
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import compile_model, step_inputs
from moe_mlir.testing.full import FULL, sample
from moe_mlir.testing.inputs import random_tokens, screened_tokens
from moe_mlir.testing.margins import same_sets
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.observe import observe

# Name -> (family, changes). Rotary halves need an even head_dim, nothing else has to be even.
SIZES = {
    "odd-everything": (
        "mixtral",
        {"hidden_size": 37, "intermediate_size": 51, "head_dim": 6, "num_attention_heads": 3, "num_key_value_heads": 1,
         "vocab_size": 101, "num_local_experts": 5, "num_experts_per_tok": 3},
    ),
    "odd-qwen": (
        "qwen3_moe",
        {"hidden_size": 61, "intermediate_size": 33, "moe_intermediate_size": 19, "head_dim": 10, "vocab_size": 257,
         "num_experts": 7, "num_experts_per_tok": 2},
    ),
    "one-expert": ("mixtral", {"num_local_experts": 1, "num_experts_per_tok": 1}),
    "all-experts": ("qwen3_moe", {"num_experts": 6, "num_experts_per_tok": 6}),
    "narrow": ("mixtral", {"hidden_size": 4, "intermediate_size": 1, "head_dim": 2, "num_hidden_layers": 1}),
}  # fmt: skip


# What sizes can break, they break in one layer of each kind; a full run has three layers. The second one of Qwen is dense.
LAYERS = {} if FULL else {"mixtral": {"num_hidden_layers": 1}, "qwen3_moe": {"num_hidden_layers": 2}}


def build(name, folder, dtype=torch.float32, flags=(), **options):
    family, changes = SIZES[name]
    model = tiny_model(family, dtype=dtype, **{**changes, **LAYERS.get(family, {})})
    return model, compile_model(model, folder, *flags, max_cache_len=33, **options)


@pytest.mark.parametrize("name", sample(SIZES, 2, 3))
def test_float32(name, tmp_path):
    model, executable = build(name, tmp_path)
    for batch, length in ((1, 1), (2, 13), (3, 33)):
        tokens, seen = screened_tokens(model, batch, length)
        executable.reset()
        assert_close(executable.run(step_inputs(tokens))["logits"], seen.logits)


@pytest.mark.parametrize("name,cpu", sample(itertools.product(["odd-everything", "odd-qwen", "all-experts"], ["native", "x86-64-v3"]), 1))
def test_bfloat16(name, cpu, tmp_path):
    model, executable = build(name, tmp_path, torch.bfloat16, [f"--target-cpu={cpu}"], force_experts=True)
    tokens = random_tokens(model, 64, 33, seed=0)
    assert_as_close_as_pytorch(model, executable, tokens)


@pytest.mark.parametrize("spread", ["one", "few"])
def test_experts_without_tokens(spread, tmp_path):
    """All tokens on the same experts, or on a few: the others get no rows."""
    layers = 3 if FULL else 2
    model = tiny_model("mixtral", num_hidden_layers=layers)
    executable = compile_model(model, tmp_path, max_cache_len=33, force_experts=True)
    tokens = random_tokens(model, 2, 33, seed=4)
    choices = [[3, 5]] if spread == "one" else [[3, 5], [0, 3], [5, 7]]
    ids = np.array(choices)[np.random.default_rng(0).integers(len(choices), size=(layers, 2, 33))]
    seen = observe(model, tokens, ids)
    assert same_sets(seen.chosen, ids).all()
    forced = {f"experts_{i}": value for i, value in enumerate(ids)}
    assert_close(executable.run({**step_inputs(tokens), **forced})["logits"], seen.logits)


def test_avx2_code_is_right_in_float32(tmp_path):
    model, executable = build("odd-everything", tmp_path, flags=["--target-cpu=x86-64-v3"])
    tokens, seen = screened_tokens(model, 3, 33)
    assert_close(executable.run(step_inputs(tokens))["logits"], seen.logits)
