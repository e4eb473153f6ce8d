"""Kernels on the emulated GPU against NumPy: bit for bit on small integers, under several schedules."""

import ctypes

import numpy as np
import pytest
from emulated import aligned, from_bf16, schedules, to_bf16
from products import Gemm, differences, exact_product, integers, product, run_gather

SCHEDULES = [*schedules(), *schedules(strict=True)]


def name(value):
    if isinstance(value, Gemm):
        return f"{value.m}x{value.n}x{value.k}-{value.blocks - value.senders}+{value.senders}"
    return None


GEMMS = [
    Gemm(128, 256, 64, 1),
    Gemm(256, 512, 640, 3),  # more steps than two rounds of the ring, and tiles left over
    Gemm(100, 200, 72, 2),
    Gemm(300, 258, 130, 3),
    Gemm(1, 2, 8, 1),
    Gemm(333, 300, 200, 3, senders=1),
    Gemm(256, 512, 256, 4, senders=2),
]


@pytest.mark.parametrize("case", GEMMS, ids=name)
def test_gemm(emulator, kernels, case):
    for schedule in SCHEDULES:
        assert case.run(emulator, kernels("gemm")["gemm"], **schedule) == "", schedule


ENDS = [
    Gemm(256, 256, 256, 3, senders=1, sent=0),
    Gemm(384, 512, 512, 3, senders=1, sent=256),
    Gemm(256, 256, 256, 3, senders=1, sent=0, abort=True),
]


@pytest.mark.parametrize("case", ENDS, ids=["silent", "stops", "aborted"])
def test_gemm_ends_when_rows_do_not_arrive(emulator, kernels, case):
    for schedule in schedules():
        assert case.run(emulator, kernels("gemm")["gemm"], **schedule) == "", schedule


@pytest.mark.parametrize("kernel", ["gatherByStores", "gatherByCopies"])
@pytest.mark.parametrize("shape", [(150, 200, 328, 300), (1, 8, 8, 5), (257, 128, 64, 3)], ids=str)
def test_gather(emulator, kernels, kernel, shape):
    for schedule in SCHEDULES:
        assert run_gather(emulator, kernels("gather")[kernel], *shape, **schedule) == "", schedule


def staged_case(emulator, element, width, shape):
    m, n, k = shape
    random = np.random.default_rng(m + n + k)
    a, b = integers(random, m, k), integers(random, n, k)
    c = aligned((m, (n + 7) // 8 * 8), np.uint16, 0xFFFF)
    expected = product(a, b, k)
    if element == "f16":
        expected = exact_product(a, b, k).astype(np.float16).view(np.uint16)
        a[:, :k], b[:, :k] = (from_bf16(x[:, :k]).astype(np.float16).view(np.uint16) for x in (a, b))
    arguments = {
        "mapA": emulator.tensor_map(a[:, :k], (64, width // 2), width),
        "mapB": emulator.tensor_map(b[:, :k], (64, width // 2), width),
        "mapC": emulator.tensor_map(c[:, :n], (64, 64), 128),
    }
    return a, b, c, expected, arguments


@pytest.mark.parametrize("kernel,width", [("staged32", 32), ("staged64", 64), ("staged128", 128), ("staged64F16", 64)])
@pytest.mark.parametrize("shape", [(64, 64, 64), (130, 100, 200), (1, 8, 8)], ids=str)
def test_staged_store_and_swizzles(emulator, kernels, kernel, width, shape):
    m, n, k = shape
    element = "f16" if kernel.endswith("F16") else "bf16"
    for schedule in SCHEDULES:
        a, b, c, expected, arguments = staged_case(emulator, element, width, shape)
        arguments |= {"m": ctypes.c_int(m), "n": ctypes.c_int(n), "k": ctypes.c_int(k)}
        shared = 4 * 64 * width + 64 * 128 + 16
        fault = emulator.launch(kernels("staged")[kernel], arguments, 2, 128, shared, {"A": a, "B": b, "C": c}, **schedule)
        assert fault == "", schedule
        assert differences(c[:, :n], expected) == "", schedule
        assert (c[:, n:] == 0xFFFF).all(), "stored outside the tensor"


def test_softmax(emulator, kernels):
    x = np.random.default_rng(0).normal(size=(7, 100)).astype(np.float32) * 4
    bits = aligned(x.shape, np.uint16)
    bits[...] = to_bf16(x)
    y = aligned(x.shape, np.float32)
    arguments = {"x": bits, "y": y, "rows": ctypes.c_longlong(7), "columns": ctypes.c_longlong(100)}
    for schedule in schedules():
        y.fill(np.nan)
        assert emulator.launch(kernels("rows")["softmax"], arguments, 2, 128, **schedule) == ""
        exact = np.exp(from_bf16(bits).astype(np.float64))
        np.testing.assert_allclose(y, exact / exact.sum(1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("tokens,count,blocks", [(1000, 64, 3), (5, 33, 2), (0, 1, 1)])
def test_count_experts(emulator, kernels, tokens, count, blocks):
    experts = np.random.default_rng(tokens).integers(0, count, max(tokens, 1)).astype(np.int32)
    expected = np.bincount(experts[:tokens], minlength=count)
    for schedule in schedules():
        counts, offsets, finished = aligned(count, np.uint32), aligned(count, np.uint32), aligned(1, np.uint32)
        arguments = {"experts": experts, "n": ctypes.c_int(tokens), "count": ctypes.c_int(count)}
        arguments |= {"counts": counts, "offsets": offsets, "finished": finished}
        assert emulator.launch(kernels("rows")["countExperts"], arguments, blocks, 128, 65 * 4, **schedule) == ""
        assert (counts == expected).all()
        assert (offsets == np.cumsum(expected) - expected).all()


def test_every_primitive_compiles(kernels):
    """The same text is compiled for the GPU by test/python/cuda."""
    assert set(kernels("every_primitive")) == {"everyPrimitive", "everyShape"}


def test_same_seed_same_run(emulator, kernels):
    """A fault that a seed finds can be found again: here a wrong argument, at the same thread."""
    x = aligned((8, 8), np.uint16)
    y = aligned((1, 8), np.float32)  # seven rows too few
    arguments = {"x": x, "y": y, "rows": ctypes.c_longlong(8), "columns": ctypes.c_longlong(8)}
    messages = {emulator.launch(kernels("rows")["softmax"], arguments, 2, 128, seed=5) for _ in range(3)}
    assert len(messages) == 1
    assert "store of 4 bytes outside every registered buffer [block" in messages.pop()
