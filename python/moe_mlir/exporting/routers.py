"""The routers of a model: their choice can be given, and it can be seen (row G25).

Rounding makes two correct runs of a bfloat16 model choose different experts now and then, after which their results
differ by far more than rounding. With the ids given, only rounding is left to compare. The weights still come from the
router's logits, at the given ids.
"""

import torch

from ..errors import UnsupportedError
from ..hf import experts_modules


class Routers:
    """Context in which the routers of `model` take their choice from `ids` and leave it in `chosen`.

    ids     None: the routers choose; or a list of `[B, S, k]` int64, one per MoE layer
    chosen  list of `[B S, k]` int64, one per MoE layer, of the forward pass since `chosen` was last cleared
    logits  list of `[B S, E]`, of the same
    """

    def __init__(self, model):
        self.modules = [_router_of(model, name) for name, _ in experts_modules(model)]
        if not self.modules:
            raise UnsupportedError(
                f"experts can be forced or returned where transformers' registry can replace them only; '{type(model).__name__}' "
                "has none of those"
            )
        self.ids = None
        self.clear()
        self._handles = []

    def __len__(self):
        return len(self.modules)

    def clear(self):
        self.chosen, self.logits = [], []

    def __enter__(self):
        self._handles = [module.register_forward_hook(self._hook(i)) for i, module in enumerate(self.modules)]
        return self

    def __exit__(self, *exception):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _hook(self, index):
        def hook(router, inputs, outputs):
            logits, scores, chosen = outputs
            if self.ids is not None:
                chosen = self.ids[index].reshape(-1, self.ids[index].shape[-1])
                weights = torch.softmax(logits.float(), dim=-1).gather(1, chosen)
                if getattr(router, "norm_topk_prob", True):
                    weights = weights / weights.sum(dim=-1, keepdim=True)
                scores = weights.to(scores.dtype)
            self.chosen.append(chosen)
            self.logits.append(logits)
            return logits, scores, chosen

        return hook


def _router_of(model, experts_name):
    """The softmax top-k router that stands beside an experts module."""
    block = model.get_submodule(experts_name.rpartition(".")[0])
    router = getattr(block, "gate", None)
    if router is None or not hasattr(router, "top_k") or getattr(router, "e_score_correction_bias", None) is not None:
        raise UnsupportedError(
            "experts can be forced or returned for softmax top-k routers only; "
            f"'{experts_name}' has another kind beside it"
        )
    return router
