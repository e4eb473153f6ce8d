"""A gated MoE layer by NumPy in float64, from numbers that its element type holds."""

import numpy as np

from .arrays import to_bits, to_numbers
from .cases import ALPHA, LIMIT


def rounded(x, element):
    return to_numbers(to_bits(x.astype(np.float32), element), element).astype(np.float64)


def route(x, router, k, element="bf16", bias=0):
    """Logits are of the layer's type, as the linear layer stores them. Returns (weights, ids, margin of the choice)."""
    logits = rounded(x @ router.T + bias, element)
    scores = np.exp(logits - logits.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    order = np.argsort(-logits, axis=-1, kind="stable")  # the first of equal ones
    ids = order[:, :k]
    best = np.take_along_axis(scores, ids, axis=-1)
    ranked = np.take_along_axis(logits, order, axis=-1)
    margin = ranked[:, k - 1] - ranked[:, k] if ranked.shape[1] > k else np.full(len(x), np.inf)
    return best / best.sum(axis=-1, keepdims=True), ids, margin


def choose_tokens(draw, tokens, router, k, element="bf16", bias=0):
    """`tokens` rows of `draw(count)` whose experts no rounding of a bf16 logit changes."""
    rows = draw(8 * tokens + 64).astype(np.float32)
    x = rounded(rows, element)
    size = np.abs(x @ router.T.astype(np.float64) + bias).max(axis=-1)
    clear = route(x, router, k, element, bias)[2] > 2.0**-6 * size
    if clear.sum() < tokens:
        raise ValueError(f"only {clear.sum()} of {len(rows)} tokens are clearly routed")
    return rows[clear][:tokens]


def activate(gate, up, clamped):
    if clamped:
        gate, up = np.minimum(gate, LIMIT), np.clip(up, -LIMIT, LIMIT) + 1
    return gate / (1 + np.exp(-(ALPHA if clamped else 1) * gate)) * up


def forward(x, weights, layer):
    """Returns (y, the sum of the absolute values of the terms of each element of y)."""
    x, weights = np.asarray(x, np.float64), {name: np.asarray(a, np.float64) for name, a in weights.items()}
    gates, ids, _ = route(x, weights["router"], layer.k, layer.element, weights.get("b_router", 0))
    b_in, b_out = (weights.get(name, np.zeros((layer.E, 1))) for name in ("b_in", "b_out"))
    y, terms = np.zeros((len(x), layer.H)), np.zeros((len(x), layer.H))
    for slot in range(layer.k):
        expert = ids[:, slot]
        gate, up = np.split(np.einsum("tnh,th->tn", weights["w_in"][expert], x) + b_in[expert], 2, axis=-1)
        h = rounded(activate(gate, up, layer.clamped), layer.element)
        down = weights["w_out"][expert]
        y += gates[:, slot, None] * (np.einsum("thi,ti->th", down, h) + b_out[expert])
        terms += gates[:, slot, None] * (np.einsum("thi,ti->th", np.abs(down), np.abs(h)) + np.abs(b_out[expert]))
    return y, terms


# A bf16 logit, a bf16 intermediate and a bf16 result may each be rounded the other way: 2^-8 of their size. Sums of f32 have an error
# for each term.
BOUND = {"bf16": 2.0**-7, "f32": 2.0**-18}


def worst(y, expected, terms, element="bf16"):
    """The largest error in units of the bound; at most 1 is within it. NaN counts as infinite."""
    error = np.abs(y - expected) / np.maximum(BOUND[element] * terms, 1e-30)
    error = np.where((y == expected) & (terms == 0), 0, error)
    return float(np.nan_to_num(error, nan=np.inf).max(initial=0))
