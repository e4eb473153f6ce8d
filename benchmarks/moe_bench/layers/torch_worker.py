"""Worker that runs the layer in PyTorch: transformers' loop over experts, grouped_mm, and what torch.compile makes of them."""

import numpy as np
import torch
import torch.nn.functional as F

from .side import Side, main


def tensor_of(bits, dtype):
    """bf16 bits as a tensor of `dtype` in memory of its own."""
    return torch.from_numpy(np.array(bits)).view(torch.bfloat16).to(getattr(torch, dtype))


def expert(rows, w_in, w_out):
    """One expert on its rows."""
    gate, up = F.linear(rows, w_in).chunk(2, dim=-1)
    return F.linear(F.silu(gate) * up, w_out)


def each_expert(x, ids, scores, experts, body):
    """The loop of transformers' eager experts: body(expert, rows) for every expert that a token chose."""
    y = torch.zeros_like(x)
    chosen = F.one_hot(ids, experts).permute(2, 1, 0)
    for e in torch.greater(chosen.sum(dim=(-1, -2)), 0).nonzero()[:, 0].tolist():
        slots, tokens = torch.where(chosen[e])
        out = body(e, x[tokens]) * scores[tokens, slots, None]
        y.index_add_(0, tokens, out.to(y.dtype))
    return y


def grouped(x, ids, scores, w_in, w_out):
    """All experts at once: rows sorted by expert, two grouped products; weights [E, in, out] as grouped_mm wants them."""
    k = ids.shape[1]
    sorted_ids, order = torch.sort(ids.reshape(-1))
    ends = torch.searchsorted(sorted_ids, torch.arange(w_in.shape[0]), right=True).to(torch.int32)
    gate, up = torch._grouped_mm(x[order // k], w_in, offs=ends).chunk(2, dim=-1)
    out = torch._grouped_mm(F.silu(gate) * up, w_out, offs=ends) * scores.reshape(-1)[order, None]
    back = torch.empty_like(order)
    back[order] = torch.arange(order.numel())
    return out[back].view(*ids.shape, -1).sum(dim=1).to(x.dtype)


class Torch(Side):
    def versions(self):
        return {"torch": torch.__version__, "threads": torch.get_num_threads()}

    def load(self, weights):
        torch.set_num_threads(len(self.cores))
        self._w_in, self._w_out = (tensor_of(weights[n], self.dtype) for n in ("w_in", "w_out"))
        # Inductor compiles grouped_mm for bf16 only; float32 compiles the expert, one program for any number of rows.
        self._compiled = torch.compile(grouped if self.dtype == "bfloat16" else expert, dynamic=True)

    def case(self, x, ids, weights):
        x = torch.from_numpy(x).to(getattr(torch, self.dtype))
        ids, scores = torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(weights)
        w_in, w_out = self._w_in, self._w_out
        transposed = w_in.transpose(1, 2), w_out.transpose(1, 2)

        def loop(function):
            return lambda: each_expert(x, ids, scores, self.shape.experts, lambda e, rows: function(rows, w_in[e], w_out[e]))

        variants = {"torch-eager": loop(expert), "torch-grouped": lambda: grouped(x, ids, scores, *transposed)}
        if self.dtype == "bfloat16":
            variants["torch-compile"] = lambda: self._compiled(x, ids, scores, *transposed)
        else:
            variants["torch-compile"] = loop(self._compiled)
        return {name: self._pair(function) for name, function in variants.items()}

    def _pair(self, function):
        last = []

        def call():
            with torch.inference_mode():
                last[:] = [function()]

        return call, lambda: last[0].float().numpy()


if __name__ == "__main__":
    main(Torch)
