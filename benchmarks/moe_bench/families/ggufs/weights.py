"""What the modules of the families take tensors from, and the names that they share."""

import numpy as np

from ...tensorfile import widen


class Weights:
    """Tensors of a checkpoint, each of which is taken once: {name: bits of bf16, or float32}."""

    def __init__(self, tensors):
        self._tensors = dict(tensors)

    def take(self, name):
        """The bits of a matrix, which is written in the dtype of the file."""
        if name not in self._tensors:
            raise ValueError(f"the checkpoint has no tensor '{name}'")
        return self._tensors.pop(name)

    def wide(self, name):
        """A tensor that llama.cpp has in float32 always."""
        values = self.take(name)
        return widen(values) if values.dtype == np.uint16 else values

    def experts(self, prefix, name, count):
        """One matrix of all experts, [experts][out][in]."""
        return np.stack([self.take(f"{prefix}{expert}.{name}.weight") for expert in range(count)])

    def left(self):
        """Names that nothing has been taken from."""
        return sorted(self._tensors)


def require(facts, architecture):
    """ValueError that names the first of {what: whether it holds} that does not hold: llama.cpp would compute something else."""
    for what, holds in facts.items():
        if not holds:
            raise ValueError(f"llama.cpp's {architecture} expects {what}")


def sizes(config, heads_kv, eps):
    """Hyperparameters that every architecture has."""
    return {
        "vocab_size": config["vocab_size"],
        "block_count": config["num_hidden_layers"],
        "context_length": config["max_position_embeddings"],
        "embedding_length": config["hidden_size"],
        "attention.head_count": config["num_attention_heads"],
        "attention.head_count_kv": heads_kv,
        "attention.layer_norm_rms_epsilon": float(eps),
        "expert_used_count": config["num_experts_per_tok"],
    }


def renamed(weights, layer, theirs, names):
    """(new name, bits) of a layer's matrices: {their name under `theirs`: llama.cpp's}."""
    for name, new in names.items():
        yield f"blk.{layer}.{new}.weight", weights.take(f"{theirs}{name}.weight")


def widened(weights, layer, theirs, names):
    """The same in float32, of whole names: {their name under `theirs`: llama.cpp's with its suffix}."""
    for name, new in names.items():
        yield f"blk.{layer}.{new}", weights.wide(f"{theirs}{name}")


def ends(weights, embedding="model.embed_tokens", norm="model.norm"):
    """What is not part of a layer."""
    yield "token_embd.weight", weights.take(f"{embedding}.weight")
    yield "output.weight", weights.take("lm_head.weight")
    yield "output_norm.weight", weights.wide(f"{norm}.weight")
