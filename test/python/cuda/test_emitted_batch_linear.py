"""Products with a matrix for each head, on the emulated GPU: rows of a head stand apart, and are copied one by one."""

import numpy as np
import pytest
from emitted import EmulatedKernels, kernel_level, small_integers
from emulated import aligned, from_bf16, schedules

G = 3
GRAPH = """
func.func @main(%x: tensor<?x{G}x{K}x{type}>, %w: tensor<{G}x{N}x{K}x{type}>, %b: tensor<{G}x{N}x{type}>) -> tensor<?x{G}x{N}x{type}> {{
  %y = nn.batch_linear %x, %w bias(%b) : tensor<?x{G}x{K}x{type}>, tensor<{G}x{N}x{K}x{type}>, tensor<{G}x{N}x{type}> -> tensor<?x{G}x{N}x{type}>
  return %y : tensor<?x{G}x{N}x{type}>
}}
"""


def integers(random, element, *shape):
    """Whole numbers whose sums are exact, whatever their order."""
    bits = small_integers(random, *shape)
    if element == "bf16":
        return bits
    array = aligned(shape, np.float16 if element == "f16" else np.float32)
    array[...] = from_bf16(bits)
    return array


def numbers(array):
    return from_bf16(array) if array.dtype == np.uint16 else array.astype(np.float32)


# Rows of whole steps, rows of whole chunks, rows whose elements are loaded one by one; one column block and several.
@pytest.mark.parametrize("element, N, K", [("bf16", 200, 128), ("f32", 90, 36), ("bf16", 24, 33), ("f16", 24, 33)])
def test_equals_numpy(element, N, K, tmp_path):
    kernels = EmulatedKernels(kernel_level(GRAPH.format(G=G, N=N, K=K, type=element)), tmp_path)
    random = np.random.default_rng(N)
    weight, bias = integers(random, element, G, N, K), integers(random, element, G, N)
    packed = kernels.pack(weight)
    for tokens, schedule in zip((0, 1, 20, 140), schedules(), strict=False):
        x = integers(random, element, tokens, G, K)
        y = aligned((tokens, G, N), x.dtype)
        kernels.run("batch_linear_", x, tokens * G, packed, bias, y, tokens * G, tokens, blocks=1 + tokens % 3, **schedule)
        expected = np.einsum("tgk,gnk->tgn", numbers(x), numbers(weight)) + numbers(bias)
        np.testing.assert_array_equal(numbers(y), expected)
