"""Every kernel of a MoE layer, emitted as CUDA text and run on the emulated GPU, against NumPy.

Each kernel gets what the one before it really wrote. Products are of small integers, so their sums are exact.
"""

import re
import sys

import numpy as np
import pytest
from emitted import ROOT, EmulatedKernels, Shape, kernel_level, small_integers, with_pipeline
from emulated import aligned, from_bf16, schedules, to_bf16

sys.path.insert(0, str(ROOT / "benchmarks"))

from gpu_check.cases import NUMERICS  # noqa: E402
from gpu_check.variants import set_plans  # noqa: E402

from moe_mlir.testing.full import sample  # noqa: E402

# The cases of bf16 that a GPU runs too.
CASES = [(tokens, Shape(layer.H, layer.I, layer.E, layer.k)) for tokens, layer in NUMERICS if layer.element == "bf16"]
BF16_ULP = 2.0**-8
CHUNKS = 128  # of tokens at most, as #cuda.target says


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Function: shape -> its kernels, built once."""
    made = {}

    def get(shape):
        if shape not in made:
            made[shape] = EmulatedKernels(kernel_level(shape.text()), tmp_path_factory.mktemp("layer"))
        return made[shape]

    return get


def weights_of(kernels, shape, random, **schedule):
    """Router and expert weights as the kernels pack them: {"router", "w_in", "w_out"} -> (plain, packed)."""
    plain = {
        "router": small_integers(random, shape.E, shape.H),
        "w_in": small_integers(random, shape.E, 2 * shape.I, shape.H),
        "w_out": small_integers(random, shape.E, shape.H, shape.I),
    }
    result = {}
    for name, weight in plain.items():
        result[name] = weight, kernels.pack(weight, halves=name == "w_in", **schedule)
    return result


def check_gate(logits, ids, weights, k):
    x = from_bf16(logits).astype(np.float64)
    scores = np.exp(x - x.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    chosen = np.argsort(-from_bf16(logits), axis=-1, kind="stable")[:, :k]  # the first of equal ones
    np.testing.assert_array_equal(ids, chosen)
    best = np.take_along_axis(scores, chosen, axis=-1)
    np.testing.assert_allclose(weights, best / best.sum(axis=-1, keepdims=True), rtol=1e-5)


def check_layout(ids, experts, offsets, tokens, rows_of, records, count):
    pairs = [(e, t, s) for t, row in enumerate(ids) for s, e in enumerate(row)]
    order = sorted(range(len(pairs)), key=lambda i: pairs[i][0])  # by expert, then as they come
    np.testing.assert_array_equal(tokens, [pairs[i][1] for i in order])
    places = {pairs[i][1:]: place for place, i in enumerate(order)}
    np.testing.assert_array_equal(rows_of, [[places[t, s] for s in range(ids.shape[1])] for t in range(len(ids))])
    counts = np.bincount(ids.ravel(), minlength=experts)
    np.testing.assert_array_equal(offsets, np.concatenate([[0], np.cumsum(counts)]))
    present = [[e, offsets[e], counts[e], 0, 0] for e in range(experts) if counts[e]]
    assert count[0] == len(present)
    np.testing.assert_array_equal(records[: count[0]], present)


def run_layer(kernels, tokens, shape, **schedule):
    T, H, I, E, k = tokens, shape.H, shape.I, shape.E, shape.k  # noqa: E741
    R = T * k
    random = np.random.default_rng(T * 131 + H)
    x = small_integers(random, T, H)
    x.flags.writeable = False
    packed = weights_of(kernels, shape, random, **schedule)
    router, w_in, w_out = (from_bf16(packed[name][0]).astype(np.float64) for name in ("router", "w_in", "w_out"))

    logits = aligned((T, E), np.uint16, 0x7FC0)
    kernels.run(f"linear_{E}x{H}", x, T, packed["router"][1], logits, T, **schedule)
    x64 = from_bf16(x).astype(np.float64)
    np.testing.assert_array_equal(logits, to_bf16((x64 @ router.T).astype(np.float32)))

    scores, best, weights = (aligned((T, n), np.float32, np.nan) for n in (E, k, k))
    ids = aligned((T, k), np.int32, -7)
    ranks = aligned((T, k), np.int32, -7)
    counts, firsts, totals = (aligned((CHUNKS, E), np.int32, -7) for _ in range(3))
    sizes = CHUNKS, E
    kernels.run("gate_", logits, T, scores, T, best, T, ids, T, weights, T, ranks, T, counts, *sizes, **schedule)
    check_gate(logits, ids, weights, k)

    offsets, token_of, rows_of = aligned(E + 1, np.int32, -7), aligned(R, np.int32, -7), aligned((T, k), np.int32, -7)
    records, count = aligned((E, 5), np.int32, -7), aligned(1, np.int32, -7)
    places = ids, T, offsets, token_of, R, rows_of, T, k, records, count
    kernels.run("layout_", *places, ranks, T, counts, *sizes, firsts, *sizes, totals, *sizes, **schedule)
    check_layout(ids, E, offsets, token_of, rows_of, records, count)

    expert_of = np.repeat(np.arange(E), np.diff(offsets))
    h = aligned((R, I), np.uint16, 0x7FC0)
    kernels.run("experts_up", x, T, token_of, R, packed["w_in"][1], h, R, records, count, **schedule)
    products = np.einsum("rnh,rh->rn", w_in[expert_of], x64[token_of])
    gate, up = products[:, :I], products[:, I:]
    expected = gate / (1 + np.exp(-gate)) * up
    np.testing.assert_allclose(from_bf16(h), expected, rtol=BF16_ULP, atol=1e-6)

    y = aligned((R, H), np.float32, np.nan)
    kernels.run("experts_down", h, R, packed["w_out"][1], y, R, records, count, **schedule)
    expected = np.einsum("rhi,ri->rh", w_out[expert_of], from_bf16(h).astype(np.float64))
    np.testing.assert_allclose(y, expected, atol=1e-5 * max(1.0, np.abs(expected).max()))

    out = aligned((T, H), np.uint16, 0x7FC0)
    kernels.run("combine_", y, R, rows_of, T, k, weights, T, out, T, **schedule)
    expected = (y[rows_of].astype(np.float64) * weights[..., None]).sum(axis=1)
    np.testing.assert_allclose(from_bf16(out), expected, rtol=BF16_ULP, atol=1e-4 * max(1.0, np.abs(expected).max()))
    return out


@pytest.mark.parametrize("tokens, shape", CASES, ids=str)
def test_layer(tokens, shape, built):
    """The same bits from every schedule of the emulated GPU and every number of blocks."""
    runs = [run_layer(built(shape), tokens, shape, blocks=1 + i % 3, **schedule)
            for i, schedule in enumerate([*list(schedules())[1:5:2], next(schedules(strict=True))])]
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0], other)


# What only warps do that announce copies some steps later.
OF_LAG = re.compile("kLag|unannounced|waitCopies|syncWarp")


@pytest.mark.parametrize(
    "line, instead",
    sample([
        (r"moe::fenceProxyAsyncShared\(\);", "{}"),
        (r"moe::waitCopies<kLag>\(\);", ""),
        (r"moe::waitCopies<kLag>\(\);", "moe::waitCopies<kLag + 1>();"),
        (r"moe::waitCopies<0>\(\);", ""),
        (r"ring\.full\(kLag\)", "ring.full(kLag - 1)"),
        (r"if \(ring\.unannounced < kLag\)", "if (ring.unannounced < kLag - 1)"),
        (r"ring\.unannounced > 0;", "ring.unannounced > 1;"),
        (r"\? 16 : 0", "? 8 : 8"),
        (r"moe::copyAsync\((\w+), ", r"moe::copyAsync(\1 ^ 16, "),
        (r"ring\.at\.parity \^ 1", "ring.at.parity"),
        (r"moe::wgmmaFence\(\);", ""),
        (r"pipeline::expect<24576>", "pipeline::expect<16384>"),
        (r"(/ 128 \+ -1\)) \* 64\b", r"\1 * 32"),
        (r"(/ 128 \+ -1\)) \* 8192\b", r"\1 * 4096"),
        (r"(/ 128 \+ -1\)) \* 1024\b", r"\1 * 0"),
        (r"(\(int64_t\) v\d+) \* 128\b", r"\1 * 64"),
        (r"(v\d+ = )moe::blockCount\(\);(\n *for \(int32_t)", r"\1 2 * moe::blockCount();\2"),
        (r"(/ 128 \+ -1\)) \* 8\b", r"\1 * 0"),
        (r"(moe::get\(v\d+, \w+ \+ )32\)", r"\g<1>16)"),
        (r"moe::syncWarp\(\);", ""),
    ], *range(0, 20, 2)),
)
def test_faults_in_the_text_are_found(line, instead, tmp_path):
    """A test of the tests: each of these breaks a rule or a number."""
    tokens, shape = CASES[1]

    def change(text):
        changed, count = re.subn(line, instead, with_pipeline(text))
        assert count, "no place for the fault"
        return changed

    plans = set_plans(arrival="lag") if OF_LAG.search(line) else str
    kernels = EmulatedKernels(plans(kernel_level(shape.text())), tmp_path, change)
    with pytest.raises(AssertionError):
        run_layer(kernels, tokens, shape, timing="lazy", skewed=True)
