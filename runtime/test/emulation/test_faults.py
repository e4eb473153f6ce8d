"""Faults planted in the GEMM and gather kernels, one at a time: the emulation must find each of them.

"wrong result" means that only the numbers tell. All others are named by the rule that they break.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest
from conftest import KERNELS
from emulated import DEVICE, schedules
from products import Gemm, run_gather

GEMM, GATHER = "gemm.cu", "gather.cu"
LAYOUT, PIPELINE = "layout.cuh", "pipeline.cuh"

FULL_WAIT = "wait(full + ring.stage * 8, ring.parity);"
EMPTY_WAIT = "wait(empty + ring.stage * 8, ring.parity ^ 1);\n      arriveExpect"
STOP = "broadcast(leader ? loadShared<uint32_t>(shared + C::offsetStop) : 0u, 0)"
RELEASE = "wgmmaWait<1>();\n        if (leader)\n          arrive(empty + previous * 8);"


@dataclass
class Fault:
    name: str
    found: str  # part of the message
    old: str = ""
    new: str = ""
    file: str = GEMM  # where it is planted
    kernel: str = GEMM  # which kernel shows it
    entry: str = "gatherByStores"  # and which form of the gather kernel
    everywhere: bool = False
    strict: bool = False
    then: tuple[str, str] | None = None  # a second replacement in the same file

    def plant(self, text):
        for old, new in [(self.old, self.new)] + ([self.then] if self.then else []):
            assert old in text, f"{self.file} no longer contains {old!r}"
            text = text.replace(old, new) if self.everywhere else text.replace(old, new, 1)
        return text


NEVER = "that was never written"
WRONG = "wrong result"
FENCE = "    if constexpr (kFence)\n      fenceProxyAsyncShared();\n"
WHEN_COPIED = "    arriveWhenCopied(full);\n"


def copies(name, *arguments, **others):
    """In the form of the gather kernel whose rows come by asynchronous copies."""
    return Fault(f"copies: {name}", *arguments, file=GATHER, kernel=GATHER, entry="gatherByCopies", **others)


FAULTS = [
    # Rings of barriers
    Fault("consumer waits with the wrong parity", NEVER, FULL_WAIT, FULL_WAIT.replace(")", " ^ 1)"), everywhere=True),
    Fault("consumer does not wait", NEVER, FULL_WAIT, "", everywhere=True),
    Fault("producer waits with the wrong parity", "deadlock", EMPTY_WAIT, EMPTY_WAIT.replace(" ^ 1", "")),
    Fault("parity never flips", "TMA load overwrites", "ring.parity ^= 1;", "", PIPELINE),
    Fault("producer does not wait for free stages", "TMA load overwrites", EMPTY_WAIT, "arriveExpect"),
    Fault("stage never released", "lacks 8 of 8 arrivals and 0 bytes", RELEASE, "wgmmaWait<1>();"),
    Fault("stage released a step early", "not ordered after the wait of warpgroup", "wgmmaWait<1>();", "wgmmaWait<2>();"),
    Fault("wrong stage released", "deadlock", "arrive(empty + previous * 8)", "arrive(empty + ring.stage * 8)"),
    Fault("arrival count too high", "lacks 1 of 9 arrivals", "offsetEmpty + i * 8, 8);", "offsetEmpty + i * 8, 9);"),
    Fault("arrival count too low", "not ordered after", "offsetEmpty + i * 8, 8);", "offsetEmpty + i * 8, 7);"),
    Fault("too few bytes expected", "more bytes than were expected", "C::bytesA + C::bytesB);", "C::bytesA);"),
    Fault("128 bytes too many expected", "and 128 bytes", "C::bytesA + C::bytesB);", "C::bytesA + C::bytesB + 128);"),
    Fault("load counted on another stage's barrier", "more bytes than were expected", "mapB, barrier, k", "mapB, full, k"),
    Fault("no barrier-init fence", "without fence.mbarrier_init", "    fenceBarrierInit();\n", ""),
    Fault("no block barrier after init", "mbarrier", "  syncBlock();\n", ""),
    # Descriptors and layouts
    Fault("descriptor swizzled by 64", WRONG, "mode = width == 128 ? 1", "mode = width == 128 ? 2", LAYOUT),
    Fault("descriptor without swizzle", WRONG, " | mode << 62", "", LAYOUT),
    Fault("descriptor stride halved", WRONG, "uint64_t(8 * width >> 4)", "uint64_t(4 * width >> 4)", LAYOUT),
    Fault("descriptors 32 bytes off", "first row of a swizzle repeat", "((start & 0x3ffff) >> 4)", "(((start + 32) & 0x3ffff) >> 4)", LAYOUT),
    Fault("descriptor of A 32 bytes off", WRONG, "advanceK(a, kk * 32)", "advanceK(a, kk * 32 ^ 32)"),
    Fault("second half of A not selected", WRONG, " + half * (C::bytesA / 2)", " + 0 * half"),
    Fault("stages of A and B overlap", "TMA load overwrites", "offsetB = stages * bytesA", "offsetB = (stages - 1) * bytesA"),
    Fault("columns of the fragment permuted", "misaligned store", "thread % 4 * 2 + i % 2", "thread % 4 + i % 2 * 4", LAYOUT),
    Fault("rows of the fragment permuted", WRONG, "i / 2 % 2 * 8", "i % 2 * 8", LAYOUT),
    Fault("coordinates of TMA swapped", WRONG, "barrier, k * C::tileK, n * C::tileN", "barrier, n * C::tileN, k * C::tileK"),
    # wgmma
    Fault("accumulator read before the wait", "in flight", "    wgmmaWait<0>(d);\n", ""),
    Fault("no wgmma fence", "before the first wgmma.fence", "      wgmmaFence();\n", ""),
    Fault("no commit", "an uncommitted wgmma", "      wgmmaCommit();\n", ""),
    Fault("accumulator not reset per tile", WRONG, "k + kk > 0", "true"),
    Fault("accumulator reset at every step", WRONG, "k + kk > 0", "kk > 0"),
    Fault("half of the warp skips a wgmma", "disagree about a wgmma", "wgmmaBf16(d, advance",
          "if (kk != 3 || threadIndex() % 32 < 16) wgmmaBf16(d, advance"),
    # Proxies and order between blocks
    Fault("no proxy fence before TMA", "without fence.proxy.async", "    fenceProxyAsync(); //", "    //"),
    Fault("proxy fence of shared memory before TMA reads global memory", "without fence.proxy.async of global memory",
          "    fenceProxyAsync(); //", "    fenceProxyAsyncShared(); //"),
    Fault("counter raised before the row is written", "not ordered after", "    syncWarp();\n", ""),
    Fault("tile loaded without waiting for its rows", "not ordered after", "loadGlobal(arrivals.want + m)", "0u"),
    Fault("stop word read by all, released by one", "not ordered after a load", STOP, "loadShared<uint32_t>(shared + C::offsetStop)"),
    # Sizes
    Fault("no guard on columns", "not ordered after", "row < m && column < n", "row < m"),
    Fault("no guard on rows", "outside every registered buffer", "row < m && column < n", "column < n"),
    Fault("K tail forgotten", WRONG, "ceilDiv(k, C::tileK)", "k / C::tileK"),
    # Ends
    Fault("time-out ignored", "status word is 0", "if (arrived != Wait::Ready)", "if (arrived == Wait::Aborted)"),
    Fault("abort does not release the consumers", "deadlock", "      arrive(full + ring.stage * 8);\n", ""),
    Fault("registers never given back", "setmaxnreg.inc 232", "    decreaseRegisters<40>();\n", ""),
    Fault("one arrival per warpgroup", "all four warps", "offsetEmpty + i * 8, 8);", "offsetEmpty + i * 8, 2);", strict=True,
          then=("threadIndex() % 32 == 0;", "threadIndex() % 128 == 0;")),
    # Rows gathered by ordinary accesses
    Fault("gather: no proxy fence", "without fence.proxy.async", "    fenceProxyAsyncShared();\n", "", GATHER, GATHER),
    Fault("gather: one arrival too few", "deadlock", "C::loaders + 1);", "C::loaders + 2);", GATHER, GATHER),
    Fault("gather: no arrive", "deadlock", "    arrive(full);\n", "", GATHER, GATHER),
    Fault("gather: a row is not waited for", "not ordered after its store", "C::loaders + 1);", "C::loaders);", GATHER, GATHER),
    Fault("gather: swizzle forgotten", WRONG, "swizzle(to + i * 2, C::width)", "to + i * 2", GATHER, GATHER),
    Fault("gather: rows beyond the end", "outside every registered buffer", "row < m ? a +", "row < m + 1 ? a +", GATHER, GATHER),
    # Rows gathered by copies that arrive when they have landed
    copies("no proxy fence", "asynchronous copy without fence.proxy.async", FENCE, ""),
    copies("proxy fence of the loading threads", "asynchronous copy without fence.proxy.async", FENCE, "",
           then=("    arriveWhenCopied(full);", "    fenceProxyAsyncShared();\n    arriveWhenCopied(full);\n    fenceProxyAsyncShared();")),
    copies("proxy fence before the wait", "asynchronous copy without fence.proxy.async", FENCE, "",
           then=("    wait(shared + C::offsetFull + ", "    fenceProxyAsyncShared();\n    wait(shared + C::offsetFull + ")),
    copies("proxy fence of one thread", "asynchronous copy without fence.proxy.async", "if constexpr (kFence)", "if (thread == 0)"),
    copies("arrival before the copies", "of its asynchronous copy", WHEN_COPIED, "",
           then=("      const bool inside = row < m &&", "      if (i == 0) arriveWhenCopied(full);\n      const bool inside = row < m &&")),
    copies("arrival that waits for no copies", "an asynchronous copy in flight", WHEN_COPIED, "    arrive(full);\n"),
    copies("one arrival per warp", "an asynchronous copy in flight", WHEN_COPIED, "    if (thread % 32 == 0) arriveWhenCopied(full);\n",
           then=("C::loaders + 1);", "C::loaders / 32 + 1);")),
    copies("no arrival", "deadlock", WHEN_COPIED, ""),
    copies("arrival twice", NEVER, WHEN_COPIED, WHEN_COPIED + WHEN_COPIED),
    copies("arrival at another stage", "of its asynchronous copy", "arriveWhenCopied(full)", "arriveWhenCopied(shared + C::offsetFull + (1 - ring.stage) * 8)"),
    copies("thread ends before its copies", "thread ends before its arrival", "  commitCopies();\n  waitCopies<0>();", "  "),
    copies("arrival count too low", "asynchronous copy", "C::loaders + 1);", "C::loaders);"),
    copies("arrival count too high", "lacks 1 of 130 arrivals", "C::loaders + 1);", "C::loaders + 2);"),
    copies("consumer does not wait", NEVER, "    wait(shared + C::offsetFull + ring.stage * 8, ring.parity);\n", ""),
    copies("producer does not wait for free stages", "an asynchronous copy in flight", "    wait(shared + C::offsetEmpty + ring.stage * 8, ring.parity ^ 1);\n", "",
           everywhere=True),
]  # fmt: skip

# Two computing blocks and a sending one, tails everywhere, more steps than two rounds of the ring.
CASES = [
    Gemm(200, 320, 600, 3, senders=1),
    Gemm(200, 320, 600, 3, senders=1, sent=0),
    Gemm(384, 512, 512, 3, senders=1, sent=256),
]


@pytest.fixture(scope="session")
def planted(emulator, tmp_path_factory):
    """The kernels with one fault each, compiled side by side: futures of shared objects by name."""
    folder = tmp_path_factory.mktemp("planted")

    def build(fault):
        device, place = DEVICE, folder / fault.name.replace(" ", "-").replace(":", "")
        text = (KERNELS / fault.kernel).read_text()
        if fault.file == fault.kernel:
            text = fault.plant(text)
        elif fault.old:
            device = place / "runtime" / "device"
            shutil.copytree(DEVICE, device)
            (device.parent / "emulation").symlink_to(DEVICE.parent / "emulation")
            (device / fault.file).write_text(fault.plant((DEVICE / fault.file).read_text()))
        return emulator.build(text, place, device, warnings=["-w"])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return {fault.name: pool.submit(build, fault) for fault in FAULTS}


def findings(emulator, fault, library, cases=CASES):
    """What each run of the planted kernel says."""
    for schedule in [*schedules(strict=fault.strict)]:
        if fault.kernel == GATHER:
            kernel = emulator.load(library, [fault.entry])[fault.entry]
            yield run_gather(emulator, kernel, 150, 200, 328, 300, **schedule)
        else:
            kernel = emulator.load(library, ["gemm"])["gemm"]
            for case in cases:
                yield replace(case).run(emulator, kernel, **schedule)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_found(emulator, planted, fault):
    found = next((text for text in findings(emulator, fault, planted[fault.name].result()) if text), "nothing")
    assert fault.found in found


def test_one_arrival_per_warpgroup_passes_the_default_rules(emulator, planted):
    """Only the strict reading of wait_group forbids it."""
    fault = replace(next(f for f in FAULTS if f.strict), strict=False)
    assert not any(findings(emulator, fault, planted[fault.name].result(), CASES[:1]))
