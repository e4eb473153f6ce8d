"""Products of every width of tile, for few rows and for many, written at the kernel level by hand."""

import numpy as np
import pytest
from emitted import EmulatedKernels, pack
from emulated import aligned, from_bf16, schedules, to_bf16

from moe_mlir.testing.full import sample

PRODUCT = """
module attributes {{kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>}} {{
  kernel.func @product(%x: memref<?x{K}x{type}>, %w: memref<{B}x{S}x{C}x64x{type}>, %y: memref<?x{N}xf32>) {{
    %c0 = arith.constant 0 : index
    %half = arith.constant {width} : index
    %step = arith.constant 64 : index
    %depth = arith.constant {K} : index
    %height = arith.constant 128 : index
    %rows = memref.dim %x, %c0 : memref<?x{K}x{type}>
    scf.forall (%block) in ({B}) {{
      %column = arith.muli %block, %half : index
      scf.for %row = %c0 to %rows step %height {{
        %left = arith.subi %rows, %row : index
        kernel.row_tile %left max 128 {{
          %index = kernel.row_indices %row {{
          ^bb0(%i: index):
            kernel.yield %i : index
          }} : <128>
          %zero = kernel.zero : <128x{width}xf32>
          {products}
        }}
      }}
    }}
    kernel.return
  }}
}}
"""
ACC = "!kernel.acc<128x{width}xf32>"
MMA = "kernel.mma %{a}, %x[%index, %k], %w[%block, %k, %{column}] : " + ACC + ", memref<?x{K}x{type}>, memref<{B}x{S}x{C}x64x{type}>"
ONE = f"""
          %p = scf.for %k = %c0 to %depth step %step iter_args(%a = %zero) -> ({ACC}) {{{{
            %next = {MMA.replace("{a}", "a").replace("{column}", "c0")}
            scf.yield %next : {ACC}
          }}}}
          kernel.store_tile %p -> %y[%index, %column] {{{{
          ^bb0(%r: index, %c: index, %v: f32):
            kernel.yield %v : f32
          }}}} : ({ACC}), memref<?x{{N}}xf32>"""
TWO = f"""
          %p:2 = scf.for %k = %c0 to %depth step %step iter_args(%a = %zero, %b = %zero) -> ({ACC}, {ACC}) {{{{
            %next = {MMA.replace("{a}", "a").replace("{column}", "c0")}
            %other = {MMA.replace("{a}", "b").replace("{column}", "half")}
            scf.yield %next, %other : {ACC}, {ACC}
          }}}}
          kernel.store_tile %p#0, %p#1 -> %y[%index, %column] {{{{
          ^bb0(%r: index, %c: index, %v: f32, %u: f32):
            %s = arith.subf %v, %u : f32
            kernel.yield %s : f32
          }}}} : ({ACC}, {ACC}), memref<?x{{N}}xf32>"""


def bits_of(numbers, element):
    array = aligned(numbers.shape, np.uint16)
    array[...] = to_bf16(numbers.astype(np.float32)) if element == "bf16" else numbers.astype(np.float16).view(np.uint16)
    array.flags.writeable = False
    return array


class Product:
    """x [T, K] times a weight [N, K], or the difference of its products with both halves of [2N, K]."""

    def __init__(self, folder, N, K, columns, halves, element):
        width = columns // 2 if halves else columns
        sizes = {"N": N, "K": K, "B": -(-N // width), "S": -(-K // 64), "C": columns, "width": width, "type": element}
        products = (TWO if halves else ONE).format(**sizes)
        self.kernels = EmulatedKernels(PRODUCT.format(products=products, **sizes), folder)
        random = np.random.default_rng(N + K + columns)
        self.weight, self.halves, self.columns, self.element = random.integers(-1, 2, (2 * N if halves else N, K)), halves, columns, element

    def run(self, tokens, **schedule):
        x = np.random.default_rng(tokens).integers(-1, 2, (tokens, self.weight.shape[1]))
        expected = x @ self.weight.T
        if self.halves:
            gate, up = np.split(expected, 2, axis=1)
            expected = gate - up
        y = aligned(expected.shape, np.float32, np.nan)
        packed = pack(bits_of(self.weight, self.element), self.columns, self.halves)
        weight = aligned(packed.shape, np.uint16)
        weight[...] = packed
        weight.flags.writeable = False
        self.kernels.run("product", bits_of(x, self.element), tokens, weight, y, tokens, **schedule)
        np.testing.assert_array_equal(y, expected)


# More steps than two rounds of the ring; one step; columns that do not exist; rows of 16 bytes and not.
CASES = [
    (300, 600, 256, False, "bf16"),
    (200, 600, 256, True, "bf16"),
    (130, 72, 128, False, "f16"),
    (70, 600, 128, True, "f16"),
    (90, 64, 64, False, "f16"),
    (257, 13, 256, True, "bf16"),
    (33, 40, 32, False, "bf16"),
    (20, 72, 64, False, "bf16"),  # one block of columns: no loop over tiles is left to share
]


@pytest.mark.parametrize("N, K, columns, halves, element", sample(CASES, *range(0, len(CASES), 2)))
def test_products(N, K, columns, halves, element, tmp_path):
    product = Product(tmp_path, N, K, columns, halves, element)
    for i, tokens in enumerate((0, 1, 16, 17, 140, 300)):
        for schedule in [*list(schedules())[i % 3 :: 3], next(schedules(strict=True))]:
            product.run(tokens, blocks=1 + i % 3, **schedule)
