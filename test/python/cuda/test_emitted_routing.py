"""Gate, counts and layout as CUDA text on the emulated GPU: equal to NumPy and, bit for bit, to the CPU's program."""

import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from emitted import cuda_text, kernel_level
from emulated import schedules
from nvrtc import Nvrtc, find_nvrtc, usages
from routing import GATED, Layout, Routing, chosen_by

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lowering"))
from graph import graph  # noqa: E402

from moe_mlir.testing.full import sample  # noqa: E402

# Experts and k: fewer than lanes, k = E, more than lanes and no multiple of 8, two groups of lanes, one expert.
SHAPES = [(5, 2), (8, 8), (41, 3), (64, 6), (1, 1)]
TOKENS = [0, 1, 7, 8, 9, 67]  # a chunk has 8 of them


@pytest.fixture(scope="module")
def routing(tmp_path_factory):
    """Function: (experts, k, given) -> its kernels, built once."""
    made = {}

    def get(*key):
        if key not in made:
            experts, k, given = key
            made[key] = Routing(experts, k, tmp_path_factory.mktemp("routing"), given)
        return made[key]

    return get


def logits_of(kind, tokens, experts):
    random = np.random.default_rng([tokens, experts])
    logits = random.integers(-2, 3, (tokens, experts)).astype(np.float32)  # many ties
    if kind == "all on one":
        logits[:, experts // 2] = 9
    elif kind == "empty experts":
        logits[:, ::2] -= 50
    elif kind == "extremes":
        logits[:, 0] = -np.inf
        logits[::3, experts - 1] = np.nan
    return logits


def ids_of(tokens, experts, k):
    """Some are no expert's."""
    return np.random.default_rng([tokens, experts]).integers(-2, experts + 2, (tokens, k))


def launches():
    """Schedules of the emulated GPU, with different numbers of blocks."""
    for i, schedule in enumerate([*list(schedules())[1:5:2], next(schedules(strict=True))]):
        yield {"blocks": 1 + 2 * i, **schedule}


# An ordinary run has each shape, and each kind of logits, once or twice.
@pytest.mark.parametrize("shape, kind", sample(itertools.product(SHAPES, ["ties", "all on one", "empty experts", "extremes"]), 0, 6, 9, 11, 12, 16))
def test_gate_and_layout(shape, kind, routing):
    experts, k = shape
    kernels = routing(experts, k, None)
    on_cpu = graph(kernels.graph)
    for tokens in TOKENS:
        logits = logits_of(kind, tokens, experts)
        x = np.arange(tokens, dtype=np.float32).reshape(-1, 1)
        rows, cpu_weights, cpu_ids = on_cpu.run([x, logits], outputs=[np.float32, np.float32, np.int32], blocks=3)
        expected = Layout.of(chosen_by(logits, k), experts)
        np.testing.assert_array_equal(cpu_ids, chosen_by(logits, k))
        np.testing.assert_array_equal(rows[: len(expected.tokens), 0], expected.tokens)
        bits = []
        for launch in launches():
            layout, weights, ids = kernels.run(logits, **launch)
            np.testing.assert_array_equal(ids, cpu_ids)
            expected.check(layout)
            bits.append(weights.view(np.uint32))
            np.testing.assert_array_equal(bits[0], bits[-1])
        np.testing.assert_allclose(weights, cpu_weights, rtol=1e-5)  # exp and the order of a sum differ


@pytest.mark.parametrize("given", ["i32", "i64"])
@pytest.mark.parametrize("experts, k", [(5, 2), (41, 3)])
def test_given_ids(experts, k, given, routing):
    """Without a gate a kernel counts; numbers that are no expert's are dropped pairs."""
    kernels = routing(experts, k, given)
    on_cpu = graph(kernels.graph)
    for tokens in TOKENS:
        ids = ids_of(tokens, experts, k)
        expected = Layout.of(ids, experts)
        x = np.arange(tokens, dtype=np.float32).reshape(-1, 1)
        [rows] = on_cpu.run([x, ids.astype({"i32": np.int32, "i64": np.int64}[given])], blocks=2)
        np.testing.assert_array_equal(rows[: len(expected.tokens), 0], expected.tokens)
        for launch in launches():
            expected.check(kernels.run(ids, **launch))


def test_chunks_of_more_tokens(routing):
    """Beyond 128 chunks of 8 they grow; the last one is not full."""
    tokens, experts, k = 1090, 5, 2
    ids = ids_of(tokens, experts, k)
    expected = Layout.of(ids, experts)
    expected.check(routing(experts, k, "i32").run(ids, blocks=5))


def is_found(routing, text, folder):
    try:
        broken = Routing(5, 2, folder, edit=lambda _: text)
        logits = logits_of("ties", 67, 5)
        for launch in launches():
            layout, _, ids = broken.run(logits, **launch)
            np.testing.assert_array_equal(ids, chosen_by(logits, 2))
            Layout.of(ids, 5).check(layout)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize(
    "line, instead",
    [
        (r"moe::syncBlock\(\);", ""),
        (r"moe::syncWarp\(\);", ""),
        (r"moe::shuffleUp\((\w+), 4\)", r"moe::shuffleUp(\1, 8)"),  # a wrong prefix
        (r"moe::matchWarp\((\w+)\)", r"(moe::matchWarp(\1) & 1 << moe::threadIndex() % 32)"),  # nobody else has my expert
        (r" <= ", " < "),  # no second expert of the same value
        (r"moe::countBits\(", "1 + moe::countBits("),
    ],
)
def test_faults_in_the_text_are_found(line, instead, routing, tmp_path):
    """A test of the tests: each of these breaks a rule or a number."""
    text = routing(5, 2, None).text
    broken = re.sub(line, instead, text)
    assert broken != text
    assert is_found(routing, broken, tmp_path)


# Experts and k of OLMoE, Qwen3-30B-A3B, Mixtral-8x7B, DeepSeek-V3 and GPT-OSS-20B.
@pytest.mark.parametrize("experts, k", sample([(64, 8), (128, 8), (8, 2), (256, 8), (32, 4)], 2, 3, 4))
def test_compiles_without_local_memory(experts, k):
    folder = find_nvrtc()
    if folder is None:
        pytest.skip("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    text = cuda_text(kernel_level(GATED.format(E=experts, k=k)))
    cubin, log = Nvrtc(folder).compile(text, "routing.cu")
    assert cubin is not None and "warning" not in log, log
    for kernel, usage in usages(log).items():
        assert (usage.spills, usage.stack) == (0, 0), kernel
        assert usage.registers <= 80, kernel  # three blocks of 256 threads on a multiprocessor
