"""What a layer is compared with: PyTorch's grouped products, a grouped product in Triton, and cuBLAS as a yardstick.

Each peer computes the whole layer, routing and combine included, from the same tensors, without a copy to the host.
"""

import torch
import torch.nn.functional as F

from .cases import ALPHA, LIMIT


def route(x, weights, k):
    """(weights [T, k] f32, ids [T, k])"""
    scores = torch.softmax(F.linear(x, weights["router"], weights.get("b_router")).float(), dim=-1)
    weights, ids = scores.topk(k, dim=-1)
    return weights / weights.sum(dim=-1, keepdim=True), ids


def sort_pairs(ids, experts):
    """(pairs in the order of their experts, rows of each expert)"""
    flat = ids.flatten()
    order = torch.argsort(flat, stable=True)
    counts = torch.zeros(experts, dtype=torch.int32, device=ids.device)
    return order, counts.scatter_add_(0, flat, torch.ones_like(flat, dtype=torch.int32))


def activate(gate, up, clamped):
    if clamped:
        gate = gate.clamp(max=LIMIT)
        return (up.clamp(-LIMIT, LIMIT) + 1) * gate * torch.sigmoid(ALPHA * gate)
    return F.silu(gate) * up


def combine(y, order, weights):
    """y: rows in the order of experts. Weighted sums in the order of the tokens' choices."""
    tokens, k = weights.shape
    pairs = torch.empty_like(y).index_copy_(0, order, y)
    return (pairs.view(tokens, k, -1).float() * weights[..., None]).sum(dim=1).to(y.dtype)


class GroupedMm:
    """torch._grouped_mm, as Hugging Face's `grouped_mm` experts use it."""

    name = "torch _grouped_mm"

    def __init__(self, layer, weights):
        self.layer, self.weights = layer, weights
        self.w_in, self.w_out = weights["w_in"].transpose(-2, -1), weights["w_out"].transpose(-2, -1)

    def __call__(self, x):
        weights, ids = route(x, self.weights, self.layer.k)
        order, counts = sort_pairs(ids, self.layer.E)
        ends = counts.cumsum(0, dtype=torch.int32)
        products = torch._grouped_mm(x[order // self.layer.k], self.w_in, offs=ends)
        experts = ids.flatten()[order]
        if self.layer.clamped:
            products += self.weights["b_in"][experts]
        y = torch._grouped_mm(activate(*products.chunk(2, dim=-1), self.layer.clamped), self.w_out, offs=ends)
        if self.layer.clamped:
            y += self.weights["b_out"][experts]
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
