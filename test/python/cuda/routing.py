"""Gate and layout of a MoE layer on the emulated GPU, kernel by kernel, and what NumPy says they are."""

from dataclasses import dataclass

import numpy as np
from emitted import EmulatedKernels, cuda_text, kernel_level
from emulated import aligned

CHUNKS = 128  # of tokens at most, as #cuda.target says

GATED = """
func.func @main(%x: tensor<?x1xf32>, %l: tensor<?x{E}xf32>) -> (tensor<?x1xf32>, tensor<?x{k}xf32>, tensor<?x{k}xi32>) {{
  %w, %e = moe.gate %l top_k({k}) score(softmax) renormalize(sum)
      : tensor<?x{E}xf32> -> tensor<?x{k}xf32>, tensor<?x{k}xi32>
  %rows, %layout = moe.dispatch %x, %e num_experts({E})
      : tensor<?x1xf32>, tensor<?x{k}xi32> -> tensor<?x1xf32>, !moe.layout<{E}>
  return %rows, %w, %e : tensor<?x1xf32>, tensor<?x{k}xf32>, tensor<?x{k}xi32>
}}
"""

GIVEN = """
func.func @main(%x: tensor<?x1xf32>, %e: tensor<?x{k}x{type}>) -> tensor<?x1xf32> {{
  %rows, %layout = moe.dispatch %x, %e num_experts({E})
      : tensor<?x1xf32>, tensor<?x{k}x{type}> -> tensor<?x1xf32>, !moe.layout<{E}>
  return %rows : tensor<?x1xf32>
}}
"""


def chosen_by(logits, k):
    """The k experts of each token: higher first, the lower number of equal ones first. A softmax makes all of them NaN if one is."""
    rank = np.where(np.isnan(logits).any(axis=-1, keepdims=True), 0, logits)
    return np.argsort(-rank, axis=-1, kind="stable")[:, :k].astype(np.int32)


@dataclass
class Layout:
    offsets: np.ndarray
    tokens: np.ndarray
    places: np.ndarray
    records: np.ndarray

    @staticmethod
    def of(ids, experts):
        """Pairs by expert, then as they come; numbers that are no expert's have no row."""
        t, k = ids.shape
        flat = ids.reshape(-1).astype(np.int64)
        here = np.flatnonzero((flat >= 0) & (flat < experts))
        order = here[np.argsort(flat[here], kind="stable")]
        counts = np.bincount(flat[here], minlength=experts)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        places = np.full(t * k, -1)
        places[order] = np.arange(len(order))
        records = [[e, offsets[e], counts[e], 0, 0] for e in range(experts) if counts[e]]
        return Layout(offsets, order // k, places.reshape(t, k), np.array(records, int).reshape(-1, 5))

    def check(self, other):
        """`other` may have room for more rows and records."""
        np.testing.assert_array_equal(other.offsets, self.offsets)
        np.testing.assert_array_equal(other.tokens[: len(self.tokens)], self.tokens)
        np.testing.assert_array_equal(other.places, self.places)
        np.testing.assert_array_equal(other.records, self.records)


class Routing:
    """The kernels of a gate and its layout, or with `given` ("i32", "i64") of a layout alone."""

    def __init__(self, experts, k, folder, given=None, edit=lambda text: text):
        self.experts, self.k, self.given = experts, k, given
        self.graph = (GIVEN if given else GATED).format(E=experts, k=k, type=given)
        level = kernel_level(self.graph)
        self.text = edit(cuda_text(level))
        self.kernels = EmulatedKernels(level, folder, edit)

    def counts(self, tokens):
        """Ranks of the pairs, and counts by chunk and expert."""
        return aligned((tokens, self.k), np.int32, -7), self.per_chunk()

    def per_chunk(self):
        return aligned((CHUNKS, self.experts), np.int32, -7)

    def gate(self, logits, **launch):
        """Weights, experts and counts."""
        T, E, k = len(logits), self.experts, self.k
        scores, best, weights = (aligned((T, n), np.float32, np.nan) for n in (E, k, k))
        ids, counts = aligned((T, k), np.int32, -7), self.counts(T)
        source = aligned((T, E), np.float32)
        source[...] = logits
        source.flags.writeable = False
        arguments = (source, T, scores, T, best, T, ids, T, weights, T, counts[0], T, counts[1], CHUNKS, E)
        self.kernels.run("gate_", *arguments, **launch)
        return weights, ids, counts

    def count(self, ids, **launch):
        counts = self.counts(len(ids))
        T = len(ids)
        self.kernels.run("count_", ids, T, counts[0], T, counts[1], CHUNKS, self.experts, **launch)
        return counts

    def layout(self, ids, counts, **launch):
        T, E, R = len(ids), self.experts, ids.size
        offsets, tokens, places = aligned(E + 1, np.int32, -7), aligned(R, np.int32, -7), aligned((T, self.k), np.int32, -7)
        records, count = aligned((E, 5), np.int32, -7), aligned(1, np.int32, -7)
        self.kernels.run(
            "layout_", ids, T, offsets, tokens, R, places, T, self.k, records, count, counts[0], T, counts[1], CHUNKS, E,
            self.per_chunk(), CHUNKS, E, self.per_chunk(), CHUNKS, E, **launch,
        )  # fmt: skip
        return Layout(offsets, tokens, places, records[: count[0]])

    def run(self, values, **launch):
        """The layout of logits, or of given ids; and of logits also (weights, ids)."""
        if self.given:
            ids = aligned(values.shape, {"i32": np.int32, "i64": np.int64}[self.given])
            ids[...] = values
            return self.layout(ids, self.count(ids, **launch), **launch)
        weights, ids, counts = self.gate(values, **launch)
        return self.layout(ids, counts, **launch), weights, ids
