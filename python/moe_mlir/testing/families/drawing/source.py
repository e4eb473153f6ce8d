"""A seeded source of small sizes, and the parts that many families' configurations have."""

import random

# Of transformers; a family that names its activation can have any.
ACTIVATIONS = ("silu", "silu", "silu", "gelu", "gelu_pytorch_tanh", "gelu_new", "quick_gelu", "relu", "relu2", "relu6", "leaky_relu", "mish", "sigmoid", "tanh")


class Source:
    """What it draws is the same on every machine."""

    def __init__(self, *seed):
        self._random = random.Random("/".join(map(str, seed)))

    def size(self, low, high):
        return self._random.randint(low, high)

    def even(self, low, high):
        return 2 * self._random.randint(low // 2, high // 2)

    def number(self, low, high):
        return round(self._random.uniform(low, high), 2)

    def one(self, *values):
        return self._random.choice(values)

    def chance(self, part):
        return self._random.random() < part

    def kinds(self, names, count):
        """A list of `count` names, each at least once if that many fit, in any order."""
        drawn = list(names[:count]) + [self.one(*names) for _ in range(count - len(names))]
        self._random.shuffle(drawn)
        return drawn

    def pieces(self, length):
        """Sizes whose sum is `length`: one, ones alone, or any."""
        parts = [length] if self.chance(0.25) else [1] * min(length, 8) if self.chance(0.3) else []
        while sum(parts) < length:
            parts.append(self.size(1, length - sum(parts)))
        return tuple(parts)

    # Parts of configurations.

    def activation(self):
        return self.one(*ACTIVATIONS)

    def heads(self, low=2, high=24):
        """Grouped heads of an even width."""
        keys = self.size(1, 3)
        return {"num_key_value_heads": keys, "num_attention_heads": keys * self.size(1, 3), "head_dim": self.even(low, high)}

    def hidden_of_heads(self):
        """The same, of a family whose heads share the hidden columns."""
        heads = self.heads(low=4)
        width = heads.pop("head_dim")
        return {**heads, "hidden_size": heads["num_attention_heads"] * width}

    def experts(self, count="num_experts", width="moe_intermediate_size", most=14):
        number = self.size(2, most)
        return {count: number, "num_experts_per_tok": self.size(1, min(number, 5)), width: self.size(1, 50)}

    def grouped_experts(self, count="n_routed_experts"):
        """Experts of which those of a few groups are eligible."""
        groups, each = self.size(1, 4), self.size(2, 5)
        chosen = self.size(1, groups)
        return {
            count: groups * each, "n_group": groups, "topk_group": chosen, "num_experts_per_tok": self.size(1, min(5, chosen * each)),
            "moe_intermediate_size": self.size(1, 50), "routed_scaling_factor": self.number(0.5, 3), "norm_topk_prob": self.chance(0.6),
            "n_shared_experts": self.size(1, 2),
        }

    def dense_and_sparse(self, count):
        """Kinds of the layers' MLPs, at least one of experts."""
        return {"mlp_layer_types": self.kinds(["sparse", self.one("dense", "sparse")], count)}

    def latent(self, queries=True):
        """Latent attention; `queries`: also without a latent of the queries."""
        heads = self.size(1, 5)
        return {
            "num_attention_heads": heads, "num_key_value_heads": heads, "kv_lora_rank": self.size(2, 40),
            "q_lora_rank": None if queries and self.chance(0.4) else self.size(2, 40), "qk_nope_head_dim": self.size(1, 20),
            "qk_rope_head_dim": self.even(2, 16), "v_head_dim": self.size(1, 24),
        }

    def rotary(self, width, partial=False):
        """Frequencies of rotary embeddings of heads of `width`."""
        theta = self.one(1e4, 5e5)
        if self.chance(0.3) and not partial:
            return {"rope_type": "yarn", "rope_theta": theta, "factor": self.number(1.5, 8), "original_max_position_embeddings": 16}
        if self.chance(0.2):
            return {"rope_type": "linear", "rope_theta": theta, "factor": self.number(1.5, 4)}
        share = {"partial_rotary_factor": self.even(2, width) / width} if partial else {}
        return {"rope_type": "default", "rope_theta": theta, **share}
