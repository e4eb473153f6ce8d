"""The layer in float64 by PyTorch, for all tokens or some, on whatever device they are."""

import torch

from .peers import activate

# How far a logit must be from the next one, in units of the largest one: roundings of a logit to bf16 are within 2^-8 of it, one on each side.
CLEAR = 2.0**-6
# A result may be off by 2^-7 of the sum of the absolute values of its terms, `terms` below, because each of these may go the other way than
# here: the rounding to bf16 of each element of the intermediate, 2^-8 of the element and in the worst case always in the direction that its
# term has in the sum; that of the result, 2^-9 of it; and sums of f32 of at most 2^15 terms, 2^-9 of them. A logit that is rounded the other
# way moves weight between experts, whose results are a hundredth of their terms. Against the result itself no bound holds, as terms cancel.
# It is wide: roundings are independent, so errors are near 2^-9 of the result, and `rms` of `errors` says so. A step of 64 that is left out or
# taken twice, a row of another token, a weight of another expert are wrong by several bounds in many elements, of which one is enough.
BOUND = 2.0**-7


def logits_of(layer, weights, x):
    """Of rows of x, rounded to bf16 as the linear layer stores them."""
    logits = x.double() @ weights["router"].double().t()
    if "b_router" in weights:
        logits = logits + weights["b_router"].double()
    return logits.to(torch.bfloat16).double()


def clearly_routed(layer, logits):
    """Whether no rounding of a logit changes a token's experts."""
    if layer.E == layer.k:
        return torch.ones(len(logits), dtype=torch.bool, device=logits.device)
    ranked = logits.sort(dim=-1, descending=True).values
    return ranked[:, layer.k - 1] - ranked[:, layer.k] > CLEAR * logits.abs().amax(dim=-1)


def exact_layer(layer, weights, x):
    """(y, sums of absolute terms, both float64 [tokens, H]; whether rounding cannot change a token's experts [tokens])"""
    logits = logits_of(layer, weights, x)
    best, ids = torch.softmax(logits, dim=-1).topk(layer.k, dim=-1)
    best = best / best.sum(dim=-1, keepdim=True)
    y = torch.zeros(x.shape, dtype=torch.float64, device=x.device)
    terms = torch.zeros_like(y)
    for expert in ids.unique().tolist():
        token, slot = (ids == expert).nonzero(as_tuple=True)
        product = x[token].double() @ weights["w_in"][expert].double().t()
        if layer.clamped:
            product += weights["b_in"][expert].double()
        h = activate(*product.chunk(2, dim=-1), layer.clamped).to(torch.bfloat16).double()
        down = weights["w_out"][expert].double().t()
        result, absolute = h @ down, h.abs() @ down.abs()
        if layer.clamped:
            result += weights["b_out"][expert].double()
            absolute += weights["b_out"][expert].double().abs()
        weight = best[token, slot, None]
        y.index_add_(0, token, weight * result)
        terms.index_add_(0, token, weight * absolute)
    return y, terms, clearly_routed(layer, logits)


def clear_tokens(layer, weights, tokens, draw):
    """`tokens` rows of bf16 of those of `draw(count)` whose experts no rounding changes: so every element can be held against float64."""
    rows = draw(8 * tokens + 64).to(torch.bfloat16)
    rows = rows[clearly_routed(layer, logits_of(layer, weights, rows))]
    if len(rows) < tokens:
        raise ValueError(f"only {len(rows)} of {8 * tokens + 64} tokens are clearly routed")
    return rows[:tokens].contiguous()


def errors(got, y, terms):
    """{"worst": the largest error in units of the bound, "rms": the root of the mean square of errors, in units of 2^-9 of the root of the mean
    square of results, "wrong": elements outside of the bound, "elements"}. NaN is outside of every bound."""
    error = (got.double() - y).abs().nan_to_num(nan=float("inf"))
    units = error / (BOUND * terms).clamp(min=1e-30)
    rms = float(error.square().mean().sqrt() / (2.0**-9 * y.square().mean().sqrt()).clamp(min=1e-30))
    return {"worst": finite(float(units.max())), "rms": finite(rms), "wrong": int((units > 1).sum()), "elements": got.numel()}


def finite(value):
    """JSON has no infinity."""
    return min(value, 1e30) if value == value else 1e30
