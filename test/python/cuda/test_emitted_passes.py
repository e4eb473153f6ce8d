"""Exchanges in passes on the emulated GPU: the bits of the CPU's program without passes, whatever the interleaving of the ranks; a wait that is left
out, or passes that run into each other, are found."""

import re

import numpy as np
import pytest
from rank_layers import RankedLayer, bits, on_cpu
from rank_overlap import Overlap, compiled, joined
from rank_program import RankedProgram
from test_emitted_ranks import INTERLEAVINGS, whole

from moe_mlir.testing.full import FULL

LAYER = RankedLayer(13, 64, 40, 8, 3, "bf16")
WIDE = RankedLayer(13, 256, 32, 8, 3, "bf16")
CASES = [(LAYER, "split", None, 3), (LAYER, "replicated", None, 5), (WIDE, "split", Overlap(), 4)]
MORE = [(LAYER, "split", None, 1), (LAYER, "split", None, 7), (WIDE, "split", "<parts = 2>", 2)]


def level_in_passes(layer, tokens, schedule, number):
    """The kernel level of two ranks, each exchange in passes of `number` tokens; groups are joined."""
    scheduled = compiled(layer.graph(), "graph", "scheduled", "--weights=none", f"--parallel=ep=2,tokens={tokens}", "--target=cuda:h200")
    scheduled = re.sub(r"schedule\(<.*?>\)", f"schedule({schedule or '<plain>'})", scheduled)
    scheduled, found = re.subn(r"(?<= via\(direct\))|(?<= grid_axes = \[0\])", f" {{kernel.pass_tokens = {number} : i64}}", scheduled)
    assert found == layer.layers
    level = compiled(scheduled, "scheduled", "kernel")
    return joined(level) if schedule else level


def name_of(value):
    return f"{value.H}" if isinstance(value, RankedLayer) else str(value).replace(" ", "")


@pytest.mark.parametrize("layer,tokens,schedule,number", CASES + (MORE if FULL else []), ids=name_of)
def test_bits_of_the_cpu(layer, tokens, schedule, number, tmp_path):
    expected = on_cpu(layer, tmp_path / "cpu").astype(np.float32)
    program = RankedProgram(level_in_passes(layer, tokens, schedule, number), 2, tmp_path / "kernels")
    counts = {}

    def count(launches):
        counts[len(counts)] = sum(name == "next_exchange" for name, *_ in launches)
        return launches

    some = INTERLEAVINGS[3:4] if schedule else INTERLEAVINGS[::3]  # a group takes as long as both of the others
    for interleaving in INTERLEAVINGS if FULL else some:
        fault, outputs, status = program.run(bits(layer.inputs()), bits(layer.weights()), tokens == "split", count, **interleaving)
        assert (fault, status) == ("", [0, 0]), interleaving
        np.testing.assert_array_equal(whole(outputs, tokens == "split", layer.element).astype(np.float32), expected, str(interleaving))
    most = -(-layer.tokens // 2) if tokens == "split" else layer.tokens
    assert set(counts.values()) == {-(-most // number)}  # an exchange for each pass, of all ranks
    assert len(np.unique(expected)) > 10


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Of the first case."""
    return RankedProgram(level_in_passes(*CASES[0]), 2, tmp_path_factory.mktemp("kernels"))


@pytest.mark.parametrize("launch,number", [("await_rows", -1), ("await_ranks", -1), ("await_ranks", 0), ("next_exchange", -1)])
def test_what_is_left_out_is_found(launch, number, program):
    """In the last pass, whose windows others have filled before; in the first one, behind which ranks run into the next."""

    def without(launches):
        found = [i for i, (name, *_) in enumerate(launches) if name == launch]
        return [each for i, each in enumerate(launches) if i != found[number]]

    inputs, weights = bits(LAYER.inputs()), bits(LAYER.weights())
    assert any(program.run(inputs, weights, True, without, patience=10**6, **each)[0] for each in INTERLEAVINGS), launch
