"""Exchanges under products on the emulated GPU: a group is one launch of each rank, and layers have the bits of the CPU's, whatever the interleaving
of the ranks."""

import re

import numpy as np
import pytest
from rank_layers import RankedLayer, bits, kernel_level, on_cpu
from rank_overlap import Overlap, joined, overlapped_level
from rank_program import RankedProgram
from test_emitted_ranks import INTERLEAVINGS, whole

from moe_mlir.testing.full import FULL

FEW_ROWS = RankedLayer(13, 256, 32, 8, 3, "bf16")  # whose tiles are shared by strips of columns
MANY_ROWS = RankedLayer(64, 128, 32, 4, 2, "bf16")
TWO_LAYERS = RankedLayer(10, 128, 32, 8, 2, "bf16", layers=2)
EXACT = RankedLayer(7, 32, 16, 4, 2, "f32")

CASES = [
    (FEW_ROWS, 2, Overlap()),
    (MANY_ROWS, 2, Overlap(steps=(1, 2), chunk=16, more=", order = part, piece = 128")),
]
MORE = [
    (EXACT, 4, Overlap(steps=(1, 1, 2), chunk=2, slices=1)),
    (MANY_ROWS, 2, Overlap(steps=(2,), chunk=16)),
    (FEW_ROWS, 2, "<parts = 2>"),
    (TWO_LAYERS, 2, Overlap(chunk=1, slices=1)),
    (FEW_ROWS, 4, Overlap(steps=(1, 3), chunk=3)),
    (MANY_ROWS, 2, Overlap(chunk=5, slices=1)),
    (TWO_LAYERS, 4, Overlap(steps=(2, 2))),
    (EXACT, 2, Overlap(chunk=100, slices=1)),
    (FEW_ROWS, 2, Overlap(steps=(2,), chunk=1, slices=1)),
    (EXACT, 4, Overlap(steps=(4,), chunk=3, slices=1)),
]


def name_of(value):
    if isinstance(value, RankedLayer):
        return f"{value.tokens}-{value.H}-{value.element}-{value.layers}"
    return str(value).replace(" ", "")


@pytest.mark.parametrize("layer,ranks,schedule", CASES + (MORE if FULL else []), ids=name_of)
def test_bits_of_the_cpu(layer, ranks, schedule, tmp_path):
    expected = on_cpu(layer, tmp_path / "cpu").astype(np.float32)
    program = RankedProgram(joined(overlapped_level(layer.graph(), ranks, schedule)), ranks, tmp_path / "kernels")
    assert sum("_with_" in name for name in program.kernels) == 2
    for interleaving in INTERLEAVINGS if FULL else INTERLEAVINGS[::3]:
        fault, outputs, status = program.run(bits(layer.inputs()), bits(layer.weights()), True, **interleaving)
        assert fault == "", (interleaving, fault)
        assert status == [0] * ranks
        np.testing.assert_array_equal(whole(outputs, True, layer.element).astype(np.float32), expected, str(interleaving))
    assert len(np.unique(expected)) > 10


@pytest.mark.parametrize("tokens", ["overlap", *(["split"] if FULL else []), "replicated"])
def test_sums_that_travel_as_bf16(tokens, tmp_path):
    """Sums of few bits are the same in bf16, with or without overlap."""
    layer, ranks = EXACT, 2
    one = on_cpu(layer, tmp_path / "cpu").astype(np.float32)
    if tokens == "overlap":
        level = joined(overlapped_level(layer.graph(), ranks, Overlap(slices=1), more=",sums=bf16"))
    else:
        level = kernel_level(layer, ranks, tokens, tmp_path, more=",sums=bf16")
    assert re.search(r'as "sum(s|mands)" : !kernel.window<\S*xbf16>', level)
    program = RankedProgram(level, 2, tmp_path / "kernels")
    fault, outputs, status = program.run(bits(layer.inputs()), bits(layer.weights()), tokens != "replicated", **INTERLEAVINGS[0])
    assert (fault, status) == ("", [0, 0])
    np.testing.assert_array_equal(whole(outputs, tokens != "replicated", layer.element), one)
    assert len(np.unique(one)) > 10


def operations(level):
    """The ops of each kernel in their order, but for constants; kernels without the sizes in their names."""
    kernels = re.findall(r"^  kernel\.func @([a-z_]+)(.*?)^  \}", level, re.M | re.S)
    return [(name, [op for op in re.findall(r"(?:= |^ *)(\w+\.\w+)", body, re.M) if op != "arith.constant"]) for name, body in kernels]


@pytest.mark.parametrize("layer,ranks,schedule", [(FEW_ROWS, 2, Overlap()), (EXACT, 4, Overlap(steps=(1, 1, 2), slices=1))], ids=name_of)
def test_kernels_are_those_of_the_cpu(layer, ranks, schedule):
    """At level kernel: the same ops in the same order, where tiles are as wide as blocks of weights on both."""
    gpu, cpu = (operations(overlapped_level(layer.graph(), ranks, schedule, target)) for target in ("--target=cuda:h200", "--target-cpu=x86-64-v4"))
    assert gpu == cpu
    assert sum("kernel.await" in ops or "kernel.await_arrivals" in ops for _, ops in gpu) == 4
    assert sum("kernel.mma" in ops for _, ops in gpu) == 2
