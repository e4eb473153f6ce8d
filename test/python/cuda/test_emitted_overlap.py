"""Exchanges under products on the emulated GPU: a group is one launch of each rank, and layers have the bits of the CPU's, whatever the interleaving
of the ranks."""

import random
import re

import numpy as np
import pytest
from rank_layers import RankedLayer, bits, kernel_level, on_cpu
from rank_overlap import FEW, Overlap, joined, overlapped_level
from rank_program import RankedProgram
from test_emitted_ranks import INTERLEAVINGS, whole

from moe_mlir.testing.full import FULL

FEW_ROWS = RankedLayer(13, 256, 32, 8, 3, "bf16")  # whose tiles are shared by strips of columns
MANY_ROWS = RankedLayer(64, 128, 32, 4, 2, "bf16")
EXACT = RankedLayer(7, 32, 16, 4, 2, "f32")

CASES = [
    (FEW_ROWS, 2, Overlap(), FEW),
    (MANY_ROWS, 2, Overlap(steps=(1, 2), chunk=16, more=", order = part, piece = 128"), FEW),
]
DEGREES = (1, 2, 4, 8)


def drawn(number):
    """A layer, ranks, a schedule and the blocks of its members; Tutel's degrees come in turn among the overlaps."""
    source = random.Random(f"overlap {number}")
    element, ranks = source.choice(["bf16", "bf16", "f32"]), source.choice([2, 2, 4])
    wide = element == "bf16" and source.random() < 0.7
    layer = RankedLayer(
        source.randint(6, 40), source.choice([128, 256]) if wide else 32, source.choice([16, 32]), source.choice([4, 8]), source.randint(1, 3), element,
        source.choice([1, 1, 2]),
    )
    blocks = {name: source.randint(1, 4) for name in FEW}
    if number % 3 == 0:
        return layer, ranks, f"<parts = {DEGREES[number // 3 % 4]}>", blocks
    order, steps = source.choice(["source", "part"]), []
    # How many parts there are shows when tokens come: the last step takes what is left, or has nothing.
    while sum(steps) < (ranks if order == "source" else source.randint(1, 6)):
        steps.append(source.randint(1, ranks - sum(steps)) if order == "source" else source.randint(1, 3))
    more = (", order = part" if order == "part" else "") + source.choice(["", ", piece = 1", ", piece = 13", ", piece = 128"])
    return layer, ranks, Overlap(tuple(steps), source.choice([1, 3, 8, 100]), source.choice([1, 2]) if wide else 1, more), blocks


MORE = [drawn(number) for number in range(10)]


def name_of(value):
    if isinstance(value, RankedLayer):
        return f"{value.tokens}-{value.H}-{value.element}-{value.layers}"
    if isinstance(value, dict):
        return "-".join(map(str, value.values()))
    return str(value).replace(" ", "")


def test_what_is_drawn():
    """Each degree, and what the others can say."""
    layers, ranks, schedules, blocks = zip(*MORE)
    texts = " ".join(map(str, schedules))
    assert all(f"<parts = {degree}>" in texts for degree in DEGREES)
    assert all(word in texts for word in ("order = part", "piece = ", "slices = 2", "slices = 1"))
    assert {2, 4} == set(ranks) and {1, 2} == {layer.layers for layer in layers} and {"bf16", "f32"} == {layer.element for layer in layers}
    assert all(len({each[member] for each in blocks}) > 2 for member in FEW)


@pytest.mark.parametrize("layer,ranks,schedule,blocks", CASES + (MORE if FULL else []), ids=name_of)
def test_bits_of_the_cpu(layer, ranks, schedule, blocks, tmp_path):
    expected = on_cpu(layer, tmp_path / "cpu").astype(np.float32)
    program = RankedProgram(joined(overlapped_level(layer.graph(), ranks, schedule), blocks), ranks, tmp_path / "kernels")
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


def ungathered(kernels):
    """Kernels for matrix registers as they would be if the first product waited for rows itself, and found them by their numbers."""
    of = dict(kernels)
    gather, order, up = of["gather_records_"], of["order_records_"], of["experts_up_"]
    work, rows = up.index("kernel.await_arrivals") + 1, up.index("kernel.row_indices") + 2
    assert order[-3:] == ["scf.for", "memref.store", "kernel.return"]  # it also zeroes the counters of what was gathered
    waits = gather[: gather.index("kernel.await") + 1]
    lookup = ["kernel.row_indices", "memref.load", "arith.index_cast", "kernel.yield"]
    instead = {"order_records_": [*order[:-3], order[-1]], "experts_up_": waits + up[work:rows] + lookup + up[rows:]}
    return [(name, instead.get(name, ops)) for name, ops in kernels if name != "gather_records_"]


OF_THE_CPU = [(FEW_ROWS, 2, Overlap(), "x86-64-v4"), (EXACT, 4, Overlap(steps=(1, 1, 2), slices=1), "x86-64-v4"), (FEW_ROWS, 2, Overlap(), "sapphirerapids")]


@pytest.mark.parametrize("layer,ranks,schedule,processor", OF_THE_CPU, ids=name_of)
def test_kernels_are_those_of_the_cpu(layer, ranks, schedule, processor):
    """At level kernel: the same ops in the same order, where tiles are as wide as blocks of weights on both."""
    gpu, cpu = (operations(overlapped_level(layer.graph(), ranks, schedule, target)) for target in ("--target=cuda:h200", f"--target-cpu={processor}"))
    if processor == "sapphirerapids":
        cpu = ungathered(cpu)
    assert gpu == cpu
    assert sum("kernel.await" in ops or "kernel.await_arrivals" in ops for _, ops in gpu) == 4
    assert sum("kernel.mma" in ops for _, ops in gpu) == 2
