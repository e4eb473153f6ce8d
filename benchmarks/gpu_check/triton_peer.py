"""A grouped product in Triton: rows gathered in the loader, the gated activation and the routing weight in the epilogue.

Blocks of rows of one expert are listed on the device, in the manner of the fused kernels of serving systems. Two configurations per kind of
block are tried on the first call; the better one is kept.
"""

import torch
import triton
import triton.language as tl

from .cases import ALPHA, LIMIT
from .peers import route, sort_pairs


@triton.jit
def grouped_product(
    a, w, bias, c, pair_of, token_of, weight_of, expert_of, first_of, end_of, N, K, stride_a, stride_e, stride_n, stride_c, stride_b,
    GATED: tl.constexpr, SCATTER: tl.constexpr, CLAMPED: tl.constexpr, ALPHA: tl.constexpr, LIMIT: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """One block of rows and BN columns: c[row] = a[token_of[row]] * w[expert]^T, or silu(gate) * up of it; with `CLAMPED` a bias is added, and
    the activation is that of GPT-OSS."""
    block, column = tl.program_id(1), tl.program_id(0)
    expert = tl.load(expert_of + block).to(tl.int64)
    if expert < 0:
        return
    end = tl.load(end_of + block)
    rows = tl.load(first_of + block) + tl.arange(0, BM)
    exists = rows < end
    tokens = tl.load(token_of + rows, mask=exists, other=0).to(tl.int64)
    columns = column * BN + tl.arange(0, BN)
    steps = tl.arange(0, BK)
    from_a = a + tokens[:, None] * stride_a + steps[None, :]
    from_w = w + expert * stride_e + (columns % N)[None, :].to(tl.int64) * stride_n + steps[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    up = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inside = steps < K - k
        x = tl.load(from_a, mask=exists[:, None] & inside[None, :], other=0.0)
        acc = tl.dot(x, tl.load(from_w, mask=inside[:, None], other=0.0), acc)
        if GATED:
            up = tl.dot(x, tl.load(from_w + N * stride_n, mask=inside[:, None], other=0.0), up)
        from_a += BK
        from_w += BK
    if CLAMPED:
        from_bias = bias + expert * stride_b + columns % N
        acc += tl.load(from_bias)[None, :].to(tl.float32)
        if GATED:
            up += tl.load(from_bias + N)[None, :].to(tl.float32)
            acc = tl.minimum(acc, LIMIT)
            acc = acc * tl.sigmoid(ALPHA * acc) * (tl.minimum(tl.maximum(up, -LIMIT), LIMIT) + 1)
    elif GATED:
        acc = acc * tl.sigmoid(acc) * up
    to = rows
    if SCATTER:
        to = tl.load(pair_of + rows, mask=exists, other=0)
        acc = acc * tl.load(weight_of + to, mask=exists, other=0.0)[:, None]
    target = c + to.to(tl.int64)[:, None] * stride_c + columns[None, :]
    tl.store(target, acc.to(c.dtype.element_ty), mask=exists[:, None] & (columns < N)[None, :])


# Rows of a block -> (columns, depth, warps, stages) for a plain product and for a gated one, which has two accumulators.
PLAIN = {16: [(128, 128, 4, 4), (64, 256, 4, 3)], 64: [(256, 64, 8, 3), (128, 64, 4, 4)], 128: [(256, 64, 8, 3), (128, 64, 8, 4)]}
GATED = {16: [(64, 128, 4, 4), (64, 256, 4, 3)], 64: [(128, 64, 8, 3), (128, 64, 4, 3)], 128: [(128, 64, 8, 3), (128, 64, 8, 4)]}


class TritonLayer:
    name = "Triton grouped"

    def __init__(self, layer, weights, tokens):
        self.layer, self.weights = layer, weights
        rows = tokens * layer.k / layer.E
        self.block = 16 if rows <= 16 else 64 if rows <= 64 else 128
        # Every expert may leave one block that is not full.
        self.blocks = min(tokens * layer.k, tokens * layer.k // self.block + layer.E)
        self.chosen = {}

    def list_blocks(self, counts):
        """(expert, first row, end of the expert's rows) per block; expert -1 for blocks that are not there."""
        blocks = (counts + self.block - 1) // self.block
        ends, row_ends = blocks.cumsum(0), counts.cumsum(0)
        number = torch.arange(self.blocks, device=counts.device)
        expert = torch.searchsorted(ends, number, right=True).clamp(max=self.layer.E - 1)
        first = row_ends[expert] - counts[expert] + (number - (ends[expert] - blocks[expert])) * self.block
        expert = torch.where(number < ends[-1], expert, -1)
        return expert.int(), first.int(), row_ends[expert].int()

    def product(self, gated, a, w, bias, c, pair_of, token_of, weight_of, blocks):
        columns = w.shape[1] // 2 if gated else w.shape[1]
        clamped = self.layer.clamped
        bias = bias if clamped else w  # not read

        def launch(bn, bk, warps, stages):
            grid = (triton.cdiv(columns, bn), self.blocks)
            grouped_product[grid](
                a, w, bias, c, pair_of, token_of, weight_of, *blocks, columns, a.shape[1], a.stride(0), w.stride(0), w.stride(1), c.stride(0),
                bias.stride(0), GATED=gated, SCATTER=not gated, CLAMPED=clamped, ALPHA=ALPHA, LIMIT=LIMIT,
                BM=self.block, BN=bn, BK=bk, num_warps=warps, num_stages=stages,
            )  # fmt: skip

        if gated not in self.chosen:
            self.chosen[gated] = best_of((GATED if gated else PLAIN)[self.block], launch)
        launch(*self.chosen[gated])
        return c

    def __call__(self, x):
        k = self.layer.k
        weights, ids = route(x, self.weights, k)
        order, counts = sort_pairs(ids, self.layer.E)
        order, blocks = order.int(), self.list_blocks(counts)
        rows = torch.arange(len(order), device=x.device, dtype=torch.int32)
        flat = weights.flatten()
        h = x.new_empty(len(order), self.layer.I)
        self.product(True, x, self.weights["w_in"], self.weights.get("b_in"), h, order, order // k, flat, blocks)
        y = x.new_empty(len(order), self.layer.H)
        self.product(False, h, self.weights["w_out"], self.weights.get("b_out"), y, order, rows, flat, blocks)
        return y.view(len(x), k, -1).sum(dim=1)


def best_of(configurations, launch):
    """The fastest of those that run."""
    times = {}
    for configuration in configurations:
        try:
            launch(*configuration)
            times[configuration] = timed(lambda c=configuration: launch(*c))
        except triton.runtime.errors.OutOfResources:
            continue
    return min(times, key=times.get)


def timed(call, repeats=3):
    """Seconds of a call on the GPU; without one there is nothing to choose by."""
    if not torch.cuda.is_available():
        return 0.0
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / repeats
