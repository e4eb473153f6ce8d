"""NumPy oracle of Mixture-of-Experts semantics.

Written from the definitions, one step after another and without regard to speed, in float64 unless said otherwise:
tests compare compiled programs with it. T tokens, H hidden, E experts, I inner size of an expert, k experts per
token, C rows per expert.

    gate.py      logits -> experts and weights        rows G1, G3-G8, G25
    capacity.py  rows per expert, locations, drops    rows C1-C3, C5, C6, C10, C13
    dispatch.py  rows to experts and back             rows D4, D5, D12
    experts.py   feed-forward experts                 rows X1, X2, V1-V3, V7-V9
    layer.py     all of it, and a per-token loop
    recurrent.py what layers between them carry along a sequence
"""

from .capacity import apply_capacity, capacity, locations, needed_capacity
from .dispatch import (
    add_in_pairs,
    combine_buffer,
    combine_rows,
    combine_tree,
    dense_combine,
    dense_dispatch,
    dense_mask,
    dispatch_buffer,
    dispatch_rows,
    sort_pairs,
)
from .experts import ACTIVATIONS, GATED_ACTIVATIONS, Experts, activate
from .gate import Groups, gate, renormalize, score, top_k
from .layer import moe_layer, moe_layer_by_token
from .recurrent import causal_conv, scan

__all__ = [
    "ACTIVATIONS",
    "GATED_ACTIVATIONS",
    "Experts",
    "Groups",
    "activate",
    "add_in_pairs",
    "apply_capacity",
    "capacity",
    "causal_conv",
    "combine_buffer",
    "combine_rows",
    "combine_tree",
    "dense_combine",
    "dense_dispatch",
    "dense_mask",
    "dispatch_buffer",
    "dispatch_rows",
    "gate",
    "locations",
    "moe_layer",
    "moe_layer_by_token",
    "needed_capacity",
    "renormalize",
    "scan",
    "score",
    "sort_pairs",
    "top_k",
]
