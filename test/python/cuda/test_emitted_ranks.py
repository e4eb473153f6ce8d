"""Programs of several ranks on the emulated GPU: whole layers have the bits of the CPU's, whatever the interleaving of the ranks."""

import itertools

import numpy as np
import pytest
import rank_ring
from emitted import cuda_text
from nvrtc import Nvrtc, find_nvrtc, usages
from rank_layers import TYPES, RankedLayer, bits, kernel_level, on_cpu
from rank_program import RankedProgram

from moe_mlir.testing.full import FULL, sample

LAYERS = [
    RankedLayer(13, 64, 40, 8, 3, "bf16"),
    RankedLayer(9, 36, 24, 4, 2, "f32"),
    RankedLayer(10, 40, 32, 8, 2, "bf16", layers=2),
    RankedLayer(1, 64, 40, 8, 3, "bf16"),  # ranks without tokens
]
# Ranks keep step, or some run far ahead.
INTERLEAVINGS = [
    {"seed": 1, "timing": "random"},
    {"seed": 2, "timing": "lazy"},
    {"seed": 3, "timing": "eager", "skewed": True},
    {"seed": 4, "timing": "eager", "skewed": True},
    {"seed": 5, "timing": "random", "skewed": True},
]
SOME = sample(INTERLEAVINGS, 0, 3)


def name_of(layer):
    return f"{layer.tokens}-{layer.H}-{layer.E}-{layer.element}-{layer.layers}"


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Function: layer -> the CPU's output, once."""
    done = {}

    def get(layer):
        if layer not in done:
            done[layer] = on_cpu(layer, tmp_path_factory.mktemp("cpu"))
        return done[layer]

    return get


def whole(outputs, split, element):
    """The ranks' outputs as one; with replicated tokens all have the same."""
    if not split:
        for output in outputs[1:]:
            np.testing.assert_array_equal(output, outputs[0])
    return (np.concatenate(outputs) if split else outputs[0]).view(TYPES[element])


def cases():
    """All layers on two and four ranks; four take long, and so do two calls, so that an ordinary run has few of them."""
    for layer, tokens in itertools.product(LAYERS, ["split", "replicated"]):
        if FULL or tokens == "replicated" or layer.tokens != 10:
            yield layer, tokens, 2
        if FULL or (layer.tokens, tokens) == (1, "replicated"):
            yield layer, tokens, 4


@pytest.mark.parametrize("layer,tokens,ranks", list(cases()), ids=lambda value: name_of(value) if isinstance(value, RankedLayer) else str(value))
def test_bits_of_the_cpu(layer, tokens, ranks, expected, tmp_path):
    program = RankedProgram(kernel_level(layer, ranks, tokens, tmp_path), ranks, tmp_path / "kernels")
    for schedule in SOME:
        fault, outputs, status = program.run(bits(layer.inputs()), bits(layer.weights()), tokens == "split", **schedule)
        assert fault == "", (schedule, fault)
        assert status == [0] * ranks
        actual = whole(outputs, tokens == "split", layer.element)
        np.testing.assert_array_equal(actual.astype(np.float32), expected(layer).astype(np.float32), str(schedule))
    assert len(np.unique(actual.astype(np.float32))) > 10


@pytest.mark.parametrize("layer", LAYERS if FULL else LAYERS[3:], ids=name_of)
def test_slices_have_the_bits_of_the_cpu(layer, expected, tmp_path):
    """Ranks that share each expert: of whole numbers another order of sums has the same bits."""
    program = RankedProgram(kernel_level(layer, 2, "replicated", tmp_path, axis="etp"), 2, tmp_path / "kernels")
    for schedule in INTERLEAVINGS[::2]:
        fault, outputs, status = program.run(bits(layer.inputs()), bits(layer.weights()), False, **schedule)
        assert (fault, status) == ("", [0, 0])
        np.testing.assert_array_equal(whole(outputs, False, layer.element).astype(np.float32), expected(layer).astype(np.float32), str(schedule))


@pytest.mark.parametrize("tokens", ["split", "replicated"])
def test_any_number_of_exchanges_before(tokens, expected, tmp_path):
    """The epoch wraps around, and windows hold what calls before have left."""
    layer = LAYERS[2]
    program = RankedProgram(kernel_level(layer, 2, tokens, tmp_path), 2, tmp_path / "kernels")
    for epoch in sample([1, 0x7FFFFFFF, 0xFFFFFFFF], 1, 2):
        fault, outputs, status = program.run(bits(layer.inputs()), bits(layer.weights()), tokens == "split", epoch=epoch)
        assert (fault, status) == ("", [0, 0])
        np.testing.assert_array_equal(whole(outputs, tokens == "split", layer.element).astype(np.float32), expected(layer).astype(np.float32))


@pytest.mark.parametrize("tokens", ["split", "replicated"])
def test_a_silent_rank(tokens, tmp_path):
    """Every other rank gives up, once, says whom it waited for, and comes to its end; no rule is broken."""
    layer = LAYERS[2]
    program = RankedProgram(kernel_level(layer, 2, tokens, tmp_path), 2, tmp_path / "kernels")
    for schedule in SOME:
        ranks = iter(range(2))
        fault, _, status = program.run(bits(layer.inputs()), bits(layer.weights()), tokens == "split", lambda launches: launches if next(ranks) == 0 else [], **schedule)
        assert (fault, status) == ("", [2, 0])


def test_signals_and_waits_inside_of_other_work(tmp_path):
    program = RankedProgram(rank_ring.LEVEL, 2, tmp_path)
    assert [rank_ring.run(program, **schedule) for schedule in INTERLEAVINGS] == [""] * len(INTERLEAVINGS)


@pytest.mark.skipif(find_nvrtc() is None, reason="NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
@pytest.mark.parametrize("layer, tokens", sample(itertools.product(
    [RankedLayer(1, 2048, 768, 64, 8, "bf16"), RankedLayer(1, 101, 30, 8, 2, "f32")], ["split", "replicated"]), 0, 3),
    ids=lambda value: str(getattr(value, "H", value)))  # fmt: skip
def test_compiles_for_a_gpu(layer, tokens, tmp_path):
    """No spills, no memory of a thread, none of ptxas's words on wgmma; kernels that exchange need few registers."""
    text = cuda_text(kernel_level(layer, 4, tokens, tmp_path))
    cubin, log = Nvrtc(find_nvrtc()).compile(text, "layer.cu")
    assert cubin is not None, log
    assert "warning" not in log and "(C75" not in log, log
    found = usages(log)
    assert {"next_exchange", "signal_ranks", "await_ranks", "send_rows" if tokens == "split" else "give_sums"} <= set(found)
    for kernel, usage in found.items():
        assert (usage.spills, usage.stack, usage.shared) == (0, 0, 0), kernel
        if kernel.startswith(("next", "announce", "signal", "await", "send", "give")):
            assert usage.registers <= 64, (kernel, usage.registers)
