"""A small layer with its data in a folder, and what it computes in float64."""

import numpy as np
from moe_bench.layers import data
from moe_bench.layers.rows import Shape
from moe_bench.layers.side import weights_of, widen

SMALL = Shape("small", 32, 48, 6, 2, (1, 9))


def make(folder):
    """The folder of SMALL's data."""
    target = folder / "data"
    data.make(SMALL, target)
    return target


def arrays_of(folder, case):
    return [np.load(folder / case / f"{name}.npy") for name in ("x", "ids", "weights")]


def expected(folder, case):
    """Results [inputs * T, H] of a case."""
    x, ids, weights = (a.reshape(-1, a.shape[-1]).astype(np.float64 if a.dtype.kind == "f" else int) for a in arrays_of(folder, case))
    w_in, w_out = (widen(weights_of(folder)[n]).astype(np.float64) for n in ("w_in", "w_out"))
    y = np.zeros_like(x)
    for t in range(len(x)):
        for e, scale in zip(ids[t], weights[t]):
            gate, up = np.split(w_in[e] @ x[t], 2)
            y[t] += scale * (w_out[e] @ (gate / (1 + np.exp(-gate)) * up))
    return y
