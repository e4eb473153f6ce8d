"""A whole MoE layer after its router's product, in two independent ways."""

import numpy as np

from .capacity import apply_capacity
from .dispatch import combine_rows, combine_tree, dispatch_rows
from .gate import gate


def moe_layer(x, logits, experts, k, *, factor=None, rounding="tutel", pre_score=False, groups=None, **gate_options):
    """Output `[T, O]` for inputs `[T, H]` and router logits `[T, E]`.

    factor        capacity factor; None is dropless
    pre_score     weights are applied to the inputs instead of the outputs
    groups        the outputs are added as a tree over so many ranges of experts; None adds them in slot order
    gate_options  see `gate`
    """
    ids, weights = gate(logits, k, **gate_options)
    end = {key: gate_options[key] for key in ("renormalization", "scale") if key in gate_options}
    ids, weights, _ = apply_capacity(ids, weights, experts.count, factor, rounding, **end)
    rows, counts = dispatch_rows(x.astype(np.float64), ids, experts.count, weights if pre_score else None)
    made, last = experts.grouped(rows, counts), None if pre_score else weights
    if groups is None:
        return combine_rows(made, ids, experts.count, last)
    return combine_tree(made, ids, experts.count, groups, last)


def moe_layer_by_token(x, ids, weights, experts):
    """The definition itself: each token through each of its experts, `[T, O]`. For dropless, post-score layers."""
    out = np.zeros((x.shape[0], experts.w_out.shape[1]))
    for token in range(x.shape[0]):
        for expert, weight in zip(ids[token], weights[token]):
            if expert >= 0:
                out[token] += weight * experts(expert, x[token : token + 1])[0]
    return out
