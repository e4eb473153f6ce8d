"""Makes the benchmark's checkpoints: `python -m moe_bench.checkpoints MODEL TARGET [TRAINED]`.

tiny  the trained model of examples/tiny-moe (TRAINED), with room for longer contexts than it was trained on
1b    Qwen3-MoE configuration of 24 layers and 1.0e9 parameters with seeded random weights
0.9b  the same of 16 layers and wider experts, 0.9e9 parameters
"""

import json
import shutil
import sys
from pathlib import Path

POSITIONS = 1024

# 24 x (32 experts x 3 x 1024 x 384 + attention 2.6e6) + 2 x 16384 x 1024 = 1.00e9 parameters, of which a token uses 1.9e8.
ONE_BILLION = {
    "vocab_size": 16384,
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "num_experts": 32,
    "num_experts_per_tok": 4,
    "moe_intermediate_size": 384,
    "intermediate_size": 1536,
    "norm_topk_prob": True,
    "mlp_only_layers": [],
    "decoder_sparse_step": 1,
    "max_position_embeddings": POSITIONS,
    "tie_word_embeddings": False,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}

# 16 x (32 experts x 3 x 1024 x 512 + attention 2.6e6) + 2 x 24576 x 1024 = 0.90e9 parameters, of which a token uses 1.7e8.
NINE_TENTHS = {**ONE_BILLION, "vocab_size": 24576, "num_hidden_layers": 16, "moe_intermediate_size": 512, "intermediate_size": 2048}

RANDOM = {"1b": ONE_BILLION, "0.9b": NINE_TENTHS}


def make_tiny(source, target):
    """Copy of the trained model; only the largest position changes, which rotary embeddings have no weights for."""
    shutil.copytree(source, target)
    path = target / "config.json"
    config = json.loads(path.read_text())
    config["max_position_embeddings"] = max(POSITIONS, config["max_position_embeddings"])
    path.write_text(json.dumps(config, indent=2) + "\n")


def make_random(config, target):
    """Saves a model of `config` with seeded weights of unit gain in bf16, so that both dtypes have the same weights.

    What a layer adds to the residual is scaled by 1 / sqrt(2 layers), as initialisations for training do. Without it, rounding of the first layers alone
    would decide the routing of the last ones, and two correct bf16 runs could not be compared.
    """
    import torch
    from transformers import AutoConfig

    from moe_mlir import hf
    from moe_mlir.testing.models import build

    model = build(AutoConfig.for_model("qwen3_moe", **config), dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("o_proj.weight", "experts.down_proj")):
                parameter.mul_((2 * config["num_hidden_layers"]) ** -0.5)
    hf.cast(model, torch.bfloat16)
    model.save_pretrained(target)


def main(model, target, trained=None):
    target = Path(target)
    temporary = target.with_name(target.name + ".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    if model == "tiny":
        make_tiny(Path(trained), temporary)
    else:
        make_random(RANDOM[model], temporary)
    temporary.rename(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
