"""The files of llama.cpp that the benchmark of families writes: every tensor of the checkpoint, in llama.cpp's layout, and nothing that it would compute otherwise."""

import json

import numpy as np
import pytest
import torch
from moe_bench.families.configurations import FAMILIES, configuration
from moe_bench.families.ggufs.convert import converted
from moe_bench.families.ggufs.weights import Weights
from safetensors.torch import load_file, save_file

from moe_mlir.testing.models import build

SMALL = {"vocab_size": 40, "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "num_experts_per_tok": 2}
CHANGES = {
    "qwen3-next": {
        "num_hidden_layers": 4, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8, "num_experts": 4,
        "moe_intermediate_size": 16, "shared_expert_intermediate_size": 24, "intermediate_size": 48,
    },
    "nemotron-h": {
        "hybrid_override_pattern": "ME*", "mamba_num_heads": 4, "mamba_head_dim": 8, "ssm_state_size": 16, "n_groups": 2, "n_routed_experts": 4,
        "moe_intermediate_size": 16, "moe_shared_expert_intermediate_size": 24,
    },
    "deepseek-v3": {
        "num_hidden_layers": 2, "num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 12,
        "n_routed_experts": 8, "moe_intermediate_size": 16, "intermediate_size": 48,
    },
    "gpt-oss": {"num_hidden_layers": 2, "num_local_experts": 4, "intermediate_size": 16},
}  # fmt: skip


def saved(folder, family, **changes):
    """A checkpoint in `folder`: its weights by name, in float32."""
    model = build(configuration(family, **{**SMALL, **CHANGES[family], **changes}), dtype=torch.bfloat16)
    model.save_pretrained(folder)
    return {name: value.float().numpy() for name, value in model.state_dict().items()}


def numbers(values):
    """Bits of bf16 as float32."""
    return (values.astype(np.uint32) << 16).view(np.float32) if values.dtype == np.uint16 else values


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """family -> (weights, architecture, hyperparameters, tensors, which of them are in the dtype of the file)."""
    result = {}
    for family in FAMILIES:
        folder = tmp_path_factory.mktemp(family)
        weights = saved(folder, family)
        architecture, hyperparameters, tensors = converted(folder)
        tensors = dict(tensors)
        narrow = {name for name, values in tensors.items() if values.dtype == np.uint16}
        result[family] = weights, architecture, hyperparameters, {name: numbers(values) for name, values in tensors.items()}, narrow
    return result


@pytest.mark.parametrize("family", FAMILIES)
def test_every_number_is_there_once(models, family):
    weights, _, _, tensors, _ = models[family]
    assert sum(v.size for v in tensors.values()) == sum(v.size for v in weights.values())


@pytest.mark.parametrize("family, architecture, expected", [
    ("qwen3-next", "qwen3next", {"full_attention_interval": 4, "rope.dimension_count": 2, "ssm.inner_size": 32, "ssm.group_count": 2}),
    ("nemotron-h", "nemotron_h_moe", {"attention.head_count_kv": [0, 0, 2], "feed_forward_length": [0, 16, 0], "block_count": 3, "expert_weights_scale": 2.5}),
    ("deepseek-v3", "deepseek2", {"attention.key_length": 20, "attention.key_length_mla": 12, "attention.head_count_kv": 1, "expert_group_used_count": 2}),
    ("gpt-oss", "gpt-oss", {"rope.freq_base": 150000.0, "rope.scaling.factor": 32.0, "attention.sliding_window": 128, "expert_count": 4}),
])  # fmt: skip
def test_hyperparameters(models, family, architecture, expected):
    _, found, hyperparameters, _, _ = models[family]
    assert found == architecture and {key: hyperparameters[key] for key in expected} == expected


def test_vectors_and_routers_are_wide(models):
    for family in FAMILIES:
        _, _, _, tensors, narrow = models[family]
        routers = {name for name in tensors if "ffn_gate_inp" in name}
        assert routers and not routers & narrow
        assert not [name for name in narrow if tensors[name].ndim < 2 or name.endswith("bias") or "conv1d" in name]
        assert {"token_embd.weight", "output.weight"} <= narrow


def test_delta_net(models):
    weights, _, _, tensors, _ = models["qwen3-next"]
    theirs = "model.layers.0.linear_attn."
    mixed = weights[f"{theirs}in_proj_qkvz.weight"].reshape(2, 48, 32)  # of a key head: 8 of the query, 8 of the key, 16 of two values, 16 of two gates
    together, gates = tensors["blk.0.attn_qkv.weight"], tensors["blk.0.attn_gate.weight"]
    for head in range(2):
        assert np.array_equal(together[8 * head : 8 * head + 8], mixed[head, :8])
        assert np.array_equal(together[16 + 8 * head : 24 + 8 * head], mixed[head, 8:16])
        assert np.array_equal(together[32 + 16 * head : 48 + 16 * head], mixed[head, 16:32])
        assert np.array_equal(gates[16 * head : 16 * head + 16], mixed[head, 32:])
    assert np.allclose(tensors["blk.0.ssm_a"], -np.exp(weights[f"{theirs}A_log"]))
    assert np.array_equal(tensors["blk.0.ssm_norm.weight"], weights[f"{theirs}norm.weight"])
    assert tensors["blk.0.ssm_conv1d.weight"].shape == (64, 4)


def test_norms_of_qwen_are_offsets(models):
    weights, _, _, tensors, _ = models["qwen3-next"]
    for theirs, ours in (("model.norm", "output_norm"), ("model.layers.3.self_attn.k_norm", "blk.3.attn_k_norm")):
        assert np.array_equal(tensors[f"{ours}.weight"], 1 + weights[f"{theirs}.weight"])


def test_mamba(models):
    weights, _, _, tensors, _ = models["nemotron-h"]
    theirs = "model.layers.0.mixer."
    assert np.allclose(tensors["blk.0.ssm_a"], -np.exp(weights[f"{theirs}A_log"]).reshape(4, 1))
    assert np.array_equal(tensors["blk.0.ssm_norm.weight"], weights[f"{theirs}norm.weight"].reshape(2, 16))
    assert np.array_equal(tensors["blk.0.ssm_in.weight"], weights[f"{theirs}in_proj.weight"])
    assert np.array_equal(tensors["blk.1.ffn_down_exps.weight"], weights["model.layers.1.mixer.experts.down_proj"])


def test_latent_attention(models):
    weights, _, _, tensors, _ = models["deepseek-v3"]
    both = weights["model.layers.1.self_attn.kv_b_proj.weight"].reshape(4, 20, 16)
    assert np.array_equal(tensors["blk.1.attn_k_b.weight"], both[:, :8].swapaxes(1, 2))
    assert np.array_equal(tensors["blk.1.attn_v_b.weight"], both[:, 8:])
    assert tensors["blk.0.ffn_up.weight"].shape == (48, 32) and tensors["blk.1.ffn_up_exps.weight"].shape == (8, 16, 32)


def test_experts_of_gpt_oss(models):
    weights, _, _, tensors, _ = models["gpt-oss"]
    both = weights["model.layers.0.mlp.experts.gate_up_proj"]
    assert np.array_equal(tensors["blk.0.ffn_gate_exps.weight"][1, 5], both[1, :, 10])
    assert np.array_equal(tensors["blk.0.ffn_up_exps.weight"][1, 5], both[1, :, 11])
    assert np.array_equal(tensors["blk.0.ffn_up_exps.bias"], weights["model.layers.0.mlp.experts.gate_up_proj_bias"][:, 1::2])
    assert np.array_equal(tensors["blk.0.ffn_down_exps.weight"], weights["model.layers.0.mlp.experts.down_proj"].swapaxes(1, 2))


@pytest.mark.parametrize("family, changes, message", [
    ("qwen3-next", {"norm_topk_prob": False}, "llama.cpp's qwen3next expects normed weights of experts"),
    ("nemotron-h", {"n_group": 2}, "llama.cpp's nemotron_h_moe expects one group of experts"),
    ("deepseek-v3", {"rope_interleave": False}, "llama.cpp's deepseek2 expects rotary embeddings of neighbours without scaling"),
    ("gpt-oss", {"swiglu_limit": 8.0}, "llama.cpp's gpt-oss expects its activation's slope and limit"),
    ("gpt-oss", {"model_type": "bert"}, "is a model of 'bert'; one of qwen3_next, nemotron_h, deepseek_v3, gpt_oss was expected"),
])  # fmt: skip
def test_what_llama_cpp_would_compute_otherwise_is_refused(tmp_path, family, changes, message):
    saved(tmp_path, family)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(ValueError, match=message):
        converted(tmp_path)


def test_tensors_that_a_family_keeps_in_float32(tmp_path):
    saved(tmp_path, "deepseek-v3")
    path = tmp_path / "model.safetensors"
    bias = "model.layers.1.mlp.gate.e_score_correction_bias"
    values = torch.linspace(0.001, 0.002, 8)
    save_file({**load_file(path), bias: values}, path)
    assert np.array_equal(dict(converted(tmp_path)[2])["blk.1.exp_probs_b.bias"], values.numpy())
    save_file({**load_file(path), bias: torch.zeros(8, dtype=torch.float16)}, path)
    with pytest.raises(ValueError, match="'model.layers.1.mlp.gate.e_score_correction_bias' is of F16; BF16 or F32 was expected"):
        converted(tmp_path)


def test_a_tensor_that_is_missing_or_left_over():
    weights = Weights({"a": np.zeros(1, np.uint16)})
    with pytest.raises(ValueError, match="the checkpoint has no tensor 'b'"):
        weights.take("b")
    assert weights.left() == ["a"]
