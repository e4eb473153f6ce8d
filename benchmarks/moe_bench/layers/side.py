"""What every side of a layer's rows has in common: loading a case, one output per variant, timing. Runs in a worker, with NumPy."""

import sys
from pathlib import Path

import numpy as np

from ..protocol import repeat, serve
from ..tensorfile import bits_of, widen  # noqa: F401: workers take `widen` from here
from .rows import SHAPES


def weights_of(folder):
    """{"w_in", "w_out"} as bits of bf16 (uint16), mapped from the safetensors file."""
    return bits_of(Path(folder) / "weights.safetensors")


def narrow(values):
    """float32 numbers that bf16 holds, as its bits."""
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def largest_token_distance(actual, expected):
    """Largest distance of two rows [H] over the length of the expected one; infinite if there is anything but numbers."""
    if actual.shape != expected.shape or not np.isfinite(actual).all():
        return float("inf")
    distance = np.linalg.norm(actual - expected, axis=1) / np.linalg.norm(expected, axis=1)
    return float(distance.max())


class Side:
    """Answers to the requests of measuring.py. A subclass gives:

    versions()              what it is, for the result file
    load(weights)           once: `weights` as of weights_of
    case(x, ids, weights)   for each input: {variant: (function of one call, function that gives the result [T, H] of the last call as float32)}
    clear()                 before the inputs of another case, if there is something to free
    rest()                  after a turn: put threads to sleep that would go on spinning, if it has any
    """

    def __init__(self, shape, dtype, folder, cores):
        self.shape, self.dtype, self.folder, self.cores = shape, dtype, Path(folder), cores
        self._calls = {}

    def describe(self):
        self.load(weights_of(self.folder))
        return {"versions": self.versions()}

    def prepare(self, case, outputs):
        """Run each variant once on all inputs of `case` and write its results to `outputs`/<variant>.npy; gives the variants that can run it."""
        self._calls = {}
        self.clear()
        arrays = [np.load(self.folder / case / f"{name}.npy") for name in ("x", "ids", "weights")]
        inputs = [self.case(*given) for given in zip(*arrays)]
        for variant in inputs[0]:
            self._calls[variant] = [calls[variant][0] for calls in inputs]
            results = []
            for call, result in (calls[variant] for calls in inputs):
                call()
                results.append(np.array(result(), np.float32).reshape(-1, self.shape.hidden))
            np.save(Path(outputs) / f"{variant}.npy", np.concatenate(results))
        self.rest()
        return {"variants": list(self._calls)}

    def run(self, variant, seconds):
        """Time all inputs in a row, again and again; the times are those of one of them."""
        calls = self._calls[variant]

        def run_all():
            for call in calls:
                call()

        sample = repeat(run_all, lambda: None, seconds)
        self.rest()
        return {**sample, **{key: sample[key] / len(calls) for key in ("seconds", "mean", "least", "most")}}

    def rest(self):
        """Nothing, unless a subclass says otherwise."""

    def clear(self):
        """Nothing, unless a subclass says otherwise."""

    def compare(self, actual, expected):
        """Distance of one file of results against another."""
        return {"distance": largest_token_distance(np.load(actual), np.load(expected))}


def main(side):
    """Serve `side`, a subclass of Side, with the worker's arguments: SHAPE DTYPE FOLDER CORES [MORE...]."""
    name, dtype, folder, cores, *more = sys.argv[1:]
    shape = next(s for s in SHAPES if s.name == name)
    serve(lambda: side(shape, dtype, folder, [int(c) for c in cores.split(",")], *more))
