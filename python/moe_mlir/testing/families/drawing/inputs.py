"""Tokens on which correct programs must agree: rounding cannot flip what a router or an indexer chooses."""

import torch
from torch.overrides import TorchFunctionMode

MARGIN = 2e-5  # between what is chosen and what is not, of the largest score
TRIES = 25  # for each row


class NoTokens(Exception):
    """Every choice of the model is close, or its logits are no numbers."""


class Margins(TorchFunctionMode):
    """The smallest margin of all `topk` while it is entered."""

    def __init__(self):
        super().__init__()
        self.least = float("inf")

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in (torch.topk, torch.Tensor.topk):
            self.note(*args, **kwargs)
        return function(*args, **kwargs)

    def note(self, scores, k, dim=-1, **others):
        if k >= scores.shape[dim]:
            return
        best = scores.detach().double().topk(k + 1, dim=dim).values.movedim(dim, -1)
        last, next_one = best[..., k - 1], best[..., k]
        finite = torch.where(best.abs() < 1e30, best.abs(), 0).amax(dim=-1)
        # What a mask hides loses against everything, and among such it does not matter.
        gaps = torch.where(next_one < -1e30, float("inf"), (last - next_one) / finite.clamp(min=1e-30))
        if gaps.numel():
            self.least = min(self.least, gaps.min().item())


def tokens_with_margins(model, batch, length, vocabulary, seed):
    """`[batch, length]` ids; each row is drawn until all its choices are clear. `NoTokens` if there are too few."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for _ in range(TRIES * batch):
        row = torch.randint(vocabulary, (1, length), generator=generator)
        with torch.no_grad(), Margins() as margins:
            logits = model(input_ids=row, use_cache=False).logits
        if not logits.isfinite().all():
            raise NoTokens("logits that are NaN or infinite")
        if margins.least >= MARGIN:
            rows.append(row)
            if len(rows) == batch:
                return torch.cat(rows)
    raise NoTokens("choices that rounding could flip")
