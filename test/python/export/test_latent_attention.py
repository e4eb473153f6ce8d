"""Latent attention: a row of keys and one of values per token are kept for all heads, and no head is expanded."""

import json
import re
import subprocess
import zipfile

import numpy as np
import pytest
import torch

import moe_mlir
from moe_mlir.errors import MismatchError
from moe_mlir.exporting import replacements
from moe_mlir.exporting.replacements import latent_attention
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import compile_model, moe_compile, step_inputs, warnings_of
from moe_mlir.testing.families import small_model
from moe_mlir.testing.full import FULL, sample

FAMILIES = ["deepseek_v3", "glm4_moe_lite", "axk1", "mistral4"]
LENGTH = 64  # a block of keys, so that the executable pads none
ONE = {"num_hidden_layers": 1, "first_k_dense_replace": 0}  # an attention, and experts


def rows_of(executable, tokens):
    position, rows = 0, []
    for size in (5, 1, 1, 5):
        [logits] = executable.run(step_inputs(tokens[:, position : position + size], position)).values()
        rows.append(logits)
        position += size
    return np.concatenate(rows, axis=1)


def states_of(path):
    """name -> shape of each state without the batch."""
    with zipfile.ZipFile(path) as archive:
        names = json.loads(archive.read("archive/extra/moe_mlir.json"))["states"]
    nodes = {node.name: node for node in torch.export.load(path).graph.nodes}
    return {name: tuple(nodes[name].meta["val"].shape[1:]) for name in names}


@pytest.mark.parametrize("family", sample(FAMILIES, 0))
def test_absorbed_and_expanded_forms(family, tmp_path, monkeypatch):
    model = small_model(family, **({} if FULL else ONE))
    tokens = np.random.default_rng(0).integers(0, model.config.vocab_size, (2, 12))
    with torch.no_grad():
        expected = model(input_ids=torch.as_tensor(tokens), use_cache=False).logits.numpy()
    absorbed = compile_model(model, tmp_path / "absorbed", max_cache_len=LENGTH)
    monkeypatch.setattr(replacements, "KINDS", [kind for kind in replacements.KINDS if kind is not latent_attention])
    expanded = compile_model(model, tmp_path / "expanded", max_cache_len=LENGTH)
    results = [rows_of(executable, tokens) for executable in (absorbed, expanded)]
    for result in results:
        assert_close(result, expected)
    assert_close(*results, 1e-5)

    config = model.config
    widths, heads = {"key": config.kv_lora_rank + config.qk_rope_head_dim, "value": config.kv_lora_rank}, config.num_attention_heads
    path = tmp_path / "absorbed" / "model.pt2"
    states = {f"{kind}_cache_{i}": (1, LENGTH, width) for i in range(config.num_hidden_layers) for kind, width in widths.items()}
    assert states_of(path) == states
    kept = sum(4 * np.prod(shape) for shape in states.values())
    info = subprocess.run([absorbed.path, "--info"], capture_output=True, text=True, check=True).stdout
    (together,) = re.findall(r"^  together +batch x (\d+) bytes$", info, re.M)
    assert int(together) == kept
    assert kept < config.num_hidden_layers * LENGTH * 4 * heads * (config.qk_head_dim + config.v_head_dim)
    # Nothing has a key of every head and every row of the cache.
    expansions = [node for node in torch.export.load(path).graph.nodes
                  if node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor)
                  and node.meta["val"].dim() == 4 and tuple(node.meta["val"].shape[1:3]) == (heads, LENGTH)]
    assert not expansions
    assert warnings_of(path) == []
    # Products of heads are tiles, and no call lays keys or values out anew.
    program = moe_compile(path, tmp_path / "kernel.mlir", "--to=kernel").read_text()
    launches = re.findall(r"kernel\.launch @(\w+)", program)
    assert sum(name.startswith("batch_linear_") for name in launches) == 2 * config.num_hidden_layers
    assert [name for name in launches if name.startswith(("pack_key", "pack_value"))] == []


def test_a_module_comes_back_as_it_was():
    model = small_model("deepseek_v3")
    before = [dict(module.__dict__) for module in latent_attention.find(model)]
    with replacements.replaced(model):
        assert all("forward" in module.__dict__ for module in latent_attention.find(model))
    assert [dict(module.__dict__) for module in latent_attention.find(model)] == before
    assert len(before) == model.config.num_hidden_layers


def test_without_a_cache(tmp_path):
    model = small_model("deepseek_v3", **ONE)
    tokens = torch.randint(model.config.vocab_size, (2, 7))
    program = moe_mlir.export(model, tmp_path / "m.pt2", cache=False)
    with torch.no_grad():
        assert torch.allclose(program.module()(input_ids=tokens), model(tokens, use_cache=False).logits, rtol=0, atol=1e-5)


def test_a_difference_is_an_error(tmp_path, monkeypatch):
    attend = latent_attention._Latent.attend

    def scaled(self, inner, query, *arguments, **options):
        return attend(self, inner, 1.1 * query, *arguments, **options)

    monkeypatch.setattr(latent_attention._Latent, "attend", scaled)
    with pytest.raises(MismatchError, match="largest logit difference"):
        moe_mlir.export(small_model("deepseek_v3", **ONE), tmp_path / "m.pt2", max_cache_len=LENGTH)
    assert not list(tmp_path.iterdir())
