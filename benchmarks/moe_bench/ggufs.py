"""Writes a Qwen3-MoE checkpoint (bf16) as a GGUF file of llama.cpp: `python -m moe_bench.ggufs CHECKPOINT DTYPE FILE`.

Matrices are of DTYPE, so that float32 rows widen the same bf16 weights; norms and the router's matrices are float32, as llama.cpp's own converter has them.
There is no vocabulary: rows are made of token numbers.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np

from .tensorfile import bits_of, widen

MATRICES = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output"}
EXPERTS = {"gate_proj": "ffn_gate_exps", "up_proj": "ffn_up_exps", "down_proj": "ffn_down_exps"}
WIDE = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate": "ffn_gate_inp",
}  # fmt: skip


def describe(writer, config):
    """The hyperparameters under llama.cpp's names."""
    if config["rope_parameters"]["rope_type"] != "default" or not config["norm_topk_prob"] or config["mlp_only_layers"] or config["decoder_sparse_step"] != 1:
        raise ValueError("the model has rotary embeddings, weights of experts or layers that llama.cpp's qwen3moe does not have")
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_expert_count(config["num_local_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])
    writer.add_expert_feed_forward_length(config["moe_intermediate_size"])


def convert(checkpoint, dtype, target):
    """Writes the file; ValueError for a model that is not one of these."""
    config = json.loads((Path(checkpoint) / "config.json").read_text())
    if config["model_type"] != "qwen3_moe":
        raise ValueError(f"'{checkpoint}' is a model of '{config['model_type']}'; qwen3_moe was expected")
    tensors = bits_of(Path(checkpoint) / "model.safetensors")
    writer = gguf.GGUFWriter(target, "qwen3moe")
    describe(writer, config)

    def add(name, bits):
        if dtype == "bfloat16":
            writer.add_tensor(f"{name}.weight", np.ascontiguousarray(bits).view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(f"{name}.weight", widen(bits))

    add("token_embd", tensors.pop("model.embed_tokens.weight"))
    add("output", tensors.pop("lm_head.weight"))
    writer.add_tensor("output_norm.weight", widen(tensors.pop("model.norm.weight")))
    for layer in range(config["num_hidden_layers"]):
        theirs, ours = f"model.layers.{layer}.", f"blk.{layer}."
        for name, new in WIDE.items():
            writer.add_tensor(f"{ours}{new}.weight", widen(tensors.pop(f"{theirs}{name}.weight")))
        for name, new in MATRICES.items():
            add(ours + new, tensors.pop(f"{theirs}self_attn.{name}.weight"))
        for name, new in EXPERTS.items():
            add(ours + new, np.stack([tensors.pop(f"{theirs}mlp.experts.{e}.{name}.weight") for e in range(config["num_local_experts"])]))
    if tensors:
        raise ValueError(f"'{checkpoint}' has tensors that llama.cpp's qwen3moe does not have: {', '.join(sorted(tensors)[:3])}")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    convert(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
