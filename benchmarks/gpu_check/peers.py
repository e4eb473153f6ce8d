"""What a layer is compared with: PyTorch's grouped products, a grouped product in Triton, and cuBLAS as a yardstick.

Each peer computes the whole layer, routing and combine included, from the same tensors, without a copy to the host.
"""

import torch
import torch.nn.functional as F


def route(x, router, k):
    """(weights [T, k] f32, ids [T, k])"""
    scores = torch.softmax(F.linear(x, router).float(), dim=-1)
    weights, ids = scores.topk(k, dim=-1)
    return weights / weights.sum(dim=-1, keepdim=True), ids


def sort_pairs(ids, experts):
    """(pairs in the order of their experts, rows of each expert)"""
    flat = ids.flatten()
    order = torch.argsort(flat, stable=True)
    counts = torch.zeros(experts, dtype=torch.int32, device=ids.device)
    return order, counts.scatter_add_(0, flat, torch.ones_like(flat, dtype=torch.int32))


def combine(y, order, weights):
    """y: rows in the order of experts. Weighted sums in the order of the tokens' choices."""
    tokens, k = weights.shape
    pairs = torch.empty_like(y).index_copy_(0, order, y)
    return (pairs.view(tokens, k, -1).float() * weights[..., None]).sum(dim=1).to(y.dtype)


class GroupedMm:
    """torch._grouped_mm, as Hugging Face's `grouped_mm` experts use it."""

    name = "torch _grouped_mm"

    def __init__(self, layer, weights):
        self.layer, self.router = layer, weights["router"]
        self.w_in, self.w_out = weights["w_in"].transpose(-2, -1), weights["w_out"].transpose(-2, -1)

    def __call__(self, x):
        weights, ids = route(x, self.router, self.layer.k)
        order, counts = sort_pairs(ids, self.layer.E)
        ends = counts.cumsum(0, dtype=torch.int32)
        gate, up = torch._grouped_mm(x[order // self.layer.k], self.w_in, offs=ends).chunk(2, dim=-1)
        y = torch._grouped_mm(F.silu(gate) * up, self.w_out, offs=ends)
        return combine(y, order, weights)


class Dense:
    """cuBLAS on as many rows and operations, with one matrix for all rows: no routing, no groups. A yardstick, not a layer."""

    name = "cuBLAS dense"

    def __init__(self, layer, weights):
        self.layer, self.w_in, self.w_out = layer, weights["w_in"][0].t(), weights["w_out"][0].t()
        self.rows = None

    def __call__(self, x):
        rows = len(x) * self.layer.k
        if self.rows is None or len(self.rows) != rows:
            self.rows = x.repeat(self.layer.k, 1)
        gate, _ = (self.rows @ self.w_in).chunk(2, dim=-1)
        return gate.contiguous() @ self.w_out


def exact_rows(layer, weights, x, tokens):
    """The layer in float64 for a few tokens: (y, sums of absolute terms, whether rounding cannot change a token's experts)."""
    x = x[tokens].double()
    logits = (x @ weights["router"].double().t()).to(torch.bfloat16).double()
    scores = torch.softmax(logits, dim=-1)
    best, ids = scores.topk(layer.k, dim=-1)
    best = best / best.sum(dim=-1, keepdim=True)
    ranked = logits.sort(dim=-1, descending=True).values
    clear = torch.ones(len(x), dtype=torch.bool, device=x.device)
    if layer.E > layer.k:
        clear = ranked[:, layer.k - 1] - ranked[:, layer.k] > 2.0**-6 * logits.abs().amax(dim=-1)
    y, terms = torch.zeros_like(x), torch.zeros_like(x)
    for t in range(len(x)):
        for slot in range(layer.k):
            expert = ids[t, slot]
            gate, up = (weights["w_in"][expert].double() @ x[t]).chunk(2)
            h = (F.silu(gate) * up).to(torch.bfloat16).double()
            down = weights["w_out"][expert].double()
            y[t] += best[t, slot] * (down @ h)
            terms[t] += best[t, slot] * (down.abs() @ h.abs())
    return y, terms, clear
