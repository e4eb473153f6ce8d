"""Feed-forward experts: two products with an activation in between."""

import math
from dataclasses import dataclass
from typing import Callable, Optional, Union

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return np.where(x >= 0, 1, np.exp(np.minimum(x, 0))) / (1 + np.exp(-np.abs(x)))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def relu(x):
    return np.maximum(x, 0)


def relu2(x):
    return relu(x) ** 2


def swigluoai(gate, up, alpha=1.702, limit=7.0):
    """Clamped SwiGLU: the gate is clamped from above, the up part on both sides, and 1 is added to it."""
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    return (up + 1) * gate * sigmoid(alpha * gate)


ACTIVATIONS = {"silu": silu, "gelu": gelu, "gelu_tanh": gelu_tanh, "relu": relu, "relu2": relu2}
GATED_ACTIVATIONS = {
    **{name: (lambda gate, up, f=function: f(gate) * up) for name, function in ACTIVATIONS.items()},
    "swigluoai": swigluoai,
}


def activate(pre, activation, gated=False, interleaved=False):
    """`pre` [..., I] or, if gated, [..., 2 I] -> [..., I]. `activation` is a name or a function."""
    table = GATED_ACTIVATIONS if gated else ACTIVATIONS
    function = activation if callable(activation) else table[activation]
    if not gated:
        return function(pre)
    half = pre.shape[-1] // 2
    gate, up = (pre[..., ::2], pre[..., 1::2]) if interleaved else (pre[..., :half], pre[..., half:])
    return function(gate, up)


@dataclass
class Experts:
    """Weights and form of E experts.

    w_in        [E, I, H], gated [E, 2 I, H] (gate half, then up half; `interleaved`: even gate, odd up)
    w_out       [E, O, I]
    b_in        [E, I] or [E, 2 I], optional
    b_out       [E, O], optional
    activation  name of ACTIVATIONS or GATED_ACTIVATIONS, or a function
    storage     dtype to which the inner row and the result are rounded, as a compiled program with that dtype stores
                them; None keeps float64. Sums are exact to float64 either way
    """

    w_in: np.ndarray
    w_out: np.ndarray
    b_in: Optional[np.ndarray] = None
    b_out: Optional[np.ndarray] = None
    activation: Union[str, Callable] = "silu"
    gated: bool = False
    interleaved: bool = False
    storage: Optional[np.dtype] = None

    @property
    def count(self):
        return self.w_in.shape[0]

    def _round(self, x):
        return x if self.storage is None else x.astype(self.storage).astype(np.float64)

    def __call__(self, expert, rows):
        """Rows `[R, H]` through one expert: `[R, O]` float64."""
        pre = rows.astype(np.float64) @ self.w_in[expert].astype(np.float64).T
        if self.b_in is not None:
            pre = pre + self.b_in[expert].astype(np.float64)
        inner = self._round(activate(pre, self.activation, self.gated, self.interleaved))
        out = inner @ self.w_out[expert].astype(np.float64).T
        if self.b_out is not None:
            out = out + self.b_out[expert].astype(np.float64)
        return self._round(out)

    def batched(self, buffer):
        """`[E, C, H]` -> `[E, C, O]`: the same number of rows for every expert (row X1)."""
        return np.stack([self(e, buffer[e]) for e in range(self.count)])

    def grouped(self, rows, counts):
        """Rows `[R, H]` ordered by expert, `counts` [E] of them each -> `[R, O]` (row X2)."""
        ends = np.cumsum(counts)
        parts = [self(e, rows[end - count : end]) for e, (end, count) in enumerate(zip(ends, counts))]
        return np.concatenate(parts) if parts else np.zeros((0, self.w_out.shape[1]))
