"""Experts outside of transformers' registry: replaced modules equal their originals, and compile."""

import numpy as np
import pytest
import torch

import moe_mlir
from moe_mlir import Executable, hf, ops
from moe_mlir.exporting.replacements import expert_kinds
from moe_mlir.exporting.replacements.experts import replaceable, replaced
from moe_mlir.testing.compiling import moe_compile
from moe_mlir.testing.families import small_model
from moe_mlir.testing.full import FULL, sample

ROPES = [1, 0, 1] if FULL else [1, 0]  # of layers with and without
CHANGES = {
    "dbrx": {
        "attn_config": {"rope_theta": 10000.0, "kv_n_heads": 2, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 48, "hidden_size": 64, "moe_num_experts": 8, "moe_top_k": 2},
    },
    "longcat_flash": {"zero_expert_num": 2},
    "jetmoe": {"kv_channels": 16, "num_key_value_heads": 2},
    "llama4_text": {
        "num_hidden_layers": len(ROPES), "interleave_moe_layer_step": 1, "num_experts_per_tok": 2, "no_rope_layers": ROPES,
    },
    "doge": {"is_moe": True, "num_experts": 16, "num_experts_per_tok": 2, **({} if FULL else {"num_hidden_layers": 2})},
}
# Kinds of the first layer's modules.
KINDS = {"dbrx": ["FlatExperts"], "longcat_flash": ["StackedExperts"], "jetmoe": ["SortedExperts", "SortedProjections"],
         "llama4_text": ["DenseExperts"], "doge": ["KeyedExperts"]}  # fmt: skip


def model_of(family):
    return small_model(family, **CHANGES[family])


def logits(model, tokens=7):
    ids = torch.randint(100, (2, tokens), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        return model(ids, use_cache=False).logits


@pytest.mark.parametrize("family", CHANGES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_replaced_model_equals_the_original(family, dtype):
    model = hf.cast(model_of(family), dtype)
    expected = logits(model)
    found = replaceable(model)
    assert [kind.__name__ for _, _, kind in found][: len(KINDS[family])] == KINDS[family]
    with replaced(model) as names:
        assert names == [name for name, *_ in found]
        actual = logits(model)
    # In a low precision another order of sums may make a router choose another expert.
    rows = (actual - expected).abs().amax(dim=-1) <= (1e-5 if dtype == torch.float32 else 0.05) * expected.abs().max()
    assert rows.all() if dtype == torch.float32 else rows.double().mean() > 0.7
    for _, module, _ in found:
        assert not {"forward", "map", "reduce"} & vars(module).keys()
    assert torch.equal(logits(model), expected)


def test_models_of_the_registry_have_nothing_to_replace():
    assert replaceable(small_model("mixtral")) == replaceable(small_model("deepseek_v3")) == []


def test_a_model_that_mixes_tokens_is_compared_in_the_same_pieces(tmp_path, monkeypatch):
    """Its router splits the tokens of a batch in two, so that other pieces have other logits."""
    model = model_of("doge")
    moe_mlir.export(model, tmp_path / "m.pt2", max_cache_len=32)
    with torch.no_grad():
        whole, alone = model(torch.arange(8)[None]).logits, model(torch.arange(4)[None]).logits
    assert not torch.allclose(whole[:, :4], alone, atol=1e-3)
    # A graph that is wrong is refused all the same.
    monkeypatch.setattr(torch.Tensor, "index_copy_", lambda self, dim, index, source: self.index_copy(dim, index, source))
    with pytest.raises(moe_mlir.MismatchError, match="in chunks of 5"):
        moe_mlir.export(model, tmp_path / "n.pt2", max_cache_len=32)


class OtherOrder(expert_kinds.StackedExperts):
    """Gate and up exchanged."""

    def forward(self):
        activation = self.activation

        def forward(self, hidden_states, top_k_index, top_k_weights):
            first = torch.cat([*reversed(self.gate_up_proj[: self.down_proj.shape[0]].chunk(2, dim=1))], dim=1)
            return ops.experts(hidden_states, top_k_index, top_k_weights, first, self.down_proj, *activation, False)

        return forward


def test_a_wrong_replacement_is_refused(monkeypatch, tmp_path):
    model = model_of("longcat_flash")
    monkeypatch.setattr("moe_mlir.exporting.replacements.experts.KINDS", (OtherOrder,))
    with pytest.raises(moe_mlir.MismatchError, match=r"the replacement of 'model\.layers\.0\.mlp\.experts' "
                       r"\(LongcatFlashExperts\) differs from the module in result 0: largest difference .*, allowed .*; "
                       "nothing was written"):  # fmt: skip
        moe_mlir.export(model, tmp_path / "m.pt2", max_cache_len=32)
    assert not (tmp_path / "m.pt2").exists()
    assert not any("forward" in vars(module) for module in model.modules())


def test_an_activation_that_cannot_be_traced_names_the_module(tmp_path):
    model = model_of("dbrx")
    model.transformer.blocks[1].ffn.experts.mlp.activation_fn = torch.nn.Softmax(dim=-1)
    with pytest.raises(moe_mlir.UnsupportedError, match=r"experts of 'DbrxExperts' \(transformer\.blocks\.1\.ffn\.experts\) "
                       r"compute their activation with aten\._softmax"):  # fmt: skip
        moe_mlir.export(model, tmp_path / "m.pt2", max_cache_len=32)


def test_experts_cannot_be_forced_outside_of_the_registry(tmp_path):
    with pytest.raises(moe_mlir.UnsupportedError, match="'JetMoeForCausalLM' has none of those"):
        moe_mlir.export(model_of("jetmoe"), tmp_path / "m.pt2", max_cache_len=32, force_experts=True)


@pytest.mark.parametrize("family", sample(["dbrx", "longcat_flash", "jetmoe", "llama4_text"], 0, 3))
def test_compiled_model_equals_pytorch(family, tmp_path):
    """Weights one below the other, experts that compute nothing, queries by expert, complex rotary embeddings."""
    model = model_of(family)
    program = moe_mlir.export(model, tmp_path / "model.pt2", cache=False)
    layers = getattr(model.config, "num_layers", model.config.num_hidden_layers)  # LongCat counts its attentions, two in a layer
    assert sum("moe_mlir.experts" in str(node.target) for node in program.graph.nodes) == layers
    executable = Executable(moe_compile(tmp_path / "model.pt2", tmp_path / "model"))
    ids = torch.randint(100, (2, 7), generator=torch.Generator().manual_seed(2))
    actual, expected = executable.run({"input_ids": ids.numpy()})["logits"], logits(model).numpy()
    assert np.abs(actual - expected).max() <= 1e-4 * np.abs(expected).max()
