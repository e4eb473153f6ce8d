"""Forced experts: every MoE layer takes its experts' ids from an input (row G25).

Rounding makes two correct runs of a bf16 model choose different experts now and then, after which their results differ by far more than rounding. With
the ids given, only rounding is left to compare. The weights still come from the router's logits, at the given ids.
"""

import torch

from ..errors import UnsupportedError
from ..hf import experts_modules


class ForcedExperts:
    """Context in which the routers of `model` take their choices from `self.ids`, a list of `[B, S, k]` int64, one per MoE layer.

    While `ids` is None the routers choose freely.
    """

    def __init__(self, model):
        self.routers = [_router_of(model, name) for name, _ in experts_modules(model)]
        self.ids = None
        self._handles = []

    def __len__(self):
        return len(self.routers)

    @property
    def top_k(self):
        return [router.top_k for router in self.routers]

    def __enter__(self):
        for index, router in enumerate(self.routers):
            self._handles.append(router.register_forward_hook(self._hook(index)))
        return self

    def __exit__(self, *exception):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _hook(self, index):
        def hook(router, inputs, outputs):
            if self.ids is None:
                return outputs
            logits, scores, _ = outputs
            ids = self.ids[index].reshape(-1, self.ids[index].shape[-1])
            weights = torch.softmax(logits.float(), dim=-1).gather(1, ids)
            if getattr(router, "norm_topk_prob", True):
                weights = weights / weights.sum(dim=-1, keepdim=True)
            return logits, weights.to(scores.dtype), ids

        return hook


def _router_of(model, experts_name):
    """The softmax top-k router that stands beside an experts module."""
    block = model.get_submodule(experts_name.rpartition(".")[0])
    router = getattr(block, "gate", None)
    if router is None or not hasattr(router, "top_k") or getattr(router, "e_score_correction_bias", None) is not None:
        raise UnsupportedError(f"experts can be forced for softmax top-k routers only; '{experts_name}' has another kind beside it")
    return router
