"""Virtual ranks on the emulated GPU: put, signal, wait, and a rank that sends nothing. The same cases run on a GPU (benchmarks/gpu_check)."""

import pytest
from conftest import KERNELS
from emulated import aligned, schedules
from exchange import SHARED, THREADS, Exchange, RanksCase

CASES = [
    RanksCase(2, 3, 32, 5),
    RanksCase(4, 2, 64, 2),
    RanksCase(2, 2, 64, 3, silent=1),
    RanksCase(4, 3, 64, 1, silent=0),
]


class Device:
    """The emulated GPU as RanksCase wants it."""

    def __init__(self, emulator, kernel, schedule):
        self.emulator, self.kernel, self.schedule, self.arrays = emulator, kernel, schedule, {}

    def write(self, name, array):
        self.arrays[name] = aligned(array.shape, array.dtype)
        self.arrays[name][...] = array

    def read(self, name):
        return self.arrays[name].copy()

    def launch(self, case, silent):
        pointers = [self.arrays[name].ctypes.data for name in self.arrays]
        sizes = (case.nanoseconds, case.ranks, case.per_rank, case.count, case.vectors, silent)
        fault = self.emulator.launch(
            self.kernel, {"x": Exchange(*pointers, *sizes)}, case.ranks * case.per_rank, THREADS, SHARED, self.arrays, **self.schedule
        )
        assert fault == "", fault


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.ranks}x{c.per_rank}-silent{c.silent}")
def test_ranks(emulator, kernels, case):
    for schedule in schedules():
        assert case.run(Device(emulator, kernels("ranks")["exchangeRows"], schedule)) == "", schedule


@pytest.mark.parametrize(
    "line, instead, found",
    [
        ("    syncWarp();\n", "", "not ordered after"),
        ("addRelease(x.counters", "addGlobal(x.counters", "not ordered after"),
        ("  syncBlock();\n  const bool", "  const bool", "never written"),
        ("  const bool ready = loadShared<uint32_t>(word) != 0;\n  syncBlock();", "  const bool ready = loadShared<uint32_t>(word) != 0;", "not ordered after"),
        ("loadGlobal(x.want)", "loadGlobal(x.want) + 1", "status"),
        ("arrived != Wait::Ready)", "arrived == Wait::Aborted)", "status words"),
    ],
)  # fmt: skip
def test_faults_in_the_protocol_are_found(emulator, tmp_path, line, instead, found):
    """A test of the tests."""
    text = (KERNELS / "ranks.cu").read_text()
    assert line in text
    kernel = emulator.compile(text.replace(line, instead), tmp_path)["exchangeRows"]

    def findings():
        for case in (CASES[0], CASES[2]):
            for schedule in schedules():
                try:
                    yield case.run(Device(emulator, kernel, schedule))
                except AssertionError as fault:
                    yield str(fault)

    assert found in next((text for text in findings() if text), "nothing")
