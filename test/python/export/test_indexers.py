"""Attention over the keys that an indexer chooses, with its cache of keys: exported, compiled and compared with PyTorch.

Indexers have many heads here: a sum of few products behind relu is often exactly 0, and torch.topk takes any of equal keys.
"""

import numpy as np
import pytest
import torch

import moe_mlir
from moe_mlir import Executable
from moe_mlir.errors import MismatchError
from moe_mlir.exporting.replacements import indexers as replacement
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import moe_compile
from moe_mlir.testing.families import small_model
from moe_mlir.testing.full import FULL, sample

LENGTH, PROMPT = 32, 20
# Single keys, blocks of keys, the choice of another layer, a window beside it, and an indexer that loops over queries.
CONFIGURATIONS = {
    "deepseek_v32": {"index_n_heads": 16, "num_hidden_layers": 2, "mlp_layer_types": ["dense", "sparse"]},
    "minimax_m3_vl_text": {"index_block_size": 4, "index_topk_blocks": 2, "index_n_heads": 2,
                           **({"layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"]} if FULL else
                              {"num_hidden_layers": 2, "layer_types": ["full_attention", "minimax_m3_sparse"], "mlp_layer_types": ["dense", "sparse"]})},
    "glm_moe_dsa": {"index_n_heads": 16, "indexer_types": ["full", "shared", "full"]},
    "axk2": {"index_n_heads": 16},
    "dots3_note_text": {"index_n_heads": 16, "layer_types": ["sliding_attention", "indexed_attention", "indexed_attention"]},
    "qwen4_exp_text": {"layer_types": ["linear_attention", "indexed_attention", "indexed_attention"], "indexer_n_heads": 8,
                       "indexer_kv_heads": 1, "indexer_head_dim": 16, "indexer_budget": 8, "indexer_compress_ratio": 4, "hc_lowrank": 8,
                       "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1]}},
}
EVERY_KEY = {"deepseek_v32": {"index_topk": 64}, "minimax_m3_vl_text": {"index_topk_blocks": 16}}


def logits_of(model, tokens):
    with torch.no_grad():
        return model(input_ids=tokens).logits.numpy()


def run(executable, tokens, pieces):
    """Logits of all tokens, fed in pieces from position 0 on."""
    parts, begin = [], 0
    for size in pieces:
        inputs = {"input_ids": tokens[:, begin : begin + size].numpy(), "position": np.full(len(tokens), begin),
                  "logits_to_keep": np.arange(size)}
        parts.append(executable.run(inputs)["logits"])
        begin += size
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("family", sample(CONFIGURATIONS, 0, 1))
def test_family(family, tmp_path):
    model = small_model(family, **CONFIGURATIONS[family])
    tokens = torch.randint(3, 100, (4, PROMPT), generator=torch.Generator().manual_seed(2))
    first, second = logits_of(model, tokens[:2]), logits_of(model, tokens[2:])
    program = moe_mlir.export(model, tmp_path / "model.pt2", max_cache_len=LENGTH)
    names = {spec.arg.name for spec in program.graph_signature.input_specs}
    attention = [getattr(layer, "self_attn", None) for layer in model.model.layers]
    indexers = [i for i, layer in enumerate(attention) if getattr(layer, "indexer", None) is not None]
    assert {name for name in names if name.startswith("index_cache_")} == {f"index_cache_{i}" for i in indexers}
    executable = Executable(moe_compile(tmp_path / "model.pt2", tmp_path / "model"))
    assert_close(run(executable, tokens[:2], [PROMPT]), first)
    if any(name.startswith("recurrent") for name in names):
        executable.reset()  # such a layer keeps what it has read, wherever the next token stands
    # What the caches hold behind the position, of the text before, is chosen by nobody.
    assert_close(run(executable, tokens[2:], [7] + [1] * (PROMPT - 7)), second)
    if not any(name.startswith("recurrent") for name in names):
        assert_close(run(executable, tokens[:2], [3, 9, PROMPT - 12]), first)


@pytest.mark.parametrize("family", EVERY_KEY)
def test_the_choice_matters(family):
    """A model whose indexer chooses all keys is another one."""
    tokens = torch.randint(3, 100, (1, PROMPT), generator=torch.Generator().manual_seed(2))
    chosen, every = (logits_of(small_model(family, **{**CONFIGURATIONS[family], **more}), tokens) for more in ({}, EVERY_KEY[family]))
    assert np.allclose(chosen[:, :4], every[:, :4], atol=1e-5)
    assert np.abs(chosen - every).max() > 0.05


def test_a_wrong_replacement_is_refused(monkeypatch, tmp_path):
    """An indexer that is replaced chooses the same keys, or nothing is written."""
    def one_less(indexer, *args):
        chosen = original(indexer, *args)
        return chosen & (torch.arange(chosen.shape[-1]) != 1)

    original = replacement.choose_blocks
    monkeypatch.setattr(replacement, "choose_blocks", one_less)
    model = small_model("qwen4_exp_text", **CONFIGURATIONS["qwen4_exp_text"])
    with pytest.raises(MismatchError, match="indexer 'model.layers.1.self_attn.indexer' differs from what would replace it: by 1"):
        moe_mlir.export(model, tmp_path / "model.pt2", max_cache_len=LENGTH)
    assert not (tmp_path / "model.pt2").exists() and "forward" not in vars(model.model.layers[1].self_attn.indexer)
