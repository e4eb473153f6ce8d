"""The routers of a model: their choice can be given, and it can be seen (row G25).

Rounding makes two correct runs of a bfloat16 model choose different experts now and then, after which their results
differ by far more than rounding. With the ids given, only rounding is left to compare. The weights still come from the
router's logits, at the given ids.
"""

import copy

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
        self._proven = set()  # routers whose weights are known to be those of `_weights_at`

    def __len__(self):
        return len(self.modules)

    def clear(self):
        self.chosen, self.logits = [], []

    def __enter__(self):
        self._handles = [
            module.register_forward_hook(self._hook(i), with_kwargs=True) for i, module in enumerate(self.modules)
        ]
        return self

    def __exit__(self, *exception):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _hook(self, index):
        def hook(router, inputs, named, outputs):
            if len(outputs) != 3:
                raise UnsupportedError(
                    "experts can be forced or returned for routers only that give logits, weights and ids; "
                    f"'{type(router).__name__}' gives {len(outputs)} results"
                )
            logits, scores, chosen = outputs
            if self.ids is not None:
                if index not in self._proven and not torch.compiler.is_compiling():
                    _check_weights(router, inputs, named)
                    self._proven.add(index)
                chosen = self.ids[index].reshape(-1, self.ids[index].shape[-1])
                scores = _weights_at(chosen, logits, router).to(scores.dtype)
            self.chosen.append(chosen)
            self.logits.append(logits)
            return logits, scores, chosen

        return hook


def _weights_at(chosen, logits, router):
    """The weights of the experts `chosen` `[T, k]` by the softmax of the router's logits."""
    weights = torch.softmax(logits.float(), dim=-1).gather(1, chosen)
    if getattr(router, "norm_topk_prob", True):
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights


# Largest difference from the router's own weights, relative to the largest; both are computed in float32.
TOLERANCE = 1e-4


def _check_weights(router, inputs, named):
    """Raise `UnsupportedError` unless `router` gives the experts that it chooses itself the weights of `_weights_at`.

    The name of a router says nothing: others take a sigmoid, or scale what they give. Model and exported graph are
    forced by the same rule, so that comparing them would not show it.
    """
    wide = [x.float() if torch.is_tensor(x) and x.is_floating_point() else x for x in (*inputs, *named.values())]
    with torch.no_grad():
        single = copy.deepcopy(router).float()
        arguments, keywords = wide[: len(inputs)], dict(zip(named, wide[len(inputs) :]))
        logits, scores, chosen = single.forward(*arguments, **keywords)  # without this hook
        difference = (_weights_at(chosen, logits, single) - scores).abs().max().item()
    if not difference <= TOLERANCE * scores.abs().max().item():
        raise UnsupportedError(
            "experts can be forced for routers only that weigh them by the softmax of their logits; "
            f"'{type(router).__name__}' weighs those that it chooses otherwise (largest difference {difference:.3g}); "
            "export without force_experts= (--force-experts)"
        )


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
