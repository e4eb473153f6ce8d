"""The protocol of overlapped exchanges: layers of several ranks on the emulated GPU equal NumPy's, and each wait that is left out is found."""

import ctypes
from dataclasses import dataclass

import numpy as np
import pytest
from conftest import KERNELS
from emulated import aligned, schedules

POINTERS = (
    "x", "sends", "experts", "up", "down", "windows", "hidden", "sums", "back", "out", "came", "returned", "done", "barrier", "status", "abort",
)  # fmt: skip
SIZES = ("ranks", "tokens", "columns", "experts_", "chunk", "slices", "layers", "per_rank", "senders")
WINDOWS = ("windows", "back")
THREADS, SHARED = 32, 16


class Layer(ctypes.Structure):
    """The parameter of overlapLayers."""

    _fields_ = [(name, ctypes.c_void_p) for name in POINTERS] + [("nanoseconds", ctypes.c_uint64)] + [(name, ctypes.c_int) for name in SIZES]


@dataclass
class Case:
    """`routing`: "drawn", "home" (every row stays), or "one" (all rows go to the last rank)."""

    ranks: int
    tokens: int
    routing: str = "drawn"
    columns: int = 8
    experts: int = 3  # of a rank
    chunk: int = 2
    slices: int = 2
    layers: int = 3
    per_rank: int = 3
    senders: int = 1

    def arrays(self):
        random = np.random.default_rng(self.ranks * 100 + self.tokens)
        ranks, tokens = self.ranks, self.tokens
        sends = np.full((ranks, ranks, tokens), -1, np.int32)
        experts = np.zeros_like(sends)
        for rank in range(ranks):
            for peer in range(ranks):
                goes = {"drawn": random.random(tokens) < 0.6, "home": np.full(tokens, peer == rank), "one": np.full(tokens, peer == ranks - 1)}
                rows = np.flatnonzero(goes[self.routing])
                sends[rank, peer, : len(rows)] = rows
                experts[rank, peer] = random.integers(0, self.experts, tokens)
        flags = (ranks, ranks, -(-tokens // self.chunk))
        moved = (ranks, ranks, tokens, self.columns)
        return {
            "x": random.integers(-4, 5, (ranks, tokens, self.columns), dtype=np.int32),
            "sends": sends,
            "experts": experts,
            "up": random.integers(1, 5, (ranks, self.experts), dtype=np.int32),
            "down": random.integers(1, 5, (ranks, self.experts), dtype=np.int32),
            **{name: np.zeros(moved, np.int32) for name in ("windows", "hidden", "sums", "back")},
            "out": np.zeros((ranks, tokens, self.columns), np.int32),
            "came": np.zeros(flags, np.uint32),
            "returned": np.zeros((*flags[:2], self.slices, flags[2]), np.uint32),
            "done": np.zeros((ranks, self.slices), np.uint32),
            **{name: np.zeros(ranks if name != "abort" else 1, np.uint32) for name in ("barrier", "status", "abort")},
        }

    def expected(self, arrays):
        """The layer's result by the definition: no windows, chunks or slices."""
        out = np.zeros_like(arrays["out"])
        mix = (np.arange(self.columns)[:, None] + np.arange(self.columns)) % 3
        for rank in range(self.ranks):
            for peer in range(self.ranks):
                for token, expert in zip(arrays["sends"][rank, peer], arrays["experts"][rank, peer]):
                    if token >= 0:
                        hidden = arrays["x"][rank, token] * arrays["up"][peer, expert]
                        out[rank, token] += hidden @ mix * arrays["down"][peer, expert]
        return out

    def run(self, emulator, kernel, **schedule):
        """What is wrong, or ""."""
        given = self.arrays()
        arrays = {name: aligned(array.shape, array.dtype, array) for name, array in given.items()}
        for name in ("x", "sends", "experts", "up", "down"):
            arrays[name].flags.writeable = False
        sizes = (self.ranks, self.tokens, self.columns, self.experts, self.chunk, self.slices, self.layers, self.per_rank, self.senders)
        layer = Layer(*(arrays[name].ctypes.data for name in POINTERS), 10**9, *sizes)
        fault = emulator.launch(kernel, {"l": layer}, self.ranks * self.per_rank, THREADS, SHARED, arrays, WINDOWS, **schedule)
        if fault:
            return fault
        if arrays["status"].any():
            return f"status {arrays['status'].tolist()}"
        return "" if np.array_equal(arrays["out"], self.expected(given)) else "wrong result"


CASES = [Case(2, 5), Case(3, 4), Case(2, 4, "home"), Case(2, 5, "one"), Case(2, 6, chunk=3, slices=4, per_rank=5, senders=2), Case(1, 3)]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.ranks}-{c.tokens}-{c.routing}")
def test_layers(emulator, kernels, case):
    for schedule in schedules():
        assert case.run(emulator, kernels("overlap")["overlapLayers"], **schedule) == "", schedule


CAME = "    if (!await(l, me.rank, l.came + (me.rank * l.ranks + source) * chunks(l) + chunk, epoch))\n      return false;\n"
DONE = "      if (!await(l, me.rank, l.done + me.rank * l.slices + slice, epoch * uint32_t(l.ranks * chunks(l))))\n        return false;\n"
RETURNED = "    if (!await(l, me.rank, l.returned + me.rank * l.ranks * l.slices * chunks(l) + flag, epoch))\n      return false;\n"
FAULTS = {
    "rows are not waited for": (CAME, "", "windows"),
    "rows of an earlier layer are enough": (CAME, CAME.replace("epoch)", "epoch - 1)"), "windows"),
    "rows of another chunk are enough": (CAME, CAME.replace("+ chunk,", "+ 0,"), "windows"),
    "rows of another source are enough": (CAME, CAME.replace("+ source)", "+ me.rank)"), "windows"),
    "a slice is not waited for": (DONE, "", "sums"),
    "a slice is taken before its last record": (DONE, DONE.replace("chunks(l))))", "chunks(l)) - 1))"), "sums"),
    "returned rows are not waited for": (RETURNED, "", "back"),
    "idle peers are not waited for": (
        "    if (!await(l, me.rank, l.returned",
        "    if (sent(l, me.rank, flag / (l.slices * chunks(l)), flag % chunks(l) * l.chunk) >= 0 && !await(l, me.rank, l.returned",
        None,  # no row travels there, and here nobody announces any: nothing can be overwritten (where ranks announce: test_planted_overlap_faults.py)
    ),
    "a signal before its stores": ("  syncBlock();\n  if (threadIndex() == 0)\n    addRelease", "  if (threadIndex() == 0)\n    addRelease", "not ordered"),
    "a signal without release": ("    addRelease(flag, 1u);", "    addGlobal(flag, 1u);", "not ordered"),
    "a wait of one thread alone": ("    storeShared(word, uint32_t(reached == Wait::Ready));\n  }\n  syncBlock();", "    storeShared(word, uint32_t(reached == Wait::Ready));\n  }", "shared"),
    "the next layer begins before this one was read": (RETURNED, "    if (flag % chunks(l) == 0 && !await(l, me.rank, l.returned + me.rank * l.ranks * l.slices * chunks(l) + flag, epoch))\n      return false;\n", "back"),
    "down begins before up has ended": ("    if (!nextPhase(l, me.rank, phases))\n      return;\n    if (!isSender)", "    if (!isSender)", "not ordered"),
    "rows are read after they were given back": (
        "* l.slices + slice) * chunks(l) + chunk);\n    }\n  return true;",
        "* l.slices + slice) * chunks(l) + chunk);\n      if (loadGlobal(l.windows + rowAt(l, me.rank, owner, chunk * l.chunk)) == 1000) backOff();\n    }\n  return true;",
        "is not ordered after a load of it",
    ),
    "a chunk without rows is not signalled": ("    signal(l.came +", "    if (sent(l, me.rank, peer, chunk * l.chunk) >= 0)\n      signal(l.came +", None),
    "a rank is silent": ("    if (isSender)\n      sendRows(l, me);", "    if (isSender && me.rank + 1 == l.ranks) {\n    } else if (isSender)\n      sendRows(l, me);", "status"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(emulator, tmp_path, fault):
    """Or, where the protocol has more than it needs, that leaving it out breaks nothing."""
    old, new, found = FAULTS[fault]
    text = (KERNELS / "overlap.cu").read_text()
    assert text.count(old) == 1
    planted = emulator.build(text.replace(old, new), tmp_path, warnings=["-w"])
    kernel = emulator.load(planted, ["overlapLayers"])["overlapLayers"]
    results = [case.run(emulator, kernel, **schedule) for case in CASES[:4] for schedule in schedules()]
    if found is None:
        assert not any(results)
    else:
        assert found in next((text for text in results if text), "nothing")
