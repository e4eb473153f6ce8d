"""The products of experts in all their forms: gated or not, interleaved, with biases, no tokens, all experts; on the emulated GPU
against NumPy, bit for bit."""

import numpy as np
import pytest
from emitted import EmulatedKernels, kernel_level, pack
from emulated import aligned, from_bf16, schedules, to_bf16

from moe_mlir.testing.full import sample

GRAPH = """
func.func @main(%x: tensor<?x{H}x{type}> {{moe.dims = ["tokens", ""], moe.name = "x"}}, %ids: tensor<?x{k}xi32> {{moe.dims = ["tokens", ""], moe.name = "ids"}},
                %w1: tensor<{E}x{I2}x{H}x{type}> {{moe.name = "w1"}}, %w2: tensor<{E}x{H}x{I}x{type}> {{moe.name = "w2"}},
                %b1: tensor<{E}x{I2}x{type}> {{moe.name = "b1"}}, %b2: tensor<{E}x{H}x{type}> {{moe.name = "b2"}})
                -> (tensor<?x{H}x{type}> {{moe.name = "y"}}) {{
  %rows, %layout = moe.dispatch %x, %ids num_experts({E}) : tensor<?x{H}x{type}>, tensor<?x{k}xi32> -> tensor<?x{H}x{type}>, !moe.layout<{E}>
  %o = moe.expert %rows, %layout, %w1, %w2{biases} {form} {{
    {activation}
  }} : tensor<?x{H}x{type}>, !moe.layout<{E}>, tensor<{E}x{I2}x{H}x{type}>, tensor<{E}x{H}x{I}x{type}> -> tensor<?x{H}x{type}>
  %y = moe.combine %o, %layout : tensor<?x{H}x{type}>, !moe.layout<{E}> -> tensor<?x{H}x{type}>
  return %y : tensor<?x{H}x{type}>
}}
"""
PRODUCT = "^bb0(%g: f32, %u: f32):\n %v = arith.mulf %g, %u : f32\n moe.yield %v : f32"
SQUARE = "^bb0(%g: f32):\n %v = arith.mulf %g, %g : f32\n moe.yield %v : f32"


class Experts:
    def __init__(self, folder, H, I, E, k, gated, interleaved, bias, element):  # noqa: E741
        self.H, self.I, self.E, self.k, self.gated, self.interleaved, self.bias = H, I, E, k, gated, interleaved, bias
        self.element, self.dtype = element, {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}[element]
        I2 = 2 * I if gated else I
        biases = f" bias_in(%b1 : tensor<{E}x{I2}x{element}>) bias_out(%b2 : tensor<{E}x{H}x{element}>)" if bias else ""
        form = ("gated" if gated else "") + (" interleaved" if interleaved else "")
        graph = GRAPH.format(H=H, I=I, I2=I2, E=E, k=k, type=element, biases=biases, form=form, activation=PRODUCT if gated else SQUARE)
        self.kernels = EmulatedKernels(kernel_level(graph), folder)
        random = np.random.default_rng(H + I + E)
        self.w1, self.w2, self.b1, self.b2 = (random.integers(-1, 2, s) for s in ((E, I2, H), (E, H, I), (E, I2), (E, H)))

    def bits(self, numbers):
        array, numbers = aligned(numbers.shape, self.dtype), numbers.astype(np.float32)
        array[...] = to_bf16(numbers) if self.element == "bf16" else numbers
        array.flags.writeable = False
        return array

    def numbers(self, array):
        return from_bf16(array) if self.element == "bf16" else array

    def halves(self, array):
        """Gate, then up, along the second dimension."""
        return np.concatenate([array[:, ::2], array[:, 1::2]], axis=1) if self.interleaved else array

    def packed(self, weight, halves=False):
        name = f"pack_{'x'.join(map(str, weight.shape))}_{self.element}" + ("_halves" if halves else "")
        result = pack(self.bits(self.halves(weight) if halves else weight), self.kernels.columns[name], halves)
        copy = aligned(result.shape, self.dtype)
        copy[...] = result
        copy.flags.writeable = False
        return copy

    def run(self, tokens, **schedule):
        random = np.random.default_rng(tokens)
        x = random.integers(-1, 2, (tokens, self.H))
        ids = np.stack([random.permutation(self.E)[: self.k] for _ in range(tokens)]) if tokens else np.zeros((0, self.k), int)
        order = np.argsort(ids.ravel(), kind="stable")
        expert_of, token_of, R = ids.ravel()[order], (order // self.k).astype(np.int32), len(order)
        counts = np.bincount(expert_of, minlength=self.E)
        records, count = aligned((self.E, 5), np.int32), np.array([np.count_nonzero(counts)], np.int32)
        present = np.flatnonzero(counts)
        records[: len(present), :3] = np.stack([present, (np.cumsum(counts) - counts)[present], counts[present]], axis=1)
        bias = [self.bits(self.halves(self.b1) if self.gated else self.b1)] if self.bias else []

        h = aligned((R, self.I), self.dtype, 0x7FC0)
        self.kernels.run("experts_up", self.bits(x), tokens, token_of, R, self.packed(self.w1, self.gated), *bias, h, R, records, count, **schedule)
        expected = np.einsum("rnh,rh->rn", self.halves(self.w1)[expert_of], x[token_of]) if R else np.zeros((0, self.w1.shape[1]), int)
        if self.bias:
            expected = expected + self.halves(self.b1)[expert_of]
        gate, up = np.split(expected, 2, axis=1) if self.gated else (expected, expected)
        np.testing.assert_array_equal(h, self.bits(gate.astype(np.float32) * up.astype(np.float32)))  # 0 * -1 is -0

        y = aligned((R, self.H), np.float32, np.nan)
        bias = [self.bits(self.b2)] if self.bias else []
        self.kernels.run("experts_down", h, R, self.packed(self.w2), *bias, y, R, records, count, **schedule)
        expected = np.einsum("rhi,ri->rh", self.w2[expert_of], self.numbers(h).astype(np.float64)) if R else np.zeros((0, self.H))
        np.testing.assert_array_equal(y, expected + self.b2[expert_of] if self.bias else expected)


# Few experts and all of them, rows of 16 bytes and not, odd sizes.
CASES = [
    (72, 40, 3, 3, True, False, True, "bf16"),
    (101, 31, 4, 2, True, True, True, "bf16"),
    (64, 136, 5, 1, False, False, True, "bf16"),
    (80, 72, 4, 4, True, True, False, "bf16"),
    (33, 24, 2, 1, False, False, False, "bf16"),
    (72, 50, 3, 2, True, False, True, "f16"),
    (36, 44, 3, 3, True, False, True, "f32"),
    (37, 31, 4, 2, True, True, True, "f32"),
]


@pytest.mark.parametrize("H, I, E, k, gated, interleaved, bias, element", sample(CASES, *range(0, len(CASES), 2)))
def test_experts(H, I, E, k, gated, interleaved, bias, element, tmp_path):  # noqa: E741
    experts = Experts(tmp_path, H, I, E, k, gated, interleaved, bias, element)
    for i, tokens in enumerate((0, 3, 50)):
        experts.run(tokens, blocks=1 + i, **list(schedules())[2 * i + 1])
        experts.run(tokens, blocks=2, **next(schedules(strict=True)))
