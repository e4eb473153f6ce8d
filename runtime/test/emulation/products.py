"""Cases of the matrix-product kernels: data, launch, and the exact result."""

import ctypes
from dataclasses import dataclass

import numpy as np
from emulated import aligned, from_bf16, to_bf16

GEMM_SHARED = 4 * (128 + 256) * 128 + 4 * 8 * 2 + 16
GATHER_SHARED = 2 * (128 + 128) * 128 + 2 * 8 * 2


class Arrivals(ctypes.Structure):
    _fields_ = [(n, ctypes.c_void_p) for n in ("counters", "want", "abort", "status")] + [("nanoseconds", ctypes.c_uint64)]


class Sending(ctypes.Structure):
    _fields_ = [(n, ctypes.c_void_p) for n in ("rows", "window", "counters", "slots")] + [
        (n, ctypes.c_int) for n in ("blocks", "count", "vectors")
    ]


def integers(random, rows, columns):
    """Small integers as bf16: sums are exact in f32, whatever their order. Rows are padded to 16 bytes; the padding is NaN."""
    array = aligned((rows, (columns + 7) // 8 * 8), np.uint16, 0x7FC0)
    array[:, :columns] = to_bf16(random.integers(-4, 5, (rows, columns)).astype(np.float32))
    return array


def exact_product(a, b, k):
    """A * B^T of bf16 bits."""
    return from_bf16(a[:, :k]).astype(np.float64) @ from_bf16(b[:, :k]).astype(np.float64).T


def product(a, b, k):
    """The same as bits of bf16."""
    return to_bf16(exact_product(a, b, k))


@dataclass
class Gemm:
    """A launch of kernels/gemm.cu. `sent`: so many rows are sent, None for all."""

    m: int
    n: int
    k: int
    blocks: int
    senders: int = 0
    sent: int | None = None
    abort: bool = False

    def run(self, emulator, kernel, **schedule):
        """Returns what is wrong, or ""."""
        random = np.random.default_rng(self.m * 31 + self.n * 7 + self.k)
        a, b = integers(random, self.m, self.k), integers(random, self.n, self.k)
        c = aligned((self.m, self.n), np.uint16, 0xFFFF)
        tiles = -(-self.m // 128)
        # The window has whole tiles; without senders A is there from the start.
        window = aligned((tiles * 128, a.shape[1]), np.uint16, 0x7FC0)
        if not self.senders:
            window[: self.m] = a
        counters, words = aligned(tiles, np.uint32), aligned(2, np.uint32)
        want = np.array([min(128, self.m - t * 128) if self.senders else 0 for t in range(tiles)], np.uint32)
        slots = np.arange(self.m, dtype=np.int32)
        words[0] = self.abort
        for array in (a, b, want, slots):
            array.flags.writeable = False
        arguments = {
            "mapA": emulator.tensor_map(window[: self.m, : self.k], (128, 64), 128),
            "mapB": emulator.tensor_map(b[:, : self.k], (256, 64), 128),
            "C": c,
            "m": ctypes.c_int(self.m),
            "n": ctypes.c_int(self.n),
            "k": ctypes.c_int(self.k),
            "arrivals": Arrivals(counters.ctypes.data, want.ctypes.data, words[:1].ctypes.data, words[1:].ctypes.data, 10**9),
            "sending": Sending(
                a.ctypes.data, window.ctypes.data, counters.ctypes.data, slots.ctypes.data,
                self.senders, self.m if self.sent is None else self.sent, a.shape[1] // 8,
            ),
        }  # fmt: skip
        buffers = {"source": a, "window": window, "B": b, "counters": counters, "want": want, "words": words, "slots": slots}
        fault = emulator.launch(kernel, arguments, self.blocks, 384, GEMM_SHARED, buffers, **schedule)
        if fault:
            return fault
        if self.sent is not None or self.abort:
            return "" if words[1] == (1 if self.abort else 2) else f"status word is {words[1]}"
        return differences(c, product(a, b, self.k))


def differences(got, expected):
    wrong = got != expected
    return f"wrong result: {wrong.sum()} of {wrong.size} elements" if wrong.any() else ""


def run_gather(emulator, kernel, m, n, k, source, **schedule):
    """A launch of kernels/gather.cu."""
    random = np.random.default_rng(1)
    a, b = integers(random, source, k), integers(random, n, k)
    rows = random.integers(0, source, m).astype(np.int32)
    c = aligned((m, n), np.uint16, 0xFFFF)
    for array in (a, b, rows):
        array.flags.writeable = False
    arguments = {"mapB": emulator.tensor_map(b, (128, 64), 128), "C": c, "A": a, "rows": rows}
    arguments |= {"m": ctypes.c_int(m), "n": ctypes.c_int(n), "k": ctypes.c_int(k)}
    blocks = -(-m // 128) * -(-n // 128)
    fault = emulator.launch(kernel, arguments, blocks, 384, GATHER_SHARED, {"B": b}, **schedule)
    return fault or differences(c, product(a[rows], b, k))
