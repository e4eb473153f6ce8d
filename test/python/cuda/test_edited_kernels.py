"""Kernels edited by hand: the same change of the kernel level's text gives, on the emulated GPU and on the CPU, what NumPy says."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from emitted import EmulatedKernels, Shape, cuda_text, kernel_level, small_integers
from emulated import aligned, from_bf16, schedules
from routing import CHUNKS, Layout
from test_emitted_layer import run_layer
from test_f32_products import LINEAR, fractions

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lowering"))
from graph import BF16, Program  # noqa: E402

from moe_mlir.testing.full import sample  # noqa: E402

T, H, I, E, K = 11, 96, 48, 5, 2  # the first product has two steps of K, a loop; the second one has one
R = T * K

EXPERTS = f"""
func.func @main(%x: tensor<?x{H}xbf16>, %e: tensor<?x{K}xi32>, %w: tensor<?x{K}xf32>, %w_in: tensor<{E}x{2 * I}x{H}xbf16>,
                %w_out: tensor<{E}x{H}x{I}xbf16>) -> tensor<?x{H}xf32> {{
  %rows, %layout = moe.dispatch %x, %e num_experts({E})
      : tensor<?x{H}xbf16>, tensor<?x{K}xi32> -> tensor<?x{H}xbf16>, !moe.layout<{E}>
  %y = moe.expert %rows, %layout, %w_in, %w_out gated {{
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  }} : tensor<?x{H}xbf16>, !moe.layout<{E}>, tensor<{E}x{2 * I}x{H}xbf16>, tensor<{E}x{H}x{I}xbf16> -> tensor<?x{H}xf32>
  %o = moe.combine %y, %layout weights(%w : tensor<?x{K}xf32>)
      : tensor<?x{H}xf32>, !moe.layout<{E}> -> tensor<?x{H}xf32>
  return %o : tensor<?x{H}xf32>
}}
"""

GATE = f"""
func.func @main(%l: tensor<?x{E}xf32>) -> (tensor<?x1xf32>, tensor<?x1xi32>) {{
  %w, %e = moe.gate %l top_k(1) score(sigmoid) : tensor<?x{E}xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %w, %e : tensor<?x1xf32>, tensor<?x1xi32>
}}
"""


def edit(text, kernel, *changes):
    """Each change (pattern, replacement) once in the kernel whose name begins so."""
    start = text.index(f"kernel.func @{kernel}")
    end = text.index("kernel.return", start)
    body = text[start:end]
    for pattern, replacement in changes:
        body, count = re.subn(pattern, replacement, body, count=1)
        assert count == 1, (pattern, body)
    return text[:start] + body + text[end:]


def with_offset(text):
    """gate / (3 + exp(-gate)) * up"""
    return edit(text, "experts_up", (r"arith\.constant 1\.0+e\+00 : f32", "arith.constant 3.0 : f32"))


def with_scale(text):
    """Twice the second product, in its epilogue."""
    stored = r"(\^bb0\([^)]*, (%\w+): f32\):\n)\s*kernel\.yield \2 : f32"
    return edit(text, "experts_down", (stored, r"\1 %twice = arith.addf \2, \2 : f32\n kernel.yield %twice : f32"))


def with_last_of_equal(text):
    """The highest number of those that have the largest value."""
    return edit(
        text,
        "gate_",
        (rf"(iter_args\(%\w+ = )%c{E}_i32", r"\1%c-1_i32"),
        (rf"(arith\.select %\w+, %\w+, )%c{E}_i32", r"\1%c-1_i32"),
        ("arith.minsi", "arith.maxsi"),
    )


def inputs():
    random = np.random.default_rng(7)
    arrays = [small_integers(random, T, H), aligned((T, K), np.int32), aligned((T, K), np.float32),
              small_integers(random, E, 2 * I, H), small_integers(random, E, H, I)]  # fmt: skip
    arrays[1][...] = random.integers(-1, E, (T, K))
    arrays[2][...] = random.random((T, K))
    return arrays


def emulated_experts(kernels, x, ids, weights, w_in, w_out, **schedule):
    packed = kernels.pack(w_in, halves=True), kernels.pack(w_out)
    ranks, rows_of = aligned((T, K), np.int32), aligned((T, K), np.int32)
    counts, firsts, totals = (aligned((CHUNKS, E), np.int32) for _ in range(3))
    offsets, tokens, records, count = (aligned(n, np.int32) for n in (E + 1, R, (E, 5), 1))
    kernels.run("count_", ids, T, ranks, T, counts, CHUNKS, E)
    chunks = ranks, T, counts, CHUNKS, E, firsts, CHUNKS, E, totals, CHUNKS, E
    kernels.run("layout_", ids, T, offsets, tokens, R, rows_of, T, K, records, count, *chunks)
    Layout.of(ids, E).check(Layout(offsets, tokens, rows_of, records[: count[0]]))
    h, y, out = aligned((R, I), np.uint16), aligned((R, H), np.float32), aligned((T, H), np.float32)
    kernels.run("experts_up", x, T, tokens, R, packed[0], h, R, records, count, **schedule)
    kernels.run("experts_down", h, R, packed[1], y, R, records, count, **schedule)
    kernels.run("combine_", y, R, rows_of, T, K, weights, T, out, T)
    return out


def experts_by_numpy(x, ids, weights, w_in, w_out, offset=1, scale=1):
    x, w_in, w_out = (from_bf16(a).astype(np.float64) for a in (x, w_in, w_out))
    result = np.zeros((T, H))
    for t, s in np.argwhere(ids >= 0):
        gate, up = np.split(w_in[ids[t, s]] @ x[t], 2)
        h = (gate / (offset + np.exp(-gate)) * up).astype(BF16).astype(np.float64)
        result[t] += weights[t, s] * scale * (w_out[ids[t, s]] @ h)
    return result


@pytest.mark.parametrize("change, meaning", [(str, {}), (with_offset, {"offset": 3}), (with_scale, {"scale": 2})])
def test_edited_experts(change, meaning, tmp_path):
    arrays = inputs()
    expected = experts_by_numpy(*arrays, **meaning)
    kernels = EmulatedKernels(change(kernel_level(EXPERTS)), tmp_path)
    x, ids, weights, w_in, w_out = arrays
    on_cpu = Program(change(kernel_level(EXPERTS, "cpu:native")))
    [cpu] = on_cpu.run([x.view(BF16), ids, weights, w_in.view(BF16), w_out.view(BF16)], blocks=2)
    bound = 2.0**-8 * np.abs(expected).max()  # of the rounding of h
    np.testing.assert_allclose(emulated_experts(kernels, *arrays), expected, atol=bound)
    np.testing.assert_allclose(cpu, expected, atol=bound)
    if meaning:
        assert np.abs(expected - experts_by_numpy(*arrays)).max() > 20 * bound


@pytest.mark.parametrize(
    "field, text",
    sample([
        ("stages = 3", "moe::StageRing<3, "),
        ("few_rows = 0", None),
        ("few_rows = 32", "<= 32) {"),
        ("few_rows = 64", "<= 64) {"),
        ("arrival = lag", "moe::announce<"),
        ("proxy_fence = all", "moe::ProxyFence::All"),
        ("multiply_registers = 216", "increaseRegisters<216>"),
    ], 0, 3, 4, 6),
)
def test_edited_plans(field, text, tmp_path):
    """Another plan is another program with the same bits."""
    arrays, plain = inputs(), kernel_level(EXPERTS)
    name = field.split(" = ")[0]
    edited, count = re.subn(rf"\b{name} = \w+", field, plain)
    assert count == 2, plain
    before, after = cuda_text(plain), cuda_text(edited)
    assert text in after and text not in before if text else len(after) < len(before)
    results = [emulated_experts(EmulatedKernels(level, tmp_path / folder), *arrays) for level, folder in ((plain, "plain"), (edited, "edited"))]
    np.testing.assert_array_equal(*results)


def test_edited_plans_of_a_cpu():
    """Whoever asks for weights, and whenever: the numbers stay."""
    random = np.random.default_rng(1)
    arrays, level = [fractions(random, *shape) for shape in ((150, 612), (200, 612), (200,))], kernel_level(LINEAR.format(N=200, K=612), "cpu:native")
    [expected] = Program(level).run(arrays, blocks=2)
    for fields in ({"spread": 0}, {"spread": 1}, {"spread": 16, "stream_ahead": 4096}, {"spread": 2, "block_above": 4096, "block_bytes": 16384, "block_rows": 60}):
        edited = level
        for name, value in fields.items():
            edited, count = re.subn(rf"(#x86\.plan<[^>]*\b{name} = )\d+", rf"\g<1>{value}", edited)
            assert count == 1 and edited != level
        np.testing.assert_array_equal(Program(edited).run(arrays, blocks=2)[0], expected)


@pytest.mark.parametrize("fields, text", [({"threads": 96, "blocks_per_sm": 3}, "__launch_bounds__(96, 3)")])
def test_edited_row_plans(fields, text, tmp_path):
    """Blocks of other sizes, of kernels whose rows are the work of a warp and of a block."""
    arrays, plain = inputs(), kernel_level(EXPERTS)
    edited, threads = plain, re.findall(r"#cuda\.row_plan<threads = (\w+)", plain)
    assert set(threads) == {"256", "1024"}
    for name, value in fields.items():
        edited, count = re.subn(rf"(#cuda\.row_plan<[^>]*\b{name} = )\w+", rf"\g<1>{value}", edited)
        assert count == len(threads) and edited != plain
    assert text in cuda_text(edited) and text not in cuda_text(plain)
    kernels = EmulatedKernels(edited, tmp_path / "edited")
    kernels.launches |= {name: (fields.get("threads", 64), 0, []) for name in kernels.kernels if name not in kernels.launches}
    np.testing.assert_array_equal(emulated_experts(kernels, *arrays), emulated_experts(EmulatedKernels(plain, tmp_path / "plain"), *arrays))


@pytest.mark.parametrize("few_rows", sample([0, 48], 1))
def test_a_form_for_more_rows(few_rows, tmp_path):
    """Tiles of 40 and of 10 rows, with strips of columns, have the bits of the form for all rows."""
    level = kernel_level(Shape(200, 136, 5, 1).text())
    edited = re.sub(r"few_steps = \d+", "few_steps = 1", re.sub(r"few_rows = 16", f"few_rows = {few_rows}", level))
    assert cuda_text(edited) != cuda_text(level)
    plain, others = (EmulatedKernels(text, tmp_path / name) for name, text in (("plain", level), ("edited", edited)))
    for tokens, schedule in zip((200, 50), schedules()):
        np.testing.assert_array_equal(run_layer(others, tokens, Shape(200, 136, 5, 1), **schedule), run_layer(plain, tokens, Shape(200, 136, 5, 1)))


@pytest.mark.parametrize("fields", sample([{"few_steps": 1}, {"few_steps": 2, "few_columns": 128}], 0))
def test_steps_of_few_rows_in_a_stage(fields, tmp_path):
    """Tiles of few rows, with another number of steps of K in a stage and other strips of columns."""
    shape, plain = Shape(2048, 256, 8, 2), kernel_level(Shape(2048, 256, 8, 2).text())
    assert re.findall(r"few_steps = (\d+), few_columns = (\d+)", plain) == [("2", "64"), ("2", "64"), ("4", "64")]
    edited = plain
    for name, value in fields.items():
        edited = re.sub(rf"\b{name} = \d+", f"{name} = {value}", edited)
    chosen, others = (EmulatedKernels(text, tmp_path / name) for name, text in (("plain", plain), ("edited", edited)))
    assert cuda_text(edited) != cuda_text(plain)
    np.testing.assert_array_equal(run_layer(others, 5, shape), run_layer(chosen, 5, shape, **next(schedules())))


@pytest.mark.parametrize("change", [str, with_last_of_equal])
def test_edited_ties(change, tmp_path):
    logits = aligned((T, E), np.float32)
    logits[...] = np.random.default_rng(3).integers(0, 2, (T, E))
    first = logits.argmax(axis=1)
    last = E - 1 - logits[:, ::-1].argmax(axis=1)
    assert (first != last).any()
    expected = first if change is str else last
    kernels = EmulatedKernels(change(kernel_level(GATE)), tmp_path)
    scores, best, weights, ids = (aligned((T, n), t) for n, t in ((E, np.float32), (1, np.float32), (1, np.float32), (1, np.int32)))
    kernels.run("gate_", logits, T, scores, T, best, T, ids, T, weights, T)
    np.testing.assert_array_equal(ids[:, 0], expected)
    _, on_cpu = Program(change(kernel_level(GATE, "cpu:native"))).run([logits], outputs=[np.float32, np.int32])
    np.testing.assert_array_equal(on_cpu[:, 0], expected)
